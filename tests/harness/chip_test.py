"""The chip as Python sees it: wizloop.chip over the compiled module."""

import threading

import pytest
from wizloop.chip import (
    COMMON,
    VERSIONR,
    Datagram,
    Finding,
    SocketState,
    Testbed,
    receive_buffer,
    socket_registers,
    transmit_buffer,
)
from wizloop.errors import FirmwareHangs, InfrastructureError, UsageError

pytestmark = [pytest.mark.simulator, pytest.mark.usefixtures("simulator")]

SIPR, SUBR, SHAR = 0x000F, 0x0005, 0x0009
SN_MR, SN_CR, SN_SR, SN_PORT = 0, 1, 3, 4
S0 = socket_registers(0)


@pytest.fixture
def testbed():
    with Testbed() as testbed:
        yield testbed


@pytest.fixture
def board(testbed):
    """With an address, and socket 0 listening on port 5000."""
    testbed.write(COMMON, SUBR, bytes([255, 255, 255, 0]))
    testbed.write(COMMON, SHAR, bytes([2, 0, 0, 0, 0, 1]))
    testbed.write(COMMON, SIPR, bytes([192, 168, 1, 20]))
    testbed.write(S0, SN_MR, b"\x01")
    testbed.write(S0, SN_PORT, (5000).to_bytes(2, "big"))
    for command in (b"\x01", b"\x02"):
        testbed.write(S0, SN_CR, command)
    return testbed


def test_registers_are_read_written_and_peeked(testbed):
    assert testbed.read(COMMON, VERSIONR, 1) == b"\x04"
    testbed.write(COMMON, SIPR, bytearray([10, 0, 0, 1]))
    before = testbed.now_ps
    assert testbed.peek(COMMON, SIPR, 4) == bytes([10, 0, 0, 1])
    assert testbed.now_ps == before


def test_any_split_of_a_frame_reads_the_same(testbed):
    miso = bytearray(1)
    testbed.set_scsn(False)
    testbed.spi_write(b"\x00\x39")
    testbed.spi_write(memoryview(b"\x00"))
    testbed.spi_read(miso)
    testbed.set_scsn(True)
    exchanged = bytearray(4)
    testbed.set_scsn(False)
    testbed.spi_exchange(b"\x00\x39\x00\x00", exchanged)
    testbed.set_scsn(True)
    assert (miso, exchanged[3:]) == (b"\x04", b"\x04")
    assert testbed.counter("spi_frames") == 2
    assert testbed.findings == ()


def test_settings_that_are_no_mapping_are_refused_by_type():
    with pytest.raises(TypeError, match="settings is a list, expected a mapping"):
        Testbed(settings=["chip.preset=strict"])


def test_time_passes_only_when_firmware_lets_it(testbed):
    assert testbed.now == 0
    testbed.advance(0.25)
    assert testbed.now_ps == 250_000_000_000
    testbed.spend(0.5)
    assert testbed.counter("cpu_ns") == 500_000_000
    assert testbed.now == 0.75


def test_the_board_prices_the_bytes():
    costs = {}
    for board in ("w55rp20", None):
        with Testbed(board=board) as testbed:
            testbed.read(COMMON, VERSIONR, 1)
            costs[board] = testbed.now_ps
            price = testbed.price("select_ns")
            assert (price is None) == (board is None)
    assert costs["w55rp20"] > costs[None] > 0


def test_intn_wakes_firmware_that_sleeps(board):
    board.write(COMMON, 0x0018, b"\x01")  # SIMR
    connection = board.pc.connect("192.168.1.20", 5000)
    assert board.intn
    assert board.wait_intn(timeout=1)
    assert not board.intn
    assert board.now < 0.01
    assert connection.state is not SocketState.LOST


def test_the_pc_talks_tcp(board):
    connection = board.pc.connect("192.168.1.20", 5000)
    assert connection.state is SocketState.WAITING
    board.advance(0.01)
    assert connection.state is SocketState.CONNECTED
    assert connection.send(b"hello") == 5
    board.advance(0.01)
    assert int.from_bytes(board.read(S0, 0x26, 2), "big") == 5  # Sn_RX_RSR
    assert connection.receive() == b""
    refused = board.pc.connect("192.168.1.20", 5001)
    board.advance(1)
    assert refused.state is SocketState.LOST
    connection.close()


def test_the_pc_talks_udp(board):
    port = board.pc.open_udp(7000)
    assert port.state is SocketState.CONNECTED
    assert port.receive() is None
    board.write(S0, SN_CR, b"\x10")  # CLOSE
    board.write(S0, SN_MR, b"\x02")
    board.write(S0, SN_CR, b"\x01")
    board.write(S0, 0x0C, bytes([192, 168, 1, 10]) + (7000).to_bytes(2, "big"))  # Sn_DIPR, Sn_DPORT
    board.write(transmit_buffer(0), 0, b"hello")
    board.write(S0, 0x24, b"\x00\x05")  # Sn_TX_WR
    board.write(S0, SN_CR, b"\x20")  # SEND
    board.advance(0.01)
    assert port.receive() == Datagram(b"hello", "192.168.1.20", 5000)
    assert port.send_to("192.168.1.20", 5000, b"world")
    board.advance(0.01)
    assert board.read(receive_buffer(0), 0, 13)[8:] == b"world"
    port.close()
    assert port.state is SocketState.CLOSED


def test_services_count_and_name_their_counters(testbed):
    echo = testbed.pc.serve("tcp-echo", port=7)
    assert echo.count("connections") == 0
    with pytest.raises(UsageError, match='no counter "byts", expected .*bytes'):
        echo.count("byts")


