"""The board as a server: who connects to it is at the far end."""

import pytest
from bodies import pattern, poll
from wizloop.chip import SocketState
from wizloop.dut.plugin import needs

pytestmark = needs("full", "host", "inbound")


def exchanged(dut, stream, data):
    """What comes back for what is sent."""
    sent, got = 0, bytearray()

    def move():
        nonlocal sent
        sent += stream.send(data[sent : sent + 4096])
        got.extend(stream.receive())
        return len(got) >= len(data)

    poll(dut, move, within=20)
    return bytes(got)


def connected(dut, peer, port):
    stream = peer.connect(port)
    poll(dut, lambda: stream.state in (SocketState.CONNECTED, SocketState.PEER_CLOSED))
    return stream


def test_an_echo_server_gives_back_what_it_gets(online, peer):
    port = peer.board_port("tcp")
    server = online.start("tcp-echo", port=port)
    online.run(0.02)
    stream = connected(online, peer, port)
    assert exchanged(online, stream, pattern(10_000)) == pattern(10_000)
    stream.close()
    assert server.finish()["bytes"] == "10000"


def test_a_listening_board_receives_a_stream(online, peer):
    port = peer.board_port("tcp")
    reception = online.start("tcp-recv", port=port)
    online.run(0.02)
    stream = connected(online, peer, port)
    data, sent = pattern(20_000), 0
    while sent < len(data):
        sent += stream.send(data[sent:])
        online.run(0.005)
    stream.close()
    done = reception.finish()
    assert (done["bytes"], done["bad"]) == ("20000", "0")


def test_a_listening_board_sends_a_stream(online, peer):
    port = peer.board_port("tcp")
    transmission = online.start("tcp-send", port=port, bytes=20_000)
    online.run(0.02)
    stream, got = connected(online, peer, port), bytearray()

    def all_there():
        got.extend(stream.receive())
        return len(got) >= 20_000

    poll(online, all_there, within=20)
    stream.close()
    assert transmission.finish()["bytes"] == "20000"
    assert bytes(got) == pattern(20_000)


def test_several_connections_at_once(online, peer):
    port = peer.board_port("tcp")
    server = online.start("tcp-server", mode="echo", port=port, socks=4, conns=3)
    online.run(0.05)
    streams = [connected(online, peer, port) for _ in range(3)]
    for number, stream in enumerate(streams):
        stream.send(bytes([number]) * 500)
    got = [bytearray() for _ in streams]

    def all_back():
        for stream, into in zip(streams, got, strict=True):
            into.extend(stream.receive())
        return all(len(into) >= 500 for into in got)

    poll(online, all_back)
    assert [bytes(into) for into in got] == [bytes([number]) * 500 for number in range(3)]
    for stream in streams:
        stream.close()
    done = server.finish()
    assert (done["conns"], done["ended"], done["bytes_in"], done["bytes_out"]) == ("3", "3", "1500", "1500")


def test_a_server_says_what_became_of_each_connection(online, peer):
    port = peer.board_port("tcp")
    server = online.start("tcp-server", mode="sink", port=port, conns=1)
    online.run(0.05)
    stream = connected(online, peer, port)
    stream.send(pattern(700))
    online.run(0.1)
    stream.close()
    event = online.wait_for_event("conn", within=10)
    assert (event["seq"], event["in"], event["bad"]) == (str(server.sequence), "700", "0")
    assert server.finish()["bytes_in"] == "700"


def test_a_source_sends_the_pattern_to_whoever_comes(online, peer):
    port = peer.board_port("tcp")
    server = online.start("tcp-server", mode="source", port=port, bytes=3000, conns=1)
    online.run(0.05)
    stream, got = connected(online, peer, port), bytearray()

    def all_there():
        got.extend(stream.receive())
        return len(got) >= 3000

    poll(online, all_there)
    assert bytes(got) == pattern(3000)
    stream.close()
    assert server.finish()["bytes_out"] == "3000"


@pytest.mark.parametrize("page", ["/", "/stats"])
def test_a_page_is_served(online, peer, page):
    port = peer.board_port("tcp")
    server = online.start("tcp-server", mode="http", port=port, conns=1)
    online.run(0.05)
    stream, got = connected(online, peer, port), bytearray()
    stream.send(f"GET {page} HTTP/1.1\r\nHost: board\r\n\r\n".encode())

    def closed():
        got.extend(stream.receive())
        return stream.state in (SocketState.PEER_CLOSED, SocketState.CLOSED)

    poll(online, closed)
    stream.close()
    assert got.startswith(b"HTTP/1.1 200") or got.startswith(b"HTTP/1.0 200")
    server.finish()


def test_a_server_serves_until_it_is_cancelled(online, peer):
    server = online.start("tcp-server", mode="sink", port=peer.board_port("tcp"), within=3600)
    online.run(2)
    assert not server.done()
    assert server.cancel().code == "cancelled"
