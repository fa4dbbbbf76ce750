"""Writes the seeds of the fuzzers into tests/fuzz/corpus: a few inputs each that reach the places worth mutating.

    python3 tests/fuzz/make_seeds.py

The formats are those at the head of each *_fuzz.cpp. A seed that a fuzzer no longer understands does no harm; the script
is there so that nobody has to guess what a seed holds.
"""

from __future__ import annotations

import struct
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"

MENDED = 0x0F  # addresses, checksums and sequence numbers put right
ANNOUNCED = 0x10
SYN, ACK, FIN, RST, PSH = 0x02, 0x10, 0x01, 0x04, 0x08
TCP, UDP, IPRAW, MACRAW = 1, 2, 3, 4
OPEN, LISTEN, CONNECT, DISCON, CLOSE, SEND, SEND_MAC, SEND_KEEP, RECV = 1, 2, 4, 8, 0x10, 0x20, 0x21, 0x22, 0x40


# Frames. What the fuzzer mends stays 0.


def ip(protocol: int, message: bytes, *, fragment: int = 0) -> bytes:
    ethernet = bytes(12) + b"\x08\x00"
    return (ethernet + struct.pack(">BBHHHBBH8x", 0x45, 0, 0, 1, fragment, 64, protocol, 0) + message).ljust(60, b"\0")


def tcp(flags: int, payload: bytes = b"", *, port: int = 80, options: bytes = b"") -> bytes:
    offset = (20 + len(options)) << 2
    return ip(6, struct.pack(">HHIIBBHHH", 40000, port, 0, 0, offset, flags, 8192, 0, 0) + options + payload)


def udp(payload: bytes, *, port: int = 83) -> bytes:
    return ip(17, struct.pack(">HHHH", 40000, port, 0, 0) + payload)


def arp(operation: int) -> bytes:
    header = struct.pack(">6s6sHHHBBH", b"\xff" * 6, b"\x02\0\0\0\0\x10", 0x0806, 1, 0x0800, 6, 4, operation)
    addresses = b"\x02\0\0\0\0\x10" + bytes([192, 168, 1, 10]) + bytes(6) + bytes([192, 168, 1, 20])
    return (header + addresses).ljust(60, b"\0")


PING = ip(1, struct.pack(">BBHHH", 8, 0, 0, 7, 1) + b"abcdefgh")
UNREACHABLE = ip(1, struct.pack(">BBHI", 3, 3, 0, 0) + bytes(28))
IGMP_QUERY = ip(2, struct.pack(">BBH4s", 0x11, 100, 0, bytes(4)))
MSS = struct.pack(">BBH", 2, 4, 536)


# SPI bytes.


def select() -> bytes:
    return b"\x00"


def deselect() -> bytes:
    return b"\x01"


def exchange(data: bytes) -> bytes:
    return bytes([0x20 | (len(data) - 1)]) + data


def pause(unit: int, count: int) -> bytes:  # units: 10 ns, 1 us, 100 us, 10 ms
    return bytes([0x60 | unit, count - 1])


def arrival(frame: bytes, how: int = MENDED) -> bytes:
    return struct.pack(">BH", 0x80 | how, len(frame)) + frame


def write(bsb: int, offset: int, data: bytes) -> bytes:
    return struct.pack(">BHB", 0xA0 | (len(data) - 1), offset, bsb) + data


def to_socket(socket: int, offset: int, data: bytes) -> bytes:
    return bytes([0xC0 | (len(data) - 1) << 3 | socket, offset]) + data


def command(socket: int, code: int) -> bytes:
    return to_socket(socket, 0x01, bytes([code])) + pause(1, 2)


def opened(socket: int, mode: int, port: int) -> bytes:
    port_bytes = port.to_bytes(2, "big")
    return to_socket(socket, 0x00, bytes([mode])) + to_socket(socket, 0x04, port_bytes) + command(socket, OPEN)


def peer(socket: int) -> bytes:
    return to_socket(socket, 0x0C, bytes([192, 168, 1, 10])) + to_socket(socket, 0x10, b"\x9c\x40")


def sent(socket: int) -> bytes:
    data = write(4 * socket + 2, 0, b"abcdefgh")
    return data + to_socket(socket, 0x24, b"\x00\x08") + command(socket, SEND) + pause(2, 3)


def large(mode: int, then: bytes = b"") -> bytes:
    """A socket with 16 KiB, an absurd Sn_MSSR, and a SEND of more than fits into a frame."""
    sizes = to_socket(0, 0x1E, b"\x10\x10") + b"".join(to_socket(n, 0x1E, b"\0\0") for n in range(1, 8))
    send = to_socket(0, 0x24, b"\x3f\xff") + command(0, SEND) + pause(2, 10) + command(0, SEND) + pause(3, 2)
    return sizes + opened(0, mode, 80) + peer(0) + then + to_socket(0, 0x12, b"\xff\xff") + send


