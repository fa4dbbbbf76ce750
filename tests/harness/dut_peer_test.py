"""This machine at the far end of a board's cable: services on sockets, served without a thread."""

import ipaddress
import socket
import struct

import pytest
from wizloop.chip import SocketState
from wizloop.dut.device import Surroundings
from wizloop.dut.host import Host
from wizloop.dut.host_peer import HostPeer, interface_of
from wizloop.dut.name_servers import DhcpServer, DnsServer

LOOPBACK = "127.0.0.1"


class Dut:
    """As much of a device as a peer looks at."""

    def __init__(self, **surroundings):
        self.surroundings = Surroundings(host_ip="192.0.2.1", **surroundings)  # nobody's here, as behind a NAT
        self.ip = LOOPBACK


@pytest.fixture
def host():
    made = Host()
    yield made
    made.close()


@pytest.fixture
def peer(host):
    made = HostPeer(Dut(forwards={("tcp", 5001): (LOOPBACK, 15001)}), host)
    yield made
    made.close()
    assert not host._selector.get_map()


@pytest.fixture
def board(host):
    """A board's end of connections: blocking calls would wait for ourselves, so each turn is served."""
    opened = []

    class Board:
        def connect(self, port):
            made = socket.create_connection((LOOPBACK, port), timeout=5)
            made.setblocking(False)
            opened.append(made)
            host.serve(0.5)
            return made

        def wait(self, ready):
            for _ in range(500):
                if ready():
                    return
                host.serve(0.01)
            raise AssertionError("it did not become so")

    yield Board()
    for each in opened:
        each.close()


def test_a_sink_counts_bytes_and_those_that_are_wrong(peer, board):
    sink = peer.sink()
    connection = board.connect(sink.port)
    connection.send(bytes(range(256)) + b"\x07\x01")
    board.wait(lambda: sink.counts().bytes_in == 258)
    assert (sink.counts().bad, sink.counts().connections) == (1, 1)
    connection.shutdown(socket.SHUT_WR)
    board.wait(lambda: receive(connection) == b"")  # it closes when the board does


def receive(connection):
    try:
        return connection.recv(65536)
    except BlockingIOError:
        return None


def test_a_source_sends_the_pattern_and_closes(peer, board):
    source = peer.source(100_000)
    connection, got = board.connect(source.port), bytearray()

    def closed():
        data = receive(connection)
        got.extend(data or b"")
        return data == b""

    board.wait(closed)
    assert bytes(got) == bytes(i % 256 for i in range(100_000))
    assert source.counts().bytes_out == 100_000


def test_an_echo_gives_back_more_than_a_buffer_holds(peer, board):
    echo = peer.echo()
    connection, got, sent = board.connect(echo.port), bytearray(), 0
    data = bytes(i % 251 for i in range(1_000_000))

    def moved():
        nonlocal sent
        try:
            sent += connection.send(data[sent : sent + 65536])
        except BlockingIOError:
            pass
        got.extend(receive(connection) or b"")
        return len(got) == len(data)

    board.wait(moved)
    assert bytes(got) == data


