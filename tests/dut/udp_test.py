"""Datagrams: both ways, at sizes around every boundary, with their loss counted."""

import pytest
from bodies import pattern, poll
from wizloop.dut.plugin import needs

pytestmark = needs("full", "host")

LARGEST = 1472  # of payload in one Ethernet frame


def numbered(number, size):
    """A datagram as the agent numbers them."""
    return number.to_bytes(4, "big") + pattern(size - 4, 4)


@pytest.mark.parametrize("size", [4, 5, 1471, LARGEST])
def test_every_datagram_is_sent(online, peer, size):
    sink = peer.udp_sink()
    sent = online.ask("udp-send", ip=peer.ip, port=sink.port, count=50, size=size, kbit_s=2000)
    poll(online, lambda: sink.counts().packets >= 50)
    assert (sent["count"], sent.number("bytes")) == ("50", 50 * size)
    assert (sink.counts().packets, sink.counts().bytes_in) == (50, 50 * size)


def test_a_rate_is_kept(online, peer):
    sink = peer.udp_sink()
    sent = online.ask("udp-send", ip=peer.ip, port=sink.port, count=200, size=1000, kbit_s=1000)
    assert sent.number("kbit_s") == pytest.approx(1000, rel=0.05)


@pytest.mark.parametrize("size", [4, 64, LARGEST])
def test_datagrams_come_back_as_they_were(online, peer, size):
    echo = peer.udp_echo()
    answer = online.ask("udp-echo", ip=peer.ip, port=echo.port, count=20, size=size)
    assert (answer["count"], answer["bad"], answer["lost"]) == ("20", "0", "0")
    assert 0 < answer.number("rtt_min_us") <= answer.number("rtt_max_us")


def test_datagrams_into_nowhere_are_lost_and_counted(online, peer):
    port, silent = peer.udp()
    answer = online.ask("udp-echo", ip=peer.ip, port=port, count=3, wait_ms=50)
    assert (answer["lost"], answer["bad"]) == ("3", "0")
    silent.close()


@needs("inbound")
def test_numbers_that_are_missing_are_counted(online, peer):
    port = peer.board_port("udp")
    where = peer.board_at("udp", port)
    reception = online.start("udp-recv", port=port, idle_ms=500)
    online.run(0.05)
    _, sender = peer.udp()
    for number in (0, 1, 2, 5, 6, 9):
        sender.send_to(*where, numbered(number, 200))
        online.run(0.005)
    done = reception.finish()
    assert (done["count"], done["lost"], done["late"], done["bad"]) == ("6", "4", "0", "0")
    sender.close()


@needs("inbound")
def test_a_datagram_that_comes_late_is_no_loss(online, peer):
    port = peer.board_port("udp")
    where = peer.board_at("udp", port)
    reception = online.start("udp-recv", port=port, idle_ms=500)
    online.run(0.05)
    _, sender = peer.udp()
    for number in (0, 2, 1, 3):
        sender.send_to(*where, numbered(number, 100))
        online.run(0.005)
    done = reception.finish()
    assert (done["count"], done["lost"], done["late"]) == ("4", "0", "1")
    sender.close()


@needs("inbound")
def test_damaged_payload_is_counted(online, peer):
    port = peer.board_port("udp")
    where = peer.board_at("udp", port)
    reception = online.start("udp-recv", port=port, idle_ms=300)
    online.run(0.05)
    _, sender = peer.udp()
    datagram = bytearray(numbered(0, 100))
    datagram[50] ^= 0xFF
    sender.send_to(*where, bytes(datagram))
    done = reception.finish()
    assert (done["count"], done["bad"]) == ("1", "1")
    sender.close()


@needs("inbound")
@pytest.mark.parametrize("size", [1, 1000, LARGEST])
def test_the_board_sends_datagrams_back(online, peer, size):
    port = peer.board_port("udp")
    where = peer.board_at("udp", port)
    service = online.start("udp-echo", port=port, count=1)
    online.run(0.05)
    _, sender = peer.udp()
    sender.send_to(*where, pattern(size))
    assert service.finish()["bytes"] == str(size)
    got = []

    def back():
        got.append(sender.receive())
        return got[-1] is not None

    poll(online, back)
    assert got[-1].data == pattern(size)
    sender.close()


@needs("inbound")
def test_a_burst_larger_than_the_buffer_is_lost_in_part_and_counted(online, peer):
    port = peer.board_port("udp")
    where = peer.board_at("udp", port)
    online.ask("path", p="byte")
    reception = online.start("udp-recv", port=port, kib=2, idle_ms=500)
    online.run(0.05)
    _, sender = peer.udp()
    sender.send_to(*where, numbered(0, 100))  # whose address is known from now on
    online.run(0.05)
    for number in range(1, 40):
        sender.send_to(*where, numbered(number, 1400))
    online.run(0.2)
    sender.send_to(*where, numbered(40, 100))
    done = reception.finish()
    assert done.number("count") + done.number("lost") == 41
    assert done["bad"] == "0"
    sender.close()
