"""adafruit-circuitpython-wiznet5k as PyPI has it, on the CircuitPython shim.

What it earns stands in the tests, exactly, and in the table of drivers/shims/circuitpython/README.md.
"""

from __future__ import annotations

import os
import time

import pytest
from wizloop.chip import SocketState, Testbed
from wizloop.circuitpython import CircuitPython
from wizloop.errors import FirmwareHangs

if not os.environ.get("CI"):
    pytest.importorskip("wizloop._sim", reason="the simulator module is not built: ci/setup builds it")
    pytest.importorskip("adafruit_wiznet5k", reason="a package of the test extra is missing: ci/setup installs it")

from adafruit_wiznet5k.adafruit_wiznet5k import WIZNET5K
from adafruit_wiznet5k.adafruit_wiznet5k_socketpool import SocketPool

pytestmark = [pytest.mark.interop, pytest.mark.simulator]

KIB = 1024
BOARD, PC = "192.168.1.20", "192.168.1.10"
DATA = bytes(value % 251 for value in range(64 * KIB))

# It looks for a W5100S first, whose frames are shorter: the chip takes their four bytes for two reads that are cut off.
PROBE = (("reserved-register", "read of common 0xF000", 1), ("reserved-register", "read of common 0x0F00", 1))


def connect_on_udp(socket: int, times: int) -> tuple[str, str, int]:
    """For each destination it gives CONNECT to a UDP socket, which the chip ignores."""
    return ("illegal-command", f"S{socket} Sn_CR = 0x04 while Sn_SR = 0x22", times)


def found(testbed: Testbed) -> tuple[tuple[str, str, int], ...]:
    return tuple((finding.rule, finding.seen, finding.count) for finding in testbed.findings)


@pytest.fixture
def testbed(tmp_path):
    with Testbed(pcap=tmp_path / "cable.pcapng") as testbed:
        yield testbed


@pytest.fixture
def machine(testbed):
    with CircuitPython(testbed) as machine:
        yield machine


@pytest.fixture
def ethernet(machine):
    return with_address(machine)


def with_address(machine):
    """The driver with a fixed address."""
    ethernet = WIZNET5K(machine.spi, machine.cs, machine.reset, is_dhcp=False)
    address, mask, router, dns = (ethernet.unpretty_ip(ip) for ip in (BOARD, "255.255.255.0", "192.168.1.1", PC))
    ethernet.ifconfig = (address, mask, router, dns)
    return ethernet


@pytest.fixture
def pool(ethernet):
    return SocketPool(ethernet)


def socket_of(pool, kind=None):
    socket = pool.socket(type=kind or pool.SOCK_STREAM)
    socket.settimeout(2)
    return socket


# Detection ---------------------------------------------------------------------------------------------------------


def test_detects_the_chip_and_its_sleeps_cost_no_wall_time(testbed, machine, record_property):
    started = time.perf_counter()
    ethernet = WIZNET5K(machine.spi, machine.cs, machine.reset, is_dhcp=False)
    wall_s = time.perf_counter() - started
    record_property("constructor_wall_ms", round(1000 * wall_s, 2))
    print(f"constructor: {testbed.now:.2f} s of virtual time in {1000 * wall_s:.2f} ms")
    assert ethernet.chip == "w5500"
    assert ethernet.pretty_mac(ethernet.mac_address) == "de:ad:be:ef:fe:ed"
    assert ethernet.link_status
    assert 6 < testbed.now < 7
    assert found(testbed) == PROBE
    assert testbed.failing == ("reserved-register",)


def test_without_chip_select_it_finds_no_chip(testbed, machine):
    import board
    import digitalio

    with pytest.raises(RuntimeError, match="Failed to initialize WIZnet module"):
        WIZNET5K(machine.spi, digitalio.DigitalInOut(board.D5), machine.reset, is_dhcp=False)
    assert testbed.failing == ("clocks-without-select",)


def test_without_a_cable_it_waits_five_seconds_and_goes_on(testbed, machine):
    testbed.set_link(False)
    ethernet = WIZNET5K(machine.spi, machine.cs, machine.reset, is_dhcp=False)
    assert not ethernet.link_status
    assert 11 < testbed.now < 12


# DHCP and DNS ------------------------------------------------------------------------------------------------------


def test_dhcp_gets_a_lease_and_renews_it(testbed, machine):
    server = testbed.pc.serve("dhcp", first="192.168.1.100", lease_s=60, router="192.168.1.1", dns=PC)
    ethernet = WIZNET5K(machine.spi, machine.cs, machine.reset)
    addresses = [ethernet.pretty_ip(address) for address in ethernet.ifconfig]
    assert addresses == ["192.168.1.100", "255.255.255.0", "192.168.1.1", PC]
    assert server.count("requests") == 1
    time.sleep(31)
    ethernet.maintain_dhcp_lease()
    ethernet.maintain_dhcp_lease()
    assert server.count("requests") == 2
    assert ethernet.ipv4_address == "192.168.1.100"
    assert found(testbed) == (*PROBE, connect_on_udp(0, 3))


