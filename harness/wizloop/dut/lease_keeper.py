"""The process that keeps a lease for another one: python -m wizloop.dut.lease_keeper OWNER WISH (lease.py starts it).

It holds a place for as long as its stdin is open and the process OWNER lives. What it has to say are lines of JSON: the
place with its console, or why there is none; later why it is lost, if it is.

In labgrid's eyes each keeper is a user of its own, ann.wizloop-4711, so that what one releases is never another's. It
touches its place each second. Should keeper and owner die at one blow, with their machine, the next who waits for the
place sees it untouched and frees it.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import logging
import os
import random
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

CONNECT_S = 10.0
CALL_S = 30.0  # the coordinator waits up to 10 s for an exporter
TOUCH_S = 1.0
POLL_S = 0.25
QUEUE_S = 2.0  # in a queue for one place; then the choice is made anew
STALE_S = 4.0  # untouched for so long, a place that a keeper holds is nobody's
CONSOLE_S = 10.0  # for an exporter that is on its way up
MARK = ".wizloop-"
CONSOLE = "NetworkSerialPort"


class Refused(Exception):
    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
        self.kind = kind


class Denied(Exception):
    """The coordinator does not do it."""


class Gone(Exception):
    """The owner does not want the place any more."""


class LastWord(logging.Handler):
    """labgrid logs why it cannot connect."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()


@dataclass
class Sign:
    """Something that its owner changes as long as it lives."""

    value: float
    since: float = field(default_factory=time.monotonic)


def tell(**words: object) -> None:
    with suppress(BrokenPipeError):
        print(json.dumps(words), flush=True)


def address() -> str:
    return os.environ.get("LG_COORDINATOR", "127.0.0.1:20408")


