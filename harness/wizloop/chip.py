"""A W5500 with board, cable and PC, for firmware and drivers written in Python.

    with Testbed(board="w55rp20", pcap="first.pcapng") as testbed:
        testbed.pc.serve("tcp-echo", port=7)
        assert testbed.read(COMMON, VERSIONR, 1) == b"\\x04"
        testbed.advance(0.5)  # firmware sleeps
        assert testbed.failing == ()

It is the C ABI, `sim/capi/wizloop.h`, with Python's manners. Firmware is the foreground: what it does (a byte, an edge
of SCSn, a sleep) moves virtual time by what the board file says that it costs; between two calls no time passes, and
nothing sleeps. Several testbeds may live at once, each with a time of its own; calls from several threads take turns.

A mistake of the caller is a UsageError, a fault of the machine an InfrastructureError, and firmware that waits for ever
gets FirmwareHangs from the call that it waits with. What firmware does wrong on the pins is not an error but a finding.

CircuitPython drivers run on it by way of `wizloop.circuitpython`.
"""

from __future__ import annotations

import enum
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wizloop import boards
from wizloop.errors import NothingMeasured, UsageError
from wizloop.simulator import Rule, module, rules

Bytes = bytes | bytearray | memoryview

PC_ADDRESS = "192.168.1.10"

COMMON = 0  # the block of the common registers; the others by socket, as datasheet 2.2.2 numbers them
VERSIONR = 0x0039


def socket_registers(socket: int) -> int:
    """The block of a socket's registers."""
    return 4 * socket + 1


def transmit_buffer(socket: int) -> int:
    """The block of a socket's transmit buffer."""
    return 4 * socket + 2


def receive_buffer(socket: int) -> int:
    """The block of a socket's receive buffer."""
    return 4 * socket + 3


@dataclass(frozen=True)
class Finding:
    """A datasheet rule that firmware broke; `wizloop explain RULE` tells all about it."""

    rule: str
    severity: str  # "note", "warning" or "error"
    seen: str
    spi: str  # MOSI of the frame in hex; empty outside of one
    socket_state: str  # "SOCK_ESTABLISHED"; empty if no socket is concerned
    at_ps: int
    count: int
    announced: str | None  # why it is accepted; None: nobody announced it

    def explained(self) -> Rule:
        """The rule with its section of the datasheet, cause and cure."""
        return rules()[self.rule]


class SocketState(enum.IntEnum):
    """What became of a socket of the PC."""

    WAITING = 0  # for the connection
    CONNECTED = 1  # or an open UDP port
    PEER_CLOSED = 2  # the board has sent its FIN; sending still works
    CLOSED = 3
    LOST = 4  # refused, reset or given up


class Service:
    """A service that runs on the PC."""

    def __init__(self, raw: Any, number: int, name: str) -> None:
        self._raw = raw
        self._number = number
        self.name = name

    def count(self, counter: str) -> int:
        """A counter: "bytes", "packets", "connections", "leases", ...; the error names those that it has."""
        return int(self._raw.pc_count(self._number, counter))


class _PcSocket:
    """What TCP connections and UDP ports of the PC have in common. None of their calls waits."""

    def __init__(self, raw: Any, number: int) -> None:
        self._raw = raw
        self._number = number

    @property
    def state(self) -> SocketState:
        return SocketState(self._raw.pc_state(self._number))

    def close(self) -> None:
        """FIN after what was sent; a UDP port is shut."""
        self._raw.pc_close(self._number)


class Connection(_PcSocket):
    """A TCP connection of the PC. Let time pass, and look again."""

    def send(self, data: Bytes) -> int:
        """Sends what the send buffer takes; returns how much that is."""
        return int(self._raw.pc_send(self._number, data))

    def receive(self, most: int = 65536) -> bytes:
        """What is there, at most so many bytes."""
        return bytes(self._raw.pc_receive(self._number, most))


@dataclass(frozen=True)
class Datagram:
    """What a UDP port of the PC received."""

    data: bytes
    ip: str
    port: int


