"""A board in this process: the agent firmware on the chip model, in virtual time.

    line = ModelLine("w55rp20")
    line.send(b"#1 hello\\n", deadline=1)
    line.receive(deadline=1)              # runs the board until it has said something

Nothing sleeps: the board runs while somebody waits for it. Equal calls give equal runs, to the picosecond.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wizloop import boards
from wizloop.chip import Connection, Finding, UdpPort
from wizloop.dut.address import ModelAddress
from wizloop.dut.line import Line, LineLost, RawLog
from wizloop.simulator import FRONTS, check_front, module

BAUD = 1_000_000
PS_PER_S = 10**12


class ModelLine(Line):
    virtual = True

    def __init__(
        self,
        board: str,
        *,
        seed: int = 1,
        settings: Mapping[str, object] | None = None,
        baud: int = BAUD,
        pcap: Path | None = None,
        log: RawLog | None = None,
        front: str = FRONTS[0],
    ) -> None:
        super().__init__(str(ModelAddress(board, front)), log or RawLog())
        check_front(front)
        self.raw: Any = module().Board(
            file=boards.find(board),
            seed=seed,
            settings=[(key, str(value)) for key, value in (settings or {}).items()],
            baud=baud,
            pcap_file=pcap,
            front=front,
        )
        self._open = True

    def now(self) -> float:
        return int(self.raw.now_ps()) / PS_PER_S

    def send(self, data: bytes, deadline: float) -> None:
        self._check()
        self.log.add(self.now(), True, data)
        self.raw.type(data)

    def receive(self, deadline: float) -> bytes:
        self._check()
        data = bytes(self.raw.run_until(round(deadline * PS_PER_S)))
        if data:
            self.log.add(self.now(), False, data)
        return data

    def pause(self, seconds: float) -> None:
        self.receive(self.now() + seconds)

    def close(self) -> None:
        if self._open:
            self._open = False
            self.raw.close()
            self.log.close()

    def _check(self) -> None:
        if not self._open:
            raise LineLost(f"{self.name} is closed")


class ModelChip:
    """What no real board shows: the chip inside the model."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def peek(self, block: int, offset: int, size: int = 1) -> bytes:
        """What a read would give, without a frame, time or side effect; `block` is BSB[4:0]."""
        return bytes(self._raw.peek(block, offset, size))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(Finding(**raw) for raw in self._raw.findings())

    @property
    def failing(self) -> tuple[str, ...]:
        """The rules that fail a test: errors and warnings that nobody announced."""
        fails = (found.rule for found in self.findings if found.severity != "note" and found.announced is None)
        return tuple(dict.fromkeys(fails))

    @property
    def counters(self) -> dict[str, int]:
        return dict(self._raw.counters())

    @property
    def fingerprint(self) -> str:
        return str(self._raw.fingerprint())


class ModelStream(Connection):
    def abort(self) -> None:
        """RST; what was not sent or received yet is gone."""
        self._raw.pc_abort(self._number)


class ModelPc:
    """The simulated PC at the far end of the cable. None of its calls waits."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def serve(self, service: str, **options: object) -> int:
        """`sim/capi/wizloop.h`, wizloop_pc_serve(), lists services and options."""
        return int(self._raw.pc_serve(service, " ".join(f"{name}={value}" for name, value in options.items())))

    def counts(self, service: int) -> dict[str, int]:
        return dict(self._raw.pc_counts(service))

    def connect(self, ip: str, port: int) -> ModelStream:
        return ModelStream(self._raw, self._raw.pc_connect(int(ipaddress.IPv4Address(ip)), port))

    def listen(self, port: int) -> ModelStream:
        return ModelStream(self._raw, self._raw.pc_listen(port))

    def open_udp(self, port: int = 0) -> UdpPort:
        return UdpPort(self._raw, self._raw.pc_open_udp(port))