class Keeper:
    def __init__(self, wish: Mapping[str, Any], gone: asyncio.Event) -> None:
        self._gone = gone
        self._place: str = wish["place"]
        self._tags: dict[str, str] = wish["tags"]
        self._without = set(wish["without"])
        self._wait_s: float = wish["wait_s"]
        self._again: bool = wish["again"]
        self._session = self._new_session()
        self.owner = f"{self._session.gethostname()}/{self._session.getuser()}"
        self._signs: dict[tuple[str, str], Sign] = {}
        self._refused = ""  # by the coordinator, at last

    # The coordinator.

    def _new_session(self) -> Any:
        from labgrid.remote.client import ClientSession
        from labgrid.util.proxy import proxymanager

        where = proxymanager.get_grpc_address(address(), default_port=20408)
        return ClientSession(where, asyncio.get_running_loop())

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        from labgrid.remote.client import ServerError

        word = LastWord()
        logging.basicConfig(handlers=[word], level=logging.ERROR, force=True)
        try:
            end = time.monotonic() + CONNECT_S
            while True:
                try:
                    await asyncio.wait_for(self._session.start(), CONNECT_S)
                    break
                except (ServerError, TimeoutError):
                    if not self._again or time.monotonic() >= end:
                        why = word.text or f"no answer within {CONNECT_S:g} s"
                        raise Refused(
                            "infrastructure", f"no coordinator at {address()} (LG_COORDINATOR): {why}"
                        ) from None
                await self._session.stop()
                await self._session.close()
                await asyncio.sleep(POLL_S)
                self._session = self._new_session()
            yield
        finally:
            self._session.stopping.set()
            await self._session.stop()
            await self._session.close()

    async def _call(self, verb: str, **words: Any) -> Any:
        import grpc
        from labgrid.remote.generated import labgrid_coordinator_pb2 as messages

        request = getattr(messages, f"{verb}Request")(**words)
        try:
            return await getattr(self._session.stub, verb)(request, timeout=CALL_S)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise Refused("infrastructure", f"the coordinator at {address()} does not answer") from error
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                raise self._coordinator_lost() from error
            raise Denied(error.details() or str(error.code())) from error

    def _coordinator_lost(self) -> Refused:
        return Refused("infrastructure", f"the coordinator at {address()} went away")

    async def _pause(self, seconds: float) -> None:
        """Gone, as soon as the owner is; Refused, without a coordinator."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._gone.wait(), seconds)
        if self._gone.is_set():
            raise Gone
        if self._session.stopping.is_set():
            raise self._coordinator_lost()

    # Which place.

    def _wanted(self) -> list[Any]:
        """Those that will do, free or not."""
        there = self._session.places
        fitting = [
            place
            for place in there.values()
            if (place.name == self._place if self._place else self._tags.items() <= place.tags.items())
        ]
        if not fitting:
            what = f"no place {self._place}" if self._place else f"no place with the tags {shown(self._tags)}"
            places = (f"{name} ({shown(place.tags)})" if place.tags else name for name, place in sorted(there.items()))
            raise Refused("nothing", f"{what} at {address()}, which has {', '.join(places) or 'none'}")
        wanted = [place for place in fitting if place.name not in self._without]
        if not wanted:
            raise Refused("infrastructure", "no other place is left")
        return wanted

    def _console(self, place: Any) -> tuple[str, Any]:
        """What its exporter is called, and its console; an empty name if no exporter shows one."""
        for exporter, groups in self._session.resources.items():
            for group, resources in groups.items():
                for name, entry in resources.items():
                    if entry.data.get("cls") == CONSOLE and place.hasmatch((exporter, group, CONSOLE, name)):
                        return exporter, entry
        return "", None

    def _why_not(self, place: Any) -> str:
        """What it lacks, or nothing."""
        exporter, entry = self._console(place)
        if not exporter:
            matches = ", ".join(str(match) for match in place.matches) or "nothing"
            return f"{place.name} has no {CONSOLE}: is its exporter running? It matches {matches}"
        if entry.extra.get("proxy_required"):
            return f"{place.name} is behind the SSH proxy of an isolated exporter, which wizloop does not go through"
        if entry.params.get("protocol", "rfc2217") not in ("raw", "rfc2217"):
            return f"{place.name} has a console with the unknown protocol {entry.params['protocol']}"
        return ""

    async def lease(self) -> Any:
        """A place that is ours from now on, and its reservation."""
        started = time.monotonic()
        while True:
            wanted = self._wanted()
            lacking = {place.name: why for place in wanted if (why := self._why_not(place))}
            waited = time.monotonic() - started
            if len(lacking) == len(wanted) and waited >= min(CONSOLE_S, self._wait_s):
                raise Refused("infrastructure", "; ".join(lacking.values()))
            if waited >= self._wait_s:
                held = [lacking.get(place.name) or self._holder(place) for place in wanted]
                raise Refused("infrastructure", f"no place was free within {self._wait_s:g} s: {'; '.join(held)}")
            if len(lacking) < len(wanted):
                free = [p for p in wanted if p.name not in lacking and not p.acquired and not p.reservation]
                filters = {"name": random.choice(free).name} if free else self._tags or {"name": self._place}
                left = self._wait_s - waited
                if leased := await self._reserved(filters, lacking, min(QUEUE_S, left) if free else left):
                    return leased
            await self._pause(POLL_S)

    async def _reserved(self, filters: dict[str, str], lacking: Mapping[str, str], within: float) -> Any:
        """In the coordinator's queue until then; None: it has come to nothing."""
        from labgrid.remote.common import Reservation, ReservationState
        from labgrid.remote.generated import labgrid_coordinator_pb2 as messages

        main = {"main": messages.Reservation.Filter(filter=filters)}
        token = (await self._call("CreateReservation", filters=main, prio=0.0)).reservation.token
        taken = False
        try:
            end = time.monotonic() + within
            while time.monotonic() < end:
                reservation = Reservation.from_pb2((await self._call("PollReservation", token=token)).reservation)
                if reservation.state is ReservationState.allocated:
                    (name,) = reservation.allocations["main"]
                    if name not in self._without and name not in lacking and (place := await self._acquired(name)):
                        taken = True
                        return place, token
                    return None
                if reservation.state is not ReservationState.waiting:
                    return None
                await self._free_what_is_nobodys()
                await self._pause(POLL_S)
            return None
        finally:
            if not taken:
                await self._cancel(token)

    async def _cancel(self, token: str) -> None:
        """One that may have expired, or that the coordinator has taken with it."""
        if not self._session.stopping.is_set():
            with suppress(Denied):
                await self._call("CancelReservation", token=token)

    async def _acquired(self, name: str) -> Any:
        try:
            await self._call("AcquirePlace", placename=name)
        except Denied as error:
            self._refused = str(error)
            return None
        await self._session.sync_with_coordinator()
        return self._session.places[name]

    def _holder(self, place: Any) -> str:
        if place.acquired:
            since = time.strftime("%F %T", time.localtime(place.changed))
            return f"{place.name} is held by {place.acquired}" + ("" if MARK in place.acquired else f" since {since}")
        return f"{place.name} is {'reserved' if place.reservation else f'not to be had: {self._refused}'}"

    # What dead keepers have left behind.

    async def _free_what_is_nobodys(self) -> None:
        from labgrid.remote.common import Place, Reservation, ReservationState

        for place in list(self._session.places.values()):
            if place.acquired and self._is_dead(place.acquired, "place", place.name, place.changed):
                # A look that waits in the coordinator's queue: touches before it count.
                now = {each.name: Place.from_pb2(each) for each in (await self._call("GetPlaces")).places}
                if place.name in now and now[place.name].changed == place.changed:
                    await self._release(place.name, place.acquired, place.reservation)
        for raw in (await self._call("GetReservations")).reservations:
            reservation = Reservation.from_pb2(raw)
            if reservation.state in (ReservationState.waiting, ReservationState.allocated) and self._is_dead(
                reservation.owner, "reservation", reservation.token, reservation.timeout
            ):
                await self._cancel(reservation.token)

    def _is_dead(self, owner: str, kind: str, name: str, sign: float) -> bool:
        """A keeper that has not changed its sign for too long, and is no process here."""
        if MARK not in owner or owner == self.owner:
            return False
        seen = self._signs.get((kind, f"{owner} {name}"))
        if seen is None or seen.value != sign:
            self._signs[kind, f"{owner} {name}"] = Sign(sign)
            return False
        host, _, user = owner.partition("/")
        process = user.rpartition("-")[2]
        lives_here = host == self._session.gethostname() and process.isdigit() and os.path.exists(f"/proc/{process}")
        return time.monotonic() - seen.since > STALE_S and not lives_here

    # Holding it.

    async def hold(self) -> None:
        place, token = await self.lease()
        try:
            exporter, entry = self._console(place)
            if not exporter:
                raise Refused("infrastructure", self._why_not(place))
            params = dict(entry.params)
            tell(
                place=place.name,
                owner=self.owner,
                host=params["host"],
                port=params["port"],
                telnet=params.get("protocol", "rfc2217") == "rfc2217",
            )
            while not (why := self._lost(place.name, params)):
                await self._pause(TOUCH_S)
                with suppress(Denied):  # by a coordinator that does not know the place any more
                    await self._call("SetPlaceTags", placename=place.name, tags={})
            tell(lost=why)
            await self._gone.wait()
        finally:
            await self._release(place.name, self.owner, token)

    async def _release(self, name: str, owner: str, token: str | None) -> None:
        """The reservation first: the coordinator gives the place to who is next when it is released, and then only."""
        if not self._session.stopping.is_set():
            if token:
                await self._cancel(token)
            await self._call("ReleasePlace", placename=name, fromuser=owner)

    def _lost(self, name: str, params: Mapping[str, Any]) -> str:
        place = self._session.places.get(name)
        if place is None or place.acquired != self.owner:
            holder = f", and is held by {place.acquired}" if place is not None and place.acquired else ""
            return f"the place {name} was taken away{holder}"
        exporter, entry = self._console(place)
        if not exporter:
            return f"the exporter of the place {name} went away, and with it its console"
        now = entry.params
        if entry.avail and (now["host"], now["port"]) != (params["host"], params["port"]):
            return f"the console of the place {name} has moved to {now['host']}:{now['port']}"
        return ""