def test_dhcp_gives_up_without_a_server(testbed):
    slow = CircuitPython(testbed, call_us=1000)  # it polls less
    with slow as machine, pytest.raises(TimeoutError, match="No response from DHCP server after 3 retries"):
        WIZNET5K(machine.spi, machine.cs, machine.reset)
    assert 4 + 8 + 16 + 32 - 4 < testbed.now - 6.2 < 4 + 8 + 16 + 32 + 4


def test_dhcp_gets_no_lease_if_the_chip_takes_no_unicast_without_an_address():
    with Testbed(settings={"chip.quirk.unicast_without_address": "dropped"}) as testbed:
        server = testbed.pc.serve("dhcp")
        with CircuitPython(testbed, call_us=1000) as machine, pytest.raises(TimeoutError):
            WIZNET5K(machine.spi, machine.cs, machine.reset)
        assert server.count("offers") == 4


def test_dns_knows_names_and_says_which_it_does_not(testbed, ethernet):
    testbed.pc.serve("dns", {"printer.example.org": "192.168.1.77"})
    assert ethernet.pretty_ip(ethernet.get_host_by_name("printer.example.org")) == "192.168.1.77"
    with pytest.raises(RuntimeError, match="Failed to resolve hostname"):
        ethernet.get_host_by_name("nowhere.example.org")
    assert found(testbed) == (*PROBE, connect_on_udp(0, 2))


# TCP ---------------------------------------------------------------------------------------------------------------


def test_tcp_client_talks_and_closes(testbed, pool):
    echo = testbed.pc.serve("tcp-echo", port=7)
    socket = socket_of(pool)
    socket.connect((PC, 7))
    assert socket.send(b"hello") == 5
    assert socket.recv(5) == b"hello"
    socket.close()
    assert echo.count("bytes") == 5
    assert found(testbed) == PROBE


def test_tcp_client_is_told_of_a_refusal(testbed, pool):
    with pytest.raises(ConnectionError, match="Failed to establish connection"):
        socket_of(pool).connect((PC, 81))
    assert found(testbed) == PROBE


def test_tcp_server_accepts_and_goes_on_listening(testbed, pool):
    listener = socket_of(pool)
    listener.bind((BOARD, 80))
    listener.listen()
    for request in (b"GET /", b"GET /again"):
        client = testbed.pc.connect(BOARD, 80)
        connection, (address, _) = listener.accept()
        assert address == PC
        assert client.state is SocketState.CONNECTED
        client.send(request)
        assert connection.recv(100) == request
        assert connection.send(b"200 OK") == 6
        time.sleep(0.01)
        assert client.receive() == b"200 OK"
        connection.close()
        time.sleep(0.01)
        assert client.state is SocketState.PEER_CLOSED
        client.close()
    assert found(testbed) == PROBE


def test_send_takes_no_more_than_the_buffer_and_says_so(testbed, pool):
    sink = testbed.pc.serve("tcp-sink", port=9)
    socket = socket_of(pool)
    socket.connect((PC, 9))
    assert socket.send(bytes(5000)) == 2048
    time.sleep(0.1)
    assert sink.count("bytes") == 2048


# UDP ---------------------------------------------------------------------------------------------------------------


def test_udp_both_ways(testbed, pool):
    port = testbed.pc.open_udp(5000)
    socket = socket_of(pool, pool.SOCK_DGRAM)
    socket.bind((BOARD, 6000))
    assert socket.sendto(b"question", (PC, 5000)) == 8
    datagram = port.receive()
    assert (datagram.data, datagram.ip, datagram.port) == (b"question", BOARD, 6000)
    port.send_to(BOARD, 6000, DATA[:1400])
    assert socket.recvfrom(1472) == (DATA[:1400], (PC, 5000))
    socket.close()
    assert found(testbed) == (
        *PROBE,
        ("illegal-command", "S1 Sn_CR = 0x02 while Sn_SR = 0x22", 1),  # bind() gives LISTEN to a UDP socket
        ("open-on-open-socket", "S1 Sn_CR = 0x01 while Sn_SR = 0x22", 1),  # and sendto() opens it anew
        connect_on_udp(1, 1),
    )


# 64 KiB ------------------------------------------------------------------------------------------------------------