def test_findings_fail_until_somebody_announces_them(testbed):
    testbed.spi_write(b"\x00")
    (finding,) = testbed.findings
    assert isinstance(finding, Finding)
    assert (finding.rule, finding.count, finding.announced) == ("clocks-without-select", 1, None)
    assert finding.explained().cure
    assert testbed.failing == ("clocks-without-select",)
    testbed.announce("clocks-without-select", "a probe of the bus")
    assert testbed.findings[0].announced == "a probe of the bus"
    assert testbed.failing == ()
    assert "announced: a probe of the bus" in testbed.report()


def test_strict_fails_on_all_of_them():
    with Testbed(settings={"chip.preset": "strict", "finding.clocks-without-select": "known"}) as testbed:
        testbed.spi_write(b"\x00")
        assert testbed.failing == ("clocks-without-select",)


def test_firmware_that_polls_for_ever_hangs_by_name(testbed):
    with Testbed(poll_limit_s=0.01) as testbed, pytest.raises(FirmwareHangs, match="S0 Sn_SR = 0x00"):
        while True:
            try:
                testbed.read(S0, SN_SR, 1)
            except Exception:
                continue
    assert not issubclass(FirmwareHangs, Exception)


def test_what_was_found_can_be_read_after_a_hang():
    with Testbed(run_limit_s=1) as testbed:
        with pytest.raises(FirmwareHangs, match="has not ended after 1 s"):
            while True:
                testbed.advance(0.5)
        with pytest.raises(FirmwareHangs):
            testbed.advance(0.001)
        assert testbed.peek(COMMON, VERSIONR, 1) == b"\x04"
        assert testbed.report()


def test_a_pulled_cable_shows_in_phycfgr(testbed):
    assert testbed.read(COMMON, 0x002E, 1)[0] & 1
    testbed.set_link(False)
    testbed.advance(0.01)
    assert not testbed.read(COMMON, 0x002E, 1)[0] & 1
    assert testbed.next_event is None or testbed.next_event > 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"board": "no-such-board"}, "unknown board 'no-such-board'"),
        ({"board": "no/such.toml"}, "no board file"),
        ({"settings": {"chip.quirk.no_such": 1}}, "no_such"),
        ({"seed": -1}, "seed -1"),
        ({"poll_limit_s": -1}, "poll_limit_s is -1"),
    ],
)
def test_a_wrong_testbed_is_refused(wrong, message):
    with pytest.raises(UsageError, match=message):
        Testbed(**wrong)


def test_a_file_that_cannot_be_is_refused_and_a_full_disk_is_the_machines_fault(tmp_path):
    with pytest.raises(UsageError, match="missing/file.pcapng: cannot be written"):
        Testbed(pcap=tmp_path / "missing" / "file.pcapng")
    testbed = Testbed(trace="/dev/full")
    testbed.read(COMMON, VERSIONR, 1)
    with pytest.raises(InfrastructureError, match="/dev/full"):
        testbed.close()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda t: t.read(32, 0, 1), "block 32"),
        (lambda t: t.pc.connect("nowhere", 1), "'nowhere' is not an IPv4 address"),
        (lambda t: t.pc.connect("192.168.1.20", 70000), "port 70000"),
        (lambda t: t.pc.serve("fax"), "fax"),
        (lambda t: t.advance(-1), "seconds is -1"),
        (lambda t: t.announce("no-such-rule", "why"), "no-such-rule"),
        (lambda t: t.counter("no_such"), "no_such"),
        (lambda t: t.spi_clock(1_000_000, 4), "SPI mode 4"),
    ],
)
def test_wrong_calls_are_refused_by_name(testbed, wrong, message):
    with pytest.raises(UsageError, match=message):
        wrong(testbed)
    assert testbed.read(COMMON, VERSIONR, 1) == b"\x04"


def test_what_is_no_buffer_is_a_type_error(testbed):
    with pytest.raises(TypeError):
        testbed.spi_write(5)
    with pytest.raises(BufferError):
        testbed.spi_read(b"constant")
    with pytest.raises(ValueError, match="same length"):
        testbed.spi_exchange(b"12", bytearray(3))


def test_a_closed_testbed_says_so():
    testbed = Testbed()
    testbed.close()
    for call in (lambda: testbed.read(COMMON, VERSIONR, 1), testbed.close, lambda: testbed.findings):
        with pytest.raises(UsageError, match="the handle was destroyed"):
            call()


def test_two_testbeds_have_a_time_each_and_threads_take_turns():
    with Testbed() as one, Testbed() as other:
        one.advance(1)
        assert (one.now, other.now) == (1, 0)
        threads = [threading.Thread(target=lambda: [other.advance(0.001) for _ in range(100)]) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=10)
        assert other.now == pytest.approx(0.2)


def test_a_frame_of_two_threads_is_found(testbed):
    testbed.set_scsn(False)
    testbed.spi_write(b"\x00\x39")
    thread = threading.Thread(target=testbed.spi_write, args=(b"\x00\x00",))
    thread.start()
    thread.join(timeout=10)
    testbed.set_scsn(True)
    assert testbed.failing == ("frame-of-two-threads",)


def test_a_read_before_the_chip_is_up_is_found(testbed):
    testbed.set_rstn(False)
    testbed.advance(0.001)
    testbed.set_rstn(True)
    assert testbed.read(COMMON, VERSIONR, 1) != b"\x04"
    assert testbed.failing == ("access-before-pll-lock",)


def test_capture_and_trace_are_complete_when_it_is_closed(tmp_path):
    pcap, trace = tmp_path / "a.pcapng", tmp_path / "a.txt"
    with Testbed(pcap=pcap, trace=trace) as testbed:
        testbed.write(S0, SN_MR, b"\x02")
        testbed.write(S0, SN_CR, b"\x01")
    assert pcap.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    assert trace.read_text()