SPI_BYTES = {
    "large_udp": large(UDP) + arrival(arp(2), 0) + pause(2, 50),
    "large_macraw": large(MACRAW),
    "large_ipraw": large(IPRAW) + arrival(arp(2), 0) + pause(2, 50),
    "large_tcp": large(TCP, command(0, LISTEN) + arrival(tcp(SYN)) + pause(2, 2) + arrival(tcp(ACK))),
    "version": select() + exchange(b"\x00\x39\x00\x00") + deselect(),
    "fixed_length": select() + exchange(b"\x00\x1a\x05\x10") + exchange(b"\x00\x1b\x06\x20\x21") + deselect(),
    "cut_short": select() + exchange(b"\x00\x01") + deselect() + select() + exchange(b"\x00\x01\x04\xc0") + deselect(),
    "buffers": write(2, 0x07F8, b"abcdefgh") + select() + exchange(b"\x07\xf8\x10") + b"\x40\x08\x00\x03" + deselect(),
    "sizes": to_socket(0, 0x1E, b"\x10\x10") + to_socket(1, 0x1F, b"\x00") + to_socket(2, 0x1F, b"\x03"),
    "udp": opened(0, UDP, 5000) + peer(0) + sent(0) + arrival(arp(2), 0) + pause(3, 1),
    "listen": opened(0, TCP, 80)
    + command(0, LISTEN)
    + arrival(tcp(SYN, options=MSS))
    + pause(2, 2)
    + arrival(tcp(ACK))
    + sent(0)
    + arrival(tcp(ACK | PSH, b"hello"))
    + to_socket(0, 0x28, b"\0\x05")
    + command(0, RECV)
    + arrival(tcp(FIN | ACK))
    + command(0, DISCON)
    + pause(3, 60),
    "connect": opened(1, TCP, 1025)
    + peer(1)
    + command(1, CONNECT)
    + arrival(arp(2), 0)
    + pause(2, 2)
    + arrival(tcp(SYN | ACK, port=1025))
    + command(1, SEND_KEEP)
    + command(1, CLOSE)
    + pause(3, 40),
    "macraw": opened(0, 0x80 | MACRAW, 0) + arrival(PING) + pause(2, 1) + sent(0),
    "ipraw": to_socket(2, 0x14, b"\x2f") + opened(2, IPRAW, 0) + arrival(ip(47, b"abc")) + peer(2) + sent(2),
    "resets": b"\xe0" + pause(2, 6) + b"\xe1" + pause(2, 20) + write(0, 0, b"\x80") + b"\xe2" + pause(2, 20) + b"\xe3",
    "phy": write(0, 0x2E, b"\x58") + write(0, 0x2E, b"\xd8") + pause(3, 60) + arrival(PING) + pause(2, 10),
    "interrupts": write(0, 0x13, b"\x10\x00\x00\xf0\x00\xff")
    + opened(0, UDP, 80)
    + arrival(udp(b"x", port=80))
    + pause(2, 1)
    + to_socket(0, 0x02, b"\xff"),
}


# Received frames.


def sockets(*how: int) -> bytes:
    return bytes(how).ljust(8, b"\0")


def received(frame: bytes, how: int = MENDED, then: int = 0) -> bytes:
    return struct.pack(">BBH", how, then, len(frame)) + frame


def reacting(what: int, socket: int) -> int:  # 1 RECV, 2 SEND, 3 DISCON, 4 SEND_MAC or SEND_KEEP, 5 CLOSE, 7 time
    return what << 3 | socket


LISTENING, CONNECTING, DATAGRAMS, RAW_FRAMES, RAW_PACKETS, GROUP, TINY = 1, 2, 3, 4, 5, 6, 7
HANDSHAKE = received(tcp(SYN, options=MSS), then=0x38) + received(tcp(ACK))

RECEIVED_FRAMES = {
    "arp": sockets() + received(arp(1), 0) + received(arp(2), 0),
    "ping": sockets(0) + received(PING) + received(PING, MENDED | ANNOUNCED, 0x38),
    "tcp": sockets(LISTENING)
    + HANDSHAKE
    + received(tcp(ACK | PSH, b"x" * 100), then=reacting(2, 0))
    + received(tcp(ACK | PSH, b"y" * 600), then=reacting(1, 0))
    + received(tcp(FIN | ACK), then=reacting(3, 0))
    + received(tcp(ACK)),
    "active": sockets(0, CONNECTING)
    + received(arp(2), 0, 0x38)
    + received(tcp(SYN | ACK, port=81))
    + received(tcp(RST, port=81)),
    "refused": sockets(LISTENING) + HANDSHAKE + received(tcp(SYN)) + received(tcp(SYN, port=99)) + received(tcp(RST)),
    "udp": sockets(0, 0, 0, DATAGRAMS)
    + received(udp(b"data"))
    + received(udp(b"d" * 1400), MENDED | ANNOUNCED, reacting(1, 3))
    + received(udp(b"nobody", port=9)),
    "fragments": sockets(0, 0, 0, DATAGRAMS)
    + received(ip(17, bytes(40), fragment=0x2000))
    + received(ip(17, bytes(40), fragment=5)),
    "macraw": sockets(0x80 | RAW_FRAMES) + received(PING) + received(bytes(range(256)), 0, reacting(2, 0)),
    "ipraw": sockets(0, 0, RAW_PACKETS, RAW_PACKETS | 8)
    + received(ip(47, b"gre"))
    + received(PING)
    + received(UNREACHABLE),
    "multicast": sockets(0, 0, 0, GROUP) + received(IGMP_QUERY, 0x0A) + received(udp(b"group"), 0x08, 0x38),
    "tiny": sockets(TINY, 0x10 | TINY) + HANDSHAKE + received(tcp(ACK | PSH, b"z" * 1400)),
    "short": sockets(LISTENING)
    + received(b"", 0)
    + received(bytes(14), 0)
    + received(bytes(33), 0)
    + received(bytes(34)),
}

