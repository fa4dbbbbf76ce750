"""A device under test: the client of its agent, what stands around it, and what it can do.

with open_device("model:w55rp20") as dut:
    dut.ask("path", p="dma")
    transfer = dut.start("tcp-send", ip=..., port=5001, bytes=1 << 20)
    dut.run(0.1)
    dut.unplug()
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from wizloop.dut.address import Address, LabgridAddress, ModelAddress, SerialAddress
from wizloop.dut.agent import Agent, Request
from wizloop.dut.controls import Button, Cable, ModelSurroundings, PlaceControl, Power
from wizloop.dut.host import Host
from wizloop.dut.lease import Lease
from wizloop.dut.line import Line, LineLost, RawLog
from wizloop.dut.model import ModelChip, ModelLine
from wizloop.dut.protocol import Answer, Event, Fields
from wizloop.dut.serial_line import SerialLine, SerialOptions
from wizloop.dut.tcp_line import TcpLine
from wizloop.errors import InfrastructureError

Control = TypeVar("Control")

BOOT_S = 10.0  # from power to `! hello`

# What a test may need, and why a board may lack it.
NEEDS: Mapping[str, str] = {
    "burst": "its firmware has no burst path",
    "dma": "its firmware has no DMA path",
    "rst": "RSTn of its chip is not wired",
    "intn": "INTn of its chip is not wired",
    "full": "its firmware has the reduced set of verbs",
    "power": "nothing switches its power: see `wizloop board`",
    "reset": "nothing presses its reset button: see `wizloop board`",
    "link_flap": "nothing pulls its cable: see `wizloop board`",
    "host": "it is not said by which address it reaches this machine: see `wizloop board`",
    "inbound": "this machine cannot open connections to it: see `wizloop board`",
    "dhcp": "nobody serves addresses on its network",
    "lan": "it is not on one Ethernet with this machine",
    "chip": "its chip is silicon, which shows no registers behind its pins",
    "virtual": "its time is real",
}


@dataclass(frozen=True)
class Surroundings:
    """What the bench around a board offers."""

    power: Power | None = None
    button: Button | None = None
    cable: Cable | None = None
    host_ip: str = ""  # by which the board reaches this machine
    # What the board's ports are on this machine's side: (protocol, port of the board) to (host, port). None: the board
    # is reached at its own address, or not at all.
    forwards: Mapping[tuple[str, int], tuple[str, int]] | None = None
    reachable: bool = False  # at its own address
    dhcp: bool = False  # somebody else serves addresses there
    lan: bool = False  # this machine serves its DHCP and DNS, and sees its broadcasts

    def held_by(self, owner: str) -> Surroundings:
        """The same, with what labgrid switches for that owner alone."""

        def held(control: Control) -> Control:
            return replace(control, owner=owner) if isinstance(control, PlaceControl) else control

        return replace(self, power=held(self.power), button=held(self.button), cable=held(self.cable))


class Device:
    def __init__(self, name: str, agent: Agent, surroundings: Surroundings, chip: ModelChip | None = None) -> None:
        self.name = name
        self.agent = agent
        self.surroundings = surroundings
        self.chip = chip
        self.hello = Fields()
        self.profile = ""  # which board the inventory takes it for; empty: it does not say
        self.ip = ""  # as it said last
        self.home: dict[str, str] = {}  # its addresses, when it was first made ready
        self.suspect = True  # a test on it has failed, or nobody knows
        self.recovered: tuple[str, ...] = ()  # what it took, before this test, to bring it back
        self.on_close: list[Callable[[], None]] = []

    # Who it is, and what it can do.

    @property
    def line(self) -> Line:
        return self.agent.line

    @property
    def board(self) -> str:
        """The name that its firmware gives."""
        return self.hello.get("board", "")

    @property
    def virtual(self) -> bool:
        return self.line.virtual

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(path for path in ("byte", "burst", "dma") if path in self._capabilities())

    def _capabilities(self) -> set[str]:
        return set(self.hello.get("caps", "").split(","))

    def offers(self) -> frozenset[str]:
        around = self.surroundings
        has = {
            "power": around.power is not None,
            "reset": around.button is not None,
            "link_flap": around.cable is not None,
            "host": bool(around.host_ip),
            "inbound": around.reachable or bool(around.forwards),
            "dhcp": around.dhcp or around.lan,
            "lan": around.lan,
            "chip": self.chip is not None,
            "virtual": self.virtual,
        }
        return frozenset(need for need, there in has.items() if there) | (self._capabilities() & NEEDS.keys())

    def why_not(self, needs: frozenset[str]) -> str:
        """Why a test with these needs cannot run on it; empty: it can."""
        return "; ".join(f"{need}: {NEEDS[need]}" for need in sorted(needs - self.offers()))

    # Time.

    def now(self) -> float:
        return self.line.now()

    def run(self, seconds: float) -> None:
        """Lets time pass on its clock, and takes in what it says."""
        self.agent.run(seconds)

    # Requests (see agent.py).

    def ask(self, verb: str, *, within: float | None = None, **keys: object) -> Answer:
        answer = self.agent.ask(verb, within=self._scaled(within), **keys)
        if verb in ("net", "dhcp"):
            self.ip = answer.fields.get("ip", self.ip)
        return answer

    def outcome(self, verb: str, *, within: float | None = None, **keys: object) -> Answer:
        return self.agent.outcome(verb, within=self._scaled(within), **keys)

    def start(self, verb: str, *, within: float = 60.0, **keys: object) -> Request:
        return self.agent.start(verb, within=within * self.agent.scale, **keys)

    def wait_for_event(self, name: str, within: float) -> Event:
        return self.agent.wait_for_event(name, within * self.agent.scale)

    def _scaled(self, within: float | None) -> float | None:
        """Deadlines are those of a fast board; on a slow one they are longer."""
        return None if within is None else within * self.agent.scale

    def wait_for_link(self, within: float = 10.0) -> Answer:
        """The link, up; it negotiates for a second or two."""
        return self.ask("link", wait_ms=round(within * 1000), within=within)

    # Around it. These fail as infrastructure where a test did not say that it needs them.

    def unplug(self) -> None:
        self._need(self.surroundings.cable, "link_flap").plug(False)

    def replug(self) -> None:
        self._need(self.surroundings.cable, "link_flap").plug(True)

    def cycle_power(self, off_s: float = 1.0) -> Fields:
        """Off and on again, until it has greeted; the greeting."""
        self._need(self.surroundings.power, "power").cycle(off_s, self.line.pause)
        return self._greeting(off_s + BOOT_S)

    def press_reset(self) -> Fields:
        """The reset button, until it has greeted; the greeting."""
        self._need(self.surroundings.button, "reset").press()
        return self._greeting(BOOT_S)

    def _greeting(self, within: float) -> Fields:
        """A line that went away with the power has missed the greeting, and asks."""
        try:
            self.hello = self.wait_for_event("hello", within).fields
        except LineLost:
            self.agent.restarts += 1
            self.hello = self.agent.resync(within * self.agent.scale)
        return self.hello

    def _need(self, control: Control | None, need: str) -> Control:
        if control is None:
            raise InfrastructureError(f"{self.name}: {NEEDS[need]}")
        return control

    def resync(self) -> Fields:
        """In step with it, whatever was before; who it is."""
        self.hello = self.agent.resync()
        return self.hello

    def close(self) -> None:
        self.line.close()
        while self.on_close:
            self.on_close.pop()()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


MODEL_PC = "192.168.1.10"


def open_device(
    address: Address,
    host: Host | None = None,
    *,
    name: str = "",
    surroundings: Surroundings = Surroundings(),
    scale: float = 1.0,
    greeted: bool = True,
    serial: SerialOptions = SerialOptions(),
    seed: int = 1,
    settings: Mapping[str, object] | None = None,
    raw_log: Path | None = None,
    pcap: Path | None = None,
    lease: Lease | None = None,
) -> Device:
    """Opens the line, and says hello unless it need not be `greeted`. The surroundings of a model are its own. A place of
    labgrid is leased, unless a `lease` is given, until the device is closed.
    """
    if isinstance(address, LabgridAddress):
        held = lease or Lease(address)
        try:
            device = open_device(
                held.line,
                host,
                name=name or f"labgrid:{held.place}",
                surroundings=surroundings.held_by(held.owner),
                scale=scale,
                greeted=greeted,
                raw_log=raw_log,
            )
        except BaseException:
            held.release()
            raise
        device.on_close.append(held.release)
        return device
    log = RawLog(raw_log)
    if isinstance(address, ModelAddress):
        model = ModelLine(address.board, seed=seed, settings=settings, log=log, pcap=pcap, front=address.front)
        around = ModelSurroundings(model.raw)
        own = Surroundings(around, around, around, host_ip=MODEL_PC, reachable=True, lan=True)
        return _greeted(Device(name or str(address), Agent(model), own, ModelChip(model.raw)))
    own_host = host or Host()
    line = (
        SerialLine(address, own_host, serial, log)
        if isinstance(address, SerialAddress)
        else TcpLine(address, own_host, log)
    )
    # Answers to an earlier client may still be on the way: another number for each.
    agent = Agent(line, first_sequence=random.randrange(1, 100_000_000), scale=scale)
    device = Device(name or str(address), agent, surroundings)
    if host is None:
        device.on_close.append(own_host.close)
    return _greeted(device) if greeted else device


def _greeted(device: Device) -> Device:
    try:
        device.resync()
        device.ask("net")
    except BaseException:
        device.close()
        raise
    return device
