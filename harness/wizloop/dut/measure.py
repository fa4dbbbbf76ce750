"""What is measured on a board: throughput and round trips, as the published figures have them.

    taken = take("tcp_xmit", device, peer, "dma")
    taken.value, find("tcp_xmit").unit, taken.void

Both ends count. Where they do not agree the sample is void, and so it is where bytes were wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wizloop.dut.device import Device
from wizloop.dut.peers import Peer
from wizloop.errors import UsageError
from wizloop.simulator import near

BYTES = 500_000
CHUNK = 2048
KIB = 16  # of the socket's buffer
DATAGRAMS, DATAGRAM_BYTES = 300, 1470
SMALL_DATAGRAMS, SMALL_BYTES = 1000, 8
ROUND_TRIPS, ROUND_TRIP_BYTES = 50, 32
PINGS, PING_EACH_MS = 20, 10
SETTLE_S = 5.0  # what was sent may still be on its way to the peer
LOOK_EACH_S = 0.002


@dataclass(frozen=True)
class Taken:
    """One measurement, with what each end counted."""

    value: float
    firmware_count: int | None = None
    peer_count: int | None = None
    void: str = ""  # why it is none


@dataclass(frozen=True)
class Measurement:
    unit: str
    metric: str
    take: Callable[[Device, Peer], Taken]


def take(name: str, device: Device, peer: Peer, path: str) -> Taken:
    """Once, by that path. The board is ready and its link up."""
    device.ask("path", p=path)
    return find(name).take(device, peer)


def find(name: str) -> Measurement:
    if name not in MEASUREMENTS:
        raise UsageError(f"unknown figure '{name}'{near(name, MEASUREMENTS)}, expected {', '.join(MEASUREMENTS)}")
    return MEASUREMENTS[name]


def _settled(device: Device, count: Callable[[], int], wanted: int) -> int:
    """The peer's count, once it has reached what the firmware says, or does not any more."""
    end = device.now() + SETTLE_S
    while count() < wanted and device.now() < end:
        device.run(LOOK_EACH_S)
    return count()


def _wrong(bad: int, who: str) -> str:
    return f"{who} got {bad} wrong bytes" if bad else ""


def _tcp_xmit(device: Device, peer: Peer) -> Taken:
    sink = peer.sink()
    sent = device.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=BYTES, chunk=CHUNK, kib=KIB)
    count = int(sent.number("bytes"))
    there = _settled(device, lambda: sink.counts().bytes_in, count)
    return Taken(sent.number("kbit_s") / 1000, count, there, _wrong(sink.counts().bad, "the peer"))


def _tcp_recv(device: Device, peer: Peer) -> Taken:
    source = peer.source(BYTES)
    received = device.ask("tcp-recv", ip=peer.ip, port=source.port, chunk=CHUNK, kib=KIB)
    count = int(received.number("bytes"))
    there = _settled(device, lambda: source.counts().bytes_out, count)
    void = _wrong(int(received.number("bad")), "the firmware")
    return Taken(received.number("kbit_s") / 1000, count, there, void)


def _udp_xmit(device: Device, peer: Peer) -> Taken:
    sink = peer.udp_sink()
    sent = device.ask("udp-send", ip=peer.ip, port=sink.port, count=DATAGRAMS, size=DATAGRAM_BYTES)
    there = _settled(device, lambda: sink.counts().packets, DATAGRAMS)
    return Taken(sent.number("kbit_s") / 1000, int(sent.number("count")), there)


def _udp_pps(device: Device, peer: Peer) -> Taken:
    sink = peer.udp_sink()
    sent = device.ask("udp-send", ip=peer.ip, port=sink.port, count=SMALL_DATAGRAMS, size=SMALL_BYTES)
    there = _settled(device, lambda: sink.counts().packets, SMALL_DATAGRAMS)
    return Taken(1e6 * SMALL_DATAGRAMS / sent.number("us"), int(sent.number("count")), there)


def _udp_rtt(device: Device, peer: Peer) -> Taken:
    echo = peer.udp_echo()
    done = device.ask("udp-echo", ip=peer.ip, port=echo.port, count=ROUND_TRIPS, size=ROUND_TRIP_BYTES)
    lost, there = int(done.number("lost")), echo.counts().packets
    void = f"{lost} of {ROUND_TRIPS} datagrams were lost" if lost else _wrong(int(done.number("bad")), "the firmware")
    return Taken(done.number("rtt_avg_us"), int(done.number("count")), there, void)


def _tcp_rtt(device: Device, peer: Peer) -> Taken:
    echo = peer.echo()
    done = device.ask("tcp-echo", ip=peer.ip, port=echo.port, count=ROUND_TRIPS, size=ROUND_TRIP_BYTES)
    void = _wrong(int(done.number("bad")), "the firmware")
    return Taken(done.number("rtt_avg_us"), int(done.number("bytes")), echo.counts().bytes_in, void)


def _ping_rtt(device: Device, peer: Peer) -> Taken:
    """The far end counts no echo requests; those that came back were there."""
    done = device.ask("ping-stats", ip=peer.ip, count=PINGS, interval_ms=PING_EACH_MS)
    void = _wrong(int(done.number("bad")), "the firmware")
    return Taken(done.number("rtt_avg_us"), int(done.number("sent")), int(done.number("received")), void)


MEASUREMENTS: Mapping[str, Measurement] = {
    "tcp_xmit": Measurement("Mbit/s", "throughput", _tcp_xmit),
    "tcp_recv": Measurement("Mbit/s", "throughput", _tcp_recv),
    "udp_xmit": Measurement("Mbit/s", "throughput", _udp_xmit),
    "udp_pps": Measurement("packets/s", "rate", _udp_pps),
    "udp_rtt": Measurement("us", "round_trip", _udp_rtt),
    "tcp_rtt": Measurement("us", "round_trip", _tcp_rtt),
    "ping_rtt": Measurement("us", "round_trip", _ping_rtt),
}
