"""Throughput and round trips, as the published figures measure them. Both ends count; who disagrees is no figure."""

import pytest
from bodies import use
from wizloop.dut import measure
from wizloop.dut.plugin import needs

pytestmark = needs("full", "host")

PATHS = ("byte", "burst", "dma")


@pytest.fixture
def measured(online, peer, record_figure):
    """Takes a figure, keeps it, and returns it."""

    def take_and_keep(name, path=None):
        path = path or online.paths[-1]
        use(online, path)
        taken, what = measure.take(name, online, peer, path), measure.find(name)
        record_figure(
            name,
            taken.value,
            what.unit,
            path=path,
            metric=what.metric,
            firmware_count=taken.firmware_count,
            peer_count=taken.peer_count,
            void=taken.void,
        )
        return taken

    return take_and_keep


@pytest.mark.parametrize("path", PATHS)
def test_tcp_xmit(measured, path):
    taken = measured("tcp_xmit", path)
    assert not taken.void
    assert taken.firmware_count == taken.peer_count == measure.BYTES
    assert taken.value > 0.1


@pytest.mark.parametrize("path", PATHS)
def test_tcp_recv(measured, path):
    taken = measured("tcp_recv", path)
    assert not taken.void
    assert taken.firmware_count == taken.peer_count == measure.BYTES
    assert taken.value > 0.1


@pytest.mark.parametrize("path", PATHS)
def test_udp_xmit(measured, path):
    taken = measured("udp_xmit", path)
    assert 0 < taken.peer_count <= taken.firmware_count  # what is lost on the way makes it void, and no failure


def test_udp_packets_per_second(measured):
    assert 0 < measured("udp_pps").peer_count <= measure.SMALL_DATAGRAMS


def test_udp_round_trip(measured):
    assert not measured("udp_rtt").void


def test_tcp_round_trip(measured):
    assert not measured("tcp_rtt").void


def test_ping_round_trip(measured):
    taken = measured("ping_rtt")
    assert not taken.void
    assert taken.firmware_count == taken.peer_count == measure.PINGS
