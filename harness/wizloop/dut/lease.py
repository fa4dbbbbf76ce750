"""A place of a labgrid coordinator, leased until it is released or this process ends, however it ends.

    lease = Lease(parse_address("labgrid:any"), wait_s=60)
    lease.place, lease.line           # "b1", TcpAddress("rack1", 7001)
    assert not (why := lease.lost()), why
    lease.release()

labgrid leaves a place locked when its client dies. So the client is a process of its own, the keeper
(lease_keeper.py), which watches this one and releases the place when it is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Collection
from typing import Any

from wizloop.dut.address import LabgridAddress, TcpAddress
from wizloop.errors import InfrastructureError, NothingMeasured, WizloopError

WAIT_S = 300.0  # for a place that others have
ANSWER_S = 60.0  # of the keeper, beyond the wait for a place
RELEASE_S = 15.0
READ_BYTES = 65536


class LeaseRefused(InfrastructureError):
    """No coordinator, no console, or nothing free in time."""


class LeaseLost(InfrastructureError):
    """The place may be somebody else's by now."""


CLASSES: dict[str, type[WizloopError]] = {"nothing": NothingMeasured, "infrastructure": LeaseRefused}


class Lease:
    """Taken on creation. NothingMeasured if there is no such place, InfrastructureError if none is free in time."""

    def __init__(
        self, address: LabgridAddress, wait_s: float = WAIT_S, without: Collection[str] = (), again: bool = False
    ) -> None:
        """`without` are places that are not wanted. `again`: a coordinator that has gone may be on its way back."""
        wish = {
            "place": address.place,
            "tags": dict(address.tags),
            "without": sorted(without),
            "wait_s": wait_s,
            "again": again,
        }
        self._buffer = b""
        self._lost = ""
        self.place = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "wizloop.dut.lease_keeper", str(os.getpid()), json.dumps(wish)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it outlives what ends a whole group of processes, and Ctrl-C
        )
        try:
            told = self._next(time.monotonic() + wait_s + ANSWER_S)
            if told is None:
                raise LeaseRefused(f"{address}: the process that is to keep the lease says nothing")
            if "refused" in told:
                raise CLASSES[told["refused"]](f"{address}: {told['said']}")
        except BaseException:
            self.release()
            raise
        self.place = told["place"]
        self.owner: str = told["owner"]  # as labgrid has it, HOST/USER
        self.line = TcpAddress(told["host"], told["port"], told["telnet"])

    def lost(self) -> str:
        """Why the place is not held any more; empty: it is."""
        if not self._lost and (told := self._next(time.monotonic(), on_silence={"lost": ""})):
            self._lost = told["lost"]
        return self._lost

    def release(self) -> None:
        """May be called twice. The keeper ends by itself in any case."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(RELEASE_S)
        except subprocess.TimeoutExpired:
            raise InfrastructureError(f"labgrid has not released the place within {RELEASE_S:g} s") from None
        finally:
            process.stdout.close()
        if process.returncode != 0 and self.place and not self._lost:
            raise InfrastructureError(f"labgrid has not released the place {self.place}: its keeper failed")

    def _next(self, deadline: float, on_silence: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """What the keeper says next; `on_silence` at the deadline."""
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([output], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return on_silence
            data = os.read(output, READ_BYTES)
            if not data:
                return {"lost": "the process that keeps the lease has died"} if on_silence is not None else None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told