def test_64_kib_echo(testbed, pool, record_property):
    echo = testbed.pc.serve("tcp-echo", port=7)
    socket = socket_of(pool)
    socket.connect((PC, 7))
    started_s, started = testbed.now, time.perf_counter()
    received = bytearray()
    sent = 0
    while len(received) < len(DATA):
        sent += socket.send(DATA[sent : sent + 2 * KIB])
        while len(received) < sent:
            received += socket.recv(2 * KIB)
    wall_s = time.perf_counter() - started
    record_property("echo_wall_ms", round(1000 * wall_s, 1))
    print(f"64 KiB echo: {testbed.now - started_s:.3f} s of virtual time in {1000 * wall_s:.1f} ms")
    assert received == DATA
    assert echo.count("bytes") == len(DATA)
    assert wall_s < 2
    assert found(testbed) == PROBE


def test_64_kib_each_way_alone(testbed, pool):
    testbed.pc.serve("tcp-source", port=19, bytes=64 * KIB)
    socket = socket_of(pool)
    socket.connect((PC, 19))
    received = b""
    while chunk := socket.recv(2 * KIB):
        received += chunk
    assert received == bytes(range(256)) * 256
    socket.close()

    server = testbed.pc.listen(9)
    socket = socket_of(pool)
    socket.connect((PC, 9))
    arrived = b""
    sent = 0
    while sent < len(DATA):
        sent += socket.send(DATA[sent : sent + 2 * KIB])
        arrived += server.receive()
    time.sleep(0.1)
    assert arrived + server.receive() == DATA
    assert found(testbed) == PROBE


def test_64_kib_echo_on_a_cable_that_loses_frames():
    with Testbed(settings={"fault.link_loss": "ppm=20000"}) as testbed, CircuitPython(testbed, call_us=100) as machine:
        testbed.pc.serve("tcp-echo", port=7)
        socket = SocketPool(with_address(machine)).socket()
        socket.settimeout(30)
        socket.connect((PC, 7))
        received = bytearray()
        while len(received) < len(DATA):
            sent = socket.send(DATA[len(received) : len(received) + 2 * KIB])
            until = len(received) + sent
            while len(received) < until:
                received += socket.recv(until - len(received))
        assert received == DATA
        assert found(testbed) == PROBE


def test_two_runs_are_the_same_to_the_picosecond(tmp_path):
    def run():
        with Testbed(board="w55rp20", seed=5) as testbed, CircuitPython(testbed) as machine:
            testbed.pc.serve("dhcp")
            testbed.pc.serve("tcp-echo", port=7)
            socket = socket_of(SocketPool(WIZNET5K(machine.spi, machine.cs, machine.reset)))
            socket.connect((PC, 7))
            socket.send(DATA[:2048])
            assert socket.recv(2048) == DATA[:2048]
            return testbed.now_ps, testbed.counter("fingerprint")

    assert run() == run()


# Link loss, and hangs ----------------------------------------------------------------------------------------------


def test_link_loss_is_an_error_and_the_connection_outlives_a_short_one(testbed, ethernet, pool):
    testbed.pc.serve("tcp-echo", port=7)
    socket = socket_of(pool)
    socket.connect((PC, 7))
    testbed.set_link(False)
    time.sleep(0.1)
    assert not ethernet.link_status
    with pytest.raises(ConnectionError, match="The Ethernet connection is down"):
        socket.send(b"lost")
    with pytest.raises(ConnectionError, match="The Ethernet connection is down"):
        socket_of(pool).connect((PC, 7))
    testbed.set_link(True)
    time.sleep(1)
    assert not ethernet.link_status, "auto-negotiation takes 2 s"
    time.sleep(2)
    assert ethernet.link_status
    assert socket.send(b"back") == 4
    assert socket.recv(4) == b"back"
    assert found(testbed) == PROBE


@pytest.fixture
def impatient():
    """A testbed on which polling for 0.3 s is a hang."""
    with Testbed(poll_limit_s=0.3) as testbed:
        yield testbed


def test_accept_without_a_timeout_hangs_by_name_if_nobody_comes(impatient):
    with CircuitPython(impatient) as machine:
        listener = SocketPool(with_address(machine)).socket()
        listener.bind((BOARD, 80))
        listener.listen()
        with pytest.raises(FirmwareHangs, match=r"it has read S\d Sn_\w+ = 0x\w+ for 0.3"):
            listener.accept()
    assert impatient.failing[-1] == "endless-poll"


def test_leaving_the_with_of_a_listener_hangs_by_name(impatient):
    """A bug of the driver: it waits for DISCON or TIMEOUT, and a socket that listens gets neither."""
    with CircuitPython(impatient) as machine:
        pool = SocketPool(with_address(machine))
        with pytest.raises(FirmwareHangs, match="it has read S1 Sn_IR = 0x00 for 0.3"), pool.socket() as listener:
            listener.bind((BOARD, 80))
            listener.listen()
    assert impatient.failing[-1] == "endless-poll"