def shown(tags: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(tags.items()))


async def keep(owner: int, wish: Mapping[str, Any]) -> None:
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, gone.set)
    loop.add_reader(sys.stdin.fileno(), gone.set)  # nobody writes there: it has been closed
    try:  # a process that the owner has forked may hold that open longer than the owner lives
        loop.add_reader(os.pidfd_open(owner), gone.set)
    except ProcessLookupError:
        return
    keeper = Keeper(wish, gone)
    with suppress(Gone):
        async with keeper.connected():
            await keeper.hold()


def main() -> int:
    os.environ["LG_HOSTNAME"] = os.environ.get("LG_HOSTNAME", socket.gethostname())
    os.environ["LG_USERNAME"] = f"{os.environ.get('LG_USERNAME', getpass.getuser())}{MARK}{os.getpid()}"
    try:
        asyncio.run(keep(int(sys.argv[1]), json.loads(sys.argv[2])))
        return 0
    except ImportError as error:
        tell(refused="infrastructure", said=f"labgrid is not installed ({error}): pip install 'wizloop[labgrid]'")
    except Refused as error:
        tell(refused=error.kind, said=str(error), lost=str(error))
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        tell(refused="infrastructure", said=said, lost=said)
    return 1


if __name__ == "__main__":
    sys.exit(main())
