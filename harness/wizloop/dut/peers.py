"""Who is at the far end of a board's cable: the simulated PC of a model, or this machine.

    sink = peer.sink()
    dut.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=1 << 20)
    assert sink.counts().bytes_in == 1 << 20

Streams and UDP ports never wait: let time pass on the board (`dut.run`), and look again. Byte i of every stream is
i mod 256, and who receives counts those that are not, as the agent does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from wizloop.chip import Datagram, SocketState
from wizloop.dut.device import Device
from wizloop.dut.model import ModelLine, ModelPc

FIRST_PORT = 5001
BOARD_PORT = 5001  # of the board, where nobody says which of its ports are reached


@dataclass(frozen=True)
class Counts:
    """What a service has seen."""

    connections: int = 0
    bytes_in: int = 0
    bytes_out: int = 0  # that the board has acknowledged, as far as the service knows
    bad: int = 0  # bytes that are not those of the pattern
    packets: int = 0


class Service(Protocol):
    """A service at the far end, started."""

    @property
    def port(self) -> int: ...

    def counts(self) -> Counts: ...


class Stream(Protocol):
    """One TCP connection of the far end."""

    @property
    def state(self) -> SocketState: ...

    def send(self, data: bytes) -> int:
        """Hands over what the send buffer takes; how much that is."""

    def receive(self, most: int = 65536) -> bytes:
        """What is there; nothing if there is nothing."""

    def close(self) -> None:
        """FIN after what was sent."""

    def abort(self) -> None:
        """RST."""


@dataclass(frozen=True)
class Listening:
    """A port at which the board finds one connection."""

    port: int
    stream: Stream


class DatagramPort(Protocol):
    def send_to(self, ip: str, port: int, data: bytes) -> bool: ...

    def receive(self) -> Datagram | None: ...

    def close(self) -> None: ...


class Peer(ABC):
    """The far end. Ports are chosen by the peer, so that nothing collides."""

    ip: str  # by which the board reaches it

    @abstractmethod
    def sink(self) -> Service:
        """Takes streams, checks them against the pattern, and closes when the board does."""

    @abstractmethod
    def source(self, count: int) -> Service:
        """Sends so many bytes of the pattern to one connection, at least 1, and closes."""

    @abstractmethod
    def echo(self) -> Service: ...

    @abstractmethod
    def udp_sink(self) -> Service: ...

    @abstractmethod
    def udp_echo(self) -> Service: ...

    @abstractmethod
    def listen(self) -> Listening:
        """For one connection of the board, in the hands of the caller."""

    @abstractmethod
    def udp(self) -> tuple[int, DatagramPort]:
        """A UDP port in the hands of the caller, with its number."""

    # Where the far end opens connections ("inbound").

    @abstractmethod
    def board_port(self, protocol: str) -> int:
        """A port at which the board can be reached."""

    @abstractmethod
    def connect(self, port: int) -> Stream:
        """Begins a connection to that port of the board."""

    @abstractmethod
    def board_at(self, protocol: str, port: int) -> tuple[str, int]:
        """Where that port of the board is, seen from here."""

    # Where it shares an Ethernet with the board ("lan").

    @abstractmethod
    def dhcp(self, **how: object) -> None:
        """Gives addresses; the options are those of the service of the same name in sim/capi/wizloop.h."""

    @abstractmethod
    def dns(self, names: Mapping[str, str], **how: object) -> None:
        """Knows these names and no others."""

    def close(self) -> None:
        """Ends its services."""


class _ModelService:
    def __init__(self, pc: ModelPc, number: int, port: int, inwards: bool, outwards: bool) -> None:
        self._pc = pc
        self._number = number
        self._port = port
        self._inwards = inwards
        self._outwards = outwards

    @property
    def port(self) -> int:
        return self._port

    def counts(self) -> Counts:
        raw = self._pc.counts(self._number)
        moved = raw.get("bytes", 0)
        return Counts(
            connections=raw.get("connections", 0),
            bytes_in=moved if self._inwards else 0,
            bytes_out=moved if self._outwards else 0,
            bad=raw.get("mismatches", 0),
            packets=raw.get("packets", 0),
        )


class ModelPeer(Peer):
    def __init__(self, dut: Device) -> None:
        assert isinstance(dut.line, ModelLine)
        self.ip = dut.surroundings.host_ip
        self._dut = dut
        self._pc = ModelPc(dut.line.raw)
        self._next_port = FIRST_PORT

    def _port(self) -> int:
        self._next_port += 1
        return self._next_port - 1

    def _serve(self, service: str, *, inwards: bool, outwards: bool, **how: object) -> Service:
        port = self._port()
        number = self._pc.serve(service, port=port, **how)
        return _ModelService(self._pc, number, port, inwards, outwards)

    def sink(self) -> Service:
        return self._serve("tcp-sink", inwards=True, outwards=False)

    def source(self, count: int) -> Service:
        return self._serve("tcp-source", inwards=False, outwards=True, bytes=count)

    def echo(self) -> Service:
        return self._serve("tcp-echo", inwards=True, outwards=True)

    def udp_sink(self) -> Service:
        return self._serve("udp-sink", inwards=True, outwards=False)

    def udp_echo(self) -> Service:
        return self._serve("udp-echo", inwards=True, outwards=True)

    def listen(self) -> Listening:
        port = self._port()
        return Listening(port, self._pc.listen(port))

    def udp(self) -> tuple[int, DatagramPort]:
        port = self._port()
        return port, self._pc.open_udp(port)

    def board_port(self, protocol: str) -> int:
        return BOARD_PORT

    def connect(self, port: int) -> Stream:
        return self._pc.connect(self._dut.ip, port)

    def board_at(self, protocol: str, port: int) -> tuple[str, int]:
        return self._dut.ip, port

    def dhcp(self, **how: object) -> None:
        self._pc.serve("dhcp", **how)

    def dns(self, names: Mapping[str, str], **how: object) -> None:
        self._pc.serve("dns", **{**names, **how})