# Board files.

BOARD = """\
title = "t"
mcu = "m"
chip = "W5500"
library = "ethernet2"
cpu_hz = { value = 1e8, basis = "given", source = "s" }
sclk_hz = { value = 8_000_000, basis = "given", source = "s" }
spi_mode = { value = 0, basis = "given", source = "s" }
byte_gap_ns = { value = 100, basis = "fit", figure = "F", source = "s" }
select_ns = { value = 0, basis = "given", source = "s" }
deselect_ns = { value = 0, basis = "given", source = "s" }
call_cpu_ns = { value = 0, basis = "given", source = "s" }
interrupt_latency_ns = { value = 0, basis = "given", source = "s" }

[peer]
system = "p"
ack_policy = "delayed"
segment_rule = "full_mss"
delayed_ack_ms = { value = 40, basis = "given", source = "s" }
turnaround_us = { value = 50, basis = "given", source = "s" }
timer_tick_us = { value = 0, basis = "given", source = "s" }

[[announce]]
rule = "sclk-above-rating"
reason = "r"

[[figure]]
id = "F"
scenario = "tcp_recv"
path = "byte"
published = 4.5
unit = "Mbit/s"
parameters = { read_bytes = 2048 }
why = "w"
"""

BOARD_FILES = {
    "board": BOARD.encode(),
    "number": BOARD.encode() + b"\0byte_gap_ns=1200.5",
    "word": BOARD.encode() + b"\0peer.segment_rule=half_window",
    "unknown": BOARD.encode() + b"\0no_such=1",
    "wrong": BOARD.replace("100", "-5").replace("byte_gap", "dma_gap").encode(),
    "broken": b'title = "t\n[peer\n= 1',
}

DEFAULTS = b"\0"  # for every open question of the chip


def with_defaults(seeds: dict[str, bytes]) -> dict[str, bytes]:
    return {name: DEFAULTS + content for name, content in seeds.items()}


AGENT_LINES = (
    "hello",
    "help verb=tcp-send",
    "net ip=10.0.0.9 mask=255.0.0.0 gw=10.0.0.1 mac=02:00:00:00:00:01 rtr_us=1000 rcr=1",
    "link mode=auto wait_ms=2",
    "path p=byte intn=1",
    "reg block=s3-tx offset=0x39 data=00112233",
    "spi tx=00390000,w1,i0,000F00+,+0000+,+00",
    "tcp-send ip=10.0.0.1 port=5001 bytes=100 chunk=7 kib=16 tries=2",
    "tcp-recv port=7 timeout_ms=5",
    "tcp-echo ip=10.0.0.1 port=7 count=2 size=5",
    "tcp-server mode=iperf3 socks=3 s=1",
    "tcp-server mode=http conns=1",
    "udp-send ip=10.0.0.1 port=5001 report=iperf count=3 size=100 kbit_s=1000",
    "udp-recv port=5001 idle_ms=1 report=iperf timeout_ms=9",
    "udp-echo ip=10.0.0.1 port=7 count=2 wait_ms=3",
    "dhcp host=board timeout_ms=7 every_ms=1",
    "dns name=a.b server=10.0.0.1",
    "ping-stats ip=10.0.0.1 count=2 wait_ms=2 interval_ms=1",
    "stats clear=1",
    "selftest",
    "cancel",
)

AGENT_CONSOLE = {
    line.split()[0].replace("-", "_") + str(i): bytes([0x8F if i % 3 == 0 else 0x0F])
    + f"#{i} {line}\r\n#{i} cancel\n#0 hello *29B1\n".encode()
    for i, line in enumerate(AGENT_LINES)
}

TARGETS = {
    "agent_console": AGENT_CONSOLE,
    "spi_bytes": with_defaults(SPI_BYTES),
    "received_frames": with_defaults(RECEIVED_FRAMES),
    "board_files": BOARD_FILES,
}


def main() -> None:
    for target, seeds in TARGETS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds.items():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