class UdpPort(_PcSocket):
    """A UDP port of the PC."""

    def send_to(self, ip: str, port: int, data: Bytes) -> bool:
        """Sends one datagram; False if the PC could not take it."""
        return int(self._raw.pc_send_to(self._number, _ip_number(ip), _port(port), data)) == len(data)

    def receive(self) -> Datagram | None:
        """The oldest datagram, taken out; None if there is none."""
        received = self._raw.pc_receive_from(self._number)
        if received is None:
            return None
        data, ip, port = received
        return Datagram(data, str(ipaddress.IPv4Address(ip)), port)


class Pc:
    """The simulated PC at the far end of the cable, PC_ADDRESS."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def serve(self, service: str, options: Mapping[str, object] | None = None, /, **more: object) -> Service:
        """Starts a service. Options as keywords, or as a mapping where their names are no identifiers:

            pc.serve("tcp-echo", port=7)
            pc.serve("dhcp", dns="192.168.1.10", lease_s=600)
            pc.serve("dns", {"printer.example.org": "192.168.1.77"}, delay_ms=5)

        `sim/capi/wizloop.h`, wizloop_pc_serve(), lists services and options.
        """
        words = [f"{name}={value}" for name, value in {**(options or {}), **more}.items()]
        return Service(self._raw, self._raw.pc_serve(service, " ".join(words)), service)

    def connect(self, ip: str, port: int) -> Connection:
        """Begins a TCP connection to the board."""
        return Connection(self._raw, self._raw.pc_connect(_ip_number(ip), _port(port)))

    def listen(self, port: int) -> Connection:
        """Listens for one TCP connection."""
        return Connection(self._raw, self._raw.pc_listen(_port(port)))

    def open_udp(self, port: int = 0) -> UdpPort:
        """Opens a UDP port; 0: any."""
        return UdpPort(self._raw, self._raw.pc_open_udp(_port(port)))


class Testbed:
    """One chip with everything around it; a context manager.

    board: the name of a board, or a path that ends in .toml; None: one whose code is free and whose SCLK is 33.3 MHz.
    settings: what `wizloop run --set` takes: {"chip.quirk.psh": "last_segment", "fault.link_loss": "ppm=1000"}.
    pcap, trace: files to write; they are complete when the testbed is closed.
    poll_limit_s: firmware that has read the same registers for so long, without a change, hangs.
    run_limit_s: so does firmware that is not done by then. Both of virtual time.
    """

    __test__ = False  # not a test class, whatever its name makes pytest think

    def __init__(
        self,
        board: str | Path | None = None,
        *,
        seed: int = 1,
        settings: Mapping[str, object] | None = None,
        pcap: str | Path | None = None,
        trace: str | Path | None = None,
        name: str = "wizloop",
        poll_limit_s: float = 60,
        run_limit_s: float = 24 * 3600,
    ) -> None:
        if settings is not None and not isinstance(settings, Mapping):
            raise TypeError(f"settings is a {type(settings).__name__}, expected a mapping: {{'chip.preset': 'strict'}}")
        if not 0 <= seed < 2**64:
            raise UsageError(f"seed {seed}, expected 0 to 2**64 - 1")
        self.name = name
        self.seed = seed
        self._strict = (settings or {}).get("chip.preset") == "strict"
        # The C ABI itself, in whole nanoseconds, for shims.
        self.raw: Any = module().Testbed(
            name=name,
            board=None if board is None else str(_board_file(str(board))),
            seed=seed,
            settings=[f"{key}={value}" for key, value in (settings or {}).items()],
            pcap_file=None if pcap is None else str(pcap),
            trace_file=None if trace is None else str(trace),
            poll_limit_ns=_nanoseconds(poll_limit_s, "poll_limit_s"),
            run_limit_ns=_nanoseconds(run_limit_s, "run_limit_s"),
        )
        self.pc = Pc(self.raw)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Completes capture and trace; an InfrastructureError if one could not be written whole."""
        self.raw.close()

    # Pins, as levels.

    def set_scsn(self, level: bool) -> None:
        self.raw.set_scsn(level)

    def set_rstn(self, level: bool) -> None:
        self.raw.set_rstn(level)

    @property
    def intn(self) -> bool:
        """The level of INTn."""
        return bool(self.raw.intn())

    def set_pmode(self, code: int) -> None:
        """The PMODE pins, 0 to 7; read at the next hardware reset."""
        self.raw.set_pmode(code)

    # SPI, in any split of a frame.

    def spi_clock(self, hz: int, mode: int = 0) -> None:
        """From the next frame on; the board's own clock if that is less."""
        self.raw.spi_clock(hz, mode)

    def spi_write(self, mosi: Bytes) -> None:
        self.raw.spi_write(mosi)

    def spi_read(self, miso: bytearray | memoryview, fill: int = 0) -> None:
        """Fills the buffer, while MOSI repeats the byte `fill`."""
        self.raw.spi_read(miso, fill)

    def spi_exchange(self, mosi: Bytes, miso: bytearray | memoryview) -> None:
        self.raw.spi_exchange(mosi, miso)

    # Registers and memory: one frame each; `block` is BSB[4:0].

    def read(self, block: int, offset: int, size: int) -> bytes:
        return bytes(self.raw.read(block, offset, size))

    def write(self, block: int, offset: int, data: Bytes) -> None:
        self.raw.write(block, offset, data)

    def peek(self, block: int, offset: int, size: int) -> bytes:
        """What a read would give, without a frame, time or side effect."""
        return bytes(self.raw.peek(block, offset, size))

    # Time.

    @property
    def now(self) -> float:
        """Virtual time in seconds."""
        return self.now_ps / 1e12

    @property
    def now_ps(self) -> int:
        return int(self.raw.now_ps())

    def advance(self, seconds: float) -> None:
        """Firmware sleeps."""
        self.raw.advance_ns(_nanoseconds(seconds, "seconds"))

    def spend(self, seconds: float) -> None:
        """Firmware computes."""
        self.raw.spend_ns(_nanoseconds(seconds, "seconds"))

    def wait_intn(self, timeout: float) -> bool:
        """Firmware sleeps until INTn is low; False if the time is over before."""
        return bool(self.raw.wait_intn(_nanoseconds(timeout, "timeout")))

    @property
    def next_event(self) -> float | None:
        """When something will happen next, in seconds, if firmware does nothing; None: never."""
        at_ns = self.raw.next_event_ns()
        return None if at_ns is None else at_ns / 1e9

    def price(self, key: str) -> float | None:
        """A number of the board file in the unit that ends its key: "select_ns"; None if the file has none."""
        value = self.raw.price(key)
        return None if value is None else float(value)

    # Cable.

    def set_link(self, plugged: bool) -> None:
        """Pulls the cable or plugs it in."""
        self.raw.set_link(plugged)

    # What it comes to.

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(Finding(**raw) for raw in self.raw.findings())

    @property
    def failing(self) -> tuple[str, ...]:
        """The rules that fail a test: errors and warnings that nobody announced; all if chip.preset is strict."""
        fails = (f.rule for f in self.findings if self._strict or (f.severity != "note" and f.announced is None))
        return tuple(dict.fromkeys(fails))

    def announce(self, rule: str, reason: str) -> None:
        """You know that the driver breaks this rule, and why that is accepted."""
        self.raw.announce(rule, reason)

    def counter(self, name: str) -> int:
        """A counter such as "spi_bytes", "frames_sent" or "wire_ns"; the error names them all."""
        return int(self.raw.counter(name))

    def report(self) -> str:
        """Findings, budget and fingerprint as text for a person."""
        return str(self.raw.report())


def _board_file(board: str) -> Path:
    try:
        return boards.find(board)
    except NothingMeasured as error:
        raise UsageError(str(error)) from None


def _nanoseconds(seconds: float, name: str) -> int:
    if not 0 <= seconds <= 9e6:
        raise UsageError(f"{name} is {seconds}, expected 0 to 9000000")
    return round(seconds * 1e9)


def _ip_number(ip: str) -> int:
    try:
        return int(ipaddress.IPv4Address(ip))
    except ValueError:
        raise UsageError(f"'{ip}' is not an IPv4 address, expected for example {PC_ADDRESS}") from None


def _port(port: int) -> int:
    if not 0 <= port <= 0xFFFF:
        raise UsageError(f"port {port}, expected 0 to 65535")
    return port