def test_a_reset_of_the_board_ends_a_connection_and_not_the_service(peer, board):
    sink = peer.sink()
    connection = board.connect(sink.port)
    connection.send(b"\0")
    board.wait(lambda: sink.counts().bytes_in == 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    board.connect(sink.port).send(b"\0")
    board.wait(lambda: sink.counts().bytes_in == 2)
    assert sink.counts().connections == 2


def test_datagrams_are_counted_and_sent_back(peer, host):
    sink, echo = peer.udp_sink(), peer.udp_echo()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
        board.settimeout(5)
        board.sendto(b"12345", (LOOPBACK, sink.port))
        board.sendto(b"again", (LOOPBACK, echo.port))
        while not (sink.counts().packets and echo.counts().packets):
            host.serve(1)
        assert board.recv(100) == b"again"
    assert (sink.counts().packets, sink.counts().bytes_in) == (1, 5)


def test_a_stream_in_the_hands_of_a_test_shows_what_becomes_of_it(peer, board):
    listening = peer.listen()
    stream = listening.stream
    assert (stream.state, stream.send(b"x"), stream.receive()) == (SocketState.WAITING, 0, b"")
    connection = board.connect(listening.port)
    assert stream.state == SocketState.CONNECTED
    assert stream.send(b"hello") == 5
    board.wait(lambda: receive(connection) == b"hello")
    connection.send(b"world")
    board.wait(lambda: stream.receive() == b"world")
    connection.shutdown(socket.SHUT_WR)
    board.wait(lambda: stream.state == SocketState.PEER_CLOSED)
    stream.close()
    assert stream.state == SocketState.CLOSED


def test_a_stream_can_be_reset(peer, board):
    listening = peer.listen()
    connection = board.connect(listening.port)
    listening.stream.abort()
    with pytest.raises(ConnectionResetError):
        board.wait(lambda: receive(connection) == b"never")
    assert listening.stream.state == SocketState.LOST


def test_a_connection_to_the_board_takes_the_forwarded_port(peer, host):
    assert peer.board_port("tcp") == 5001
    assert peer.board_at("tcp", 5001) == (LOOPBACK, 15001)
    assert peer.board_at("udp", 5001) == (LOOPBACK, 5001)
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        stream = peer.connect(port)
        accepted, _ = server.accept()
        assert stream.state == SocketState.CONNECTED
        accepted.close()
    refused = peer.connect(port)
    host.pause(0.01)
    assert refused.state == SocketState.LOST


def test_an_interface_is_found_by_its_address():
    assert interface_of(LOOPBACK) == "lo"
    assert interface_of("192.0.2.1") == ""


# DHCP and DNS, by the bytes of their messages.


def discover(kind, **options):
    head = (
        struct.pack("!BBBB4sHH", 1, 1, 6, 0, b"\x12\x34\x56\x78", 0, 0x8000)
        + bytes(16)
        + b"\x02\0\0\0\0\x20"
        + bytes(10)
    )
    fields = {53: bytes([kind]), **{int(code[1:]): value for code, value in options.items()}}
    packed = b"".join(bytes([code, len(value)]) + value for code, value in fields.items())
    return head + bytes(192) + b"\x63\x82\x53\x63" + packed + b"\xff"


def kind_of(answer):
    return None if answer is None else answer[242]


def test_dhcp_offers_and_acknowledges_one_address():
    server = DhcpServer(None, "192.168.1.10", {})
    offer = server.answer(discover(1))
    assert kind_of(offer) == 2
    assert offer[4:8] == b"\x12\x34\x56\x78" and offer[28:34] == b"\x02\0\0\0\0\x20"
    address = ipaddress.IPv4Address(offer[16:20])
    assert str(address) == "192.168.1.100"
    assert kind_of(server.answer(discover(3, o50=address.packed))) == 5
    assert kind_of(server.answer(discover(3, o50=b"\x0a\0\0\x01"))) == 6
    assert server.answer(discover(3, o54=b"\x0a\0\0\x01", o50=address.packed)) is None  # another server's
    assert server.answer(b"short") is None and server.answer(discover(7)) is None


def test_dhcp_can_be_told_to_be_silent_and_to_refuse():
    server = DhcpServer(None, "192.168.1.10", {"ignored_discovers": 1, "ignored_requests": 1, "refused_requests": 1})
    assert [kind_of(server.answer(discover(1))) for _ in range(2)] == [None, 2]
    address = ipaddress.IPv4Address("192.168.1.100").packed
    assert [kind_of(server.answer(discover(3, o50=address))) for _ in range(3)] == [None, 6, 5]


def question(name, number=b"\x00\x07"):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return number + struct.pack("!HHHHH", 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", 1, 1)


def test_dns_knows_its_names_and_no_others():
    server = DnsServer(None, {"broker.lan": "10.1.2.3"}, {"ignored_queries": 1})
    assert server.answer(question("broker.lan")) is None
    answer = server.answer(question("Broker.LAN"))
    assert answer[:4] == b"\x00\x07\x81\x80" and answer[-4:] == bytes([10, 1, 2, 3])
    unknown = server.answer(question("nobody.lan"))
    assert unknown[3] & 0x0F == 3 and unknown[6:8] == b"\0\0"
    assert server.answer(b"\0" * 12) is None and server.answer(question("a.b")[:-3]) is None
