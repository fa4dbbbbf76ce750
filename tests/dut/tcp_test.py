"""Streams: sizes around every boundary, both directions, both roles, all paths; and peers that misbehave."""

import pytest
from bodies import BOUNDARIES, MSS, SOCKET_BYTES, code_of, nobody_near, pattern, poll, use
from wizloop.chip import SocketState
from wizloop.dut.plugin import announces, needs

pytestmark = needs("full", "host")


@pytest.mark.parametrize("count", BOUNDARIES)
def test_what_is_sent_arrives(online, peer, count):
    sink = peer.sink()
    sent = online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=count)
    assert (sent.number("bytes"), sent["closed"], sent["retries"]) == (count, "ok", "0")
    poll(online, lambda: sink.counts().bytes_in >= count)
    assert (sink.counts().bytes_in, sink.counts().bad, sink.counts().connections) == (count, 0, 1)


def test_an_empty_stream_is_a_connection_and_no_more(online, peer):
    sink = peer.sink()
    assert online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=0)["bytes"] == "0"
    poll(online, lambda: sink.counts().connections == 1)
    assert sink.counts().bytes_in == 0


@pytest.mark.parametrize("count", BOUNDARIES)
def test_what_the_peer_sends_is_received(online, peer, count):
    source = peer.source(count)
    received = online.ask("tcp-recv", ip=peer.ip, port=source.port)
    assert (received.number("bytes"), received["bad"], received["closed"]) == (count, "0", "ok")


def test_a_peer_that_only_closes_ends_a_reception(online, peer):
    listening = peer.listen()
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    listening.stream.close()
    assert reception.finish()["bytes"] == "0"


@pytest.mark.parametrize("chunk", [1, 7, 512, MSS, SOCKET_BYTES])
def test_the_size_of_the_calls_does_not_show_in_what_arrives(online, peer, chunk):
    sink, source = peer.sink(), peer.source(5000)
    online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=5000, chunk=chunk)
    poll(online, lambda: sink.counts().bytes_in >= 5000)
    assert (sink.counts().bytes_in, sink.counts().bad) == (5000, 0)
    received = online.ask("tcp-recv", ip=peer.ip, port=source.port, chunk=chunk)
    assert (received["bytes"], received["bad"]) == ("5000", "0")


@pytest.mark.parametrize("kib", [1, 2, 4, 8, 16])
def test_every_size_of_socket_memory_works(online, peer, kib):
    sink, source = peer.sink(), peer.source(40_000)
    online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=40_000, kib=kib)
    poll(online, lambda: sink.counts().bytes_in >= 40_000)
    assert (sink.counts().bytes_in, sink.counts().bad) == (40_000, 0)
    received = online.ask("tcp-recv", ip=peer.ip, port=source.port, kib=kib)
    assert (received["bytes"], received["bad"]) == ("40000", "0")


@pytest.mark.parametrize("path", ["byte", "burst", "dma"])
def test_every_path_carries_a_stream_both_ways(online, peer, path):
    use(online, path)
    sink, source = peer.sink(), peer.source(100_000)
    online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=100_000)
    poll(online, lambda: sink.counts().bytes_in >= 100_000)
    assert (sink.counts().bytes_in, sink.counts().bad) == (100_000, 0)
    received = online.ask("tcp-recv", ip=peer.ip, port=source.port)
    assert (received["bytes"], received["bad"]) == ("100000", "0")


@needs("intn")
def test_waits_may_sleep_until_intn_is_low(online, peer):
    online.ask("path", intn=1)
    source = peer.source(100_000)
    received = online.ask("tcp-recv", ip=peer.ip, port=source.port)
    assert (received["bytes"], received["bad"]) == ("100000", "0")


def test_a_long_stream_is_sent_whole(online, peer, bulk_bytes):
    sink = peer.sink()
    sent = online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=bulk_bytes, kib=16, within=600)
    poll(online, lambda: sink.counts().bytes_in >= bulk_bytes)
    assert sent.number("bytes") == sink.counts().bytes_in == bulk_bytes
    assert sink.counts().bad == 0


def test_a_long_stream_is_received_whole(online, peer, bulk_bytes):
    source = peer.source(bulk_bytes)
    received = online.ask("tcp-recv", ip=peer.ip, port=source.port, kib=16, within=600)
    assert (received.number("bytes"), received["bad"]) == (bulk_bytes, "0")


@pytest.mark.parametrize("size", [1, 64, MSS])
def test_an_echo_comes_back_as_it_was(online, peer, size):
    echo = peer.echo()
    answer = online.ask("tcp-echo", ip=peer.ip, port=echo.port, count=20, size=size)
    assert (answer["count"], answer["bad"]) == ("20", "0")
    assert 0 < answer.number("rtt_min_us") <= answer.number("rtt_avg_us") <= answer.number("rtt_max_us")


def test_one_connection_after_another(online, peer):
    sink = peer.sink()
    ports = set()
    for _ in range(10):
        sent = online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=300)
        assert sent["closed"] == "ok"
        ports.add(online.ask("reg", block="s0", offset="0x04", count=2)["data"])
    poll(online, lambda: sink.counts().bytes_in >= 3000)
    assert (sink.counts().connections, sink.counts().bytes_in) == (10, 3000)
    assert len(ports) == 10  # another local port each time


