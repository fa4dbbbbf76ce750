"""Throughput and round trips, as the published figures measure them. Both ends count; who disagrees is no figure."""

import pytest
from bodies import poll, use
from wizloop.dut.plugin import needs

pytestmark = needs("full", "host")

PATHS = ("byte", "burst", "dma")
CHUNK = 2048


@pytest.mark.parametrize("path", PATHS)
def test_tcp_xmit(online, peer, record_figure, path):
    use(online, path)
    sink = peer.sink()
    sent = online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=500_000, chunk=CHUNK, kib=16)
    poll(online, lambda: sink.counts().bytes_in >= 500_000)
    assert sink.counts().bad == 0
    record_figure(
        "tcp_xmit",
        sent.number("kbit_s") / 1000,
        "Mbit/s",
        path=path,
        firmware_count=sent.number("bytes"),
        peer_count=sink.counts().bytes_in,
    )
    assert sent.number("kbit_s") > 100


@pytest.mark.parametrize("path", PATHS)
def test_tcp_recv(online, peer, record_figure, path):
    use(online, path)
    source = peer.source(500_000)
    received = online.ask("tcp-recv", ip=peer.ip, port=source.port, chunk=CHUNK, kib=16)
    assert received["bad"] == "0"
    record_figure("tcp_recv", received.number("kbit_s") / 1000, "Mbit/s", path=path)
    assert received.number("kbit_s") > 100


@pytest.mark.parametrize("path", PATHS)
def test_udp_xmit(online, peer, record_figure, path):
    use(online, path)
    sink = peer.udp_sink()
    sent = online.ask("udp-send", ip=peer.ip, port=sink.port, count=300, size=1470)
    online.run(0.2)
    record_figure("udp_xmit", sent.number("kbit_s") / 1000, "Mbit/s", path=path)
    assert sink.counts().packets <= 300


def test_udp_packets_per_second(online, peer, record_figure):
    sink = peer.udp_sink()
    sent = online.ask("udp-send", ip=peer.ip, port=sink.port, count=1000, size=8)
    online.run(0.2)
    record_figure("udp_pps", 1e6 * 1000 / sent.number("us"), "packets/s", path=online.paths[-1], metric="rate")
    assert sink.counts().packets > 0


def test_udp_round_trip(online, peer, record_figure):
    echo = peer.udp_echo()
    answer = online.ask("udp-echo", ip=peer.ip, port=echo.port, count=50, size=32)
    assert answer["lost"] == "0"
    record_figure("udp_rtt", answer.number("rtt_avg_us"), "us", path=online.paths[-1], metric="round_trip")


def test_tcp_round_trip(online, peer, record_figure):
    echo = peer.echo()
    answer = online.ask("tcp-echo", ip=peer.ip, port=echo.port, count=50, size=32)
    record_figure("tcp_rtt", answer.number("rtt_avg_us"), "us", path=online.paths[-1], metric="round_trip")


def test_ping_round_trip(online, peer, record_figure):
    answer = online.ask("ping-stats", ip=peer.ip, count=20, interval_ms=10)
    assert answer["lost"] == "0"
    record_figure("ping_rtt", answer.number("rtt_avg_us"), "us", path=online.paths[-1], metric="round_trip")