def test_a_local_port_is_used_as_it_was_asked_for(online, peer):
    sink = peer.sink()
    online.ask("tcp-send", ip=peer.ip, port=sink.port, local=40_000, bytes=10)
    assert online.ask("reg", block="s0", offset="0x04", count=2)["data"] == "9C40"


def test_a_port_where_nobody_listens_refuses(online, peer):
    assert code_of(online, "tcp-send", ip=peer.ip, port=1, bytes=10) == "refused"


@needs("lan")
def test_a_station_that_is_not_there_times_out(online):
    online.ask("net", rtr_us=20_000, rcr=2)
    before = online.now()
    assert code_of(online, "tcp-send", ip=nobody_near(online), port=5001, bytes=10) == "peer-timeout"
    assert online.now() - before < 2 * online.agent.scale


@announces("illegal-command", "RST may come between the look at Sn_SR and SEND")
def test_a_peer_that_resets_ends_a_transmission(online, peer):
    listening = peer.listen()
    transmission = online.start("tcp-send", ip=peer.ip, port=listening.port, bytes=10 << 20)
    poll(online, lambda: len(listening.stream.receive(1)) > 0)
    listening.stream.abort()
    answer = transmission.outcome()
    assert answer.code == "closed-by-peer"
    assert 0 < answer.number("bytes") < 10 << 20


def test_a_peer_that_resets_ends_a_reception(online, peer):
    listening = peer.listen()
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port, bytes=1000)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    listening.stream.send(pattern(100))
    online.run(0.05)
    listening.stream.abort()
    answer = reception.outcome()
    assert answer.code == "closed-by-peer"
    assert answer.number("bytes") in (0, 100)  # what was not read yet goes with the connection


@announces("close-without-disconnect", "a peer that takes nothing never acknowledges the FIN either")
def test_a_peer_that_never_reads_is_given_up(online, peer):
    listening = peer.listen()
    transmission = online.start("tcp-send", ip=peer.ip, port=listening.port, bytes=10 << 20, within=60)
    answer = transmission.outcome()
    assert answer.code in ("space-timeout", "send-timeout")  # before the next SEND, or in the one that finds no window
    assert answer.number("bytes") < 10 << 20


def test_a_slow_reader_gets_every_byte(online, peer):
    count, got = 60_000, bytearray()
    listening = peer.listen()
    transmission = online.start("tcp-send", ip=peer.ip, port=listening.port, bytes=count)
    end = online.now() + 60 * online.agent.scale
    while len(got) < count and online.now() < end:
        online.run(0.02)
        got += listening.stream.receive(1500)
    listening.stream.close()
    assert bytes(got) == pattern(count)
    assert transmission.finish().number("bytes") == count


def test_a_slow_sender_is_waited_for(online, peer):
    listening = peer.listen()
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port, bytes=50)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    for i in range(50):
        assert listening.stream.send(pattern(1, i)) == 1
        online.run(0.03)
    assert reception.finish()["bad"] == "0"
    listening.stream.close()


def test_a_connection_outlives_a_long_silence(online, peer):
    listening = peer.listen()
    idle_s = 120 if online.virtual else 20
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port, bytes=10, within=idle_s + 60)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    online.run(idle_s)
    assert not reception.done()
    listening.stream.send(pattern(10))
    assert reception.finish()["bytes"] == "10"
    listening.stream.close()


def test_a_peer_that_half_closes_still_gets_the_rest(online, peer):
    listening = peer.listen()
    transmission = online.start("tcp-send", ip=peer.ip, port=listening.port, bytes=3000)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    got = bytearray()
    end = online.now() + 5 * online.agent.scale
    while len(got) < 3000 and online.now() < end:
        online.run(0.005)
        got += listening.stream.receive()
    listening.stream.close()
    assert transmission.finish()["closed"] == "ok"
    assert bytes(got) == pattern(3000)


def test_progress_is_told_while_a_stream_goes_on(online, peer):
    listening = peer.listen()
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port, bytes=10, every_ms=100)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    listening.stream.send(pattern(4))
    assert online.wait_for_event("progress", within=5)["seq"] == str(reception.sequence)
    listening.stream.send(pattern(6, 4))
    assert reception.finish()["bad"] == "0"
    listening.stream.close()


def test_a_cancelled_stream_tells_what_was_done(online, peer):
    listening = peer.listen()
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    listening.stream.send(pattern(1000))
    online.run(0.1)
    answer = reception.cancel()
    assert (answer.code, answer["bytes"]) == ("cancelled", "1000")
    listening.stream.close()


def test_a_stream_ends_at_its_own_deadline(online, peer):
    listening = peer.listen()
    answer = online.outcome("tcp-recv", ip=peer.ip, port=listening.port, timeout_ms=300)
    assert (answer.code, answer["bytes"]) == ("timeout", "0")
    listening.stream.close()


def test_only_one_long_verb_at_a_time(online, peer):
    listening = peer.listen()
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port)
    online.run(0.05)
    assert online.outcome("hello").code == "busy"
    assert reception.cancel().code == "cancelled"
