"""The board of `model:BOARD`: the agent in virtual time, with its power, its cable and its PC."""

import pytest
from wizloop.chip import SocketState
from wizloop.dut.address import parse_address
from wizloop.dut.agent import NoAnswer, Restarted, VerbFailed
from wizloop.dut.device import open_device
from wizloop.dut.line import LineLost
from wizloop.dut.model import ModelPc
from wizloop.errors import NothingMeasured, UsageError

pytestmark = pytest.mark.simulator


@pytest.fixture
def dut(simulator):
    with open_device(parse_address("model:w55rp20")) as device:
        yield device


@pytest.fixture
def pc(dut):
    return ModelPc(dut.line.raw)


def test_it_says_who_it_is_and_what_it_can_do(dut):
    assert dut.board == "w55rp20"
    assert dut.paths == ("byte", "burst", "dma")
    assert dut.why_not(frozenset({"dma", "power", "link_flap", "chip", "lan"})) == ""


def test_time_is_virtual_and_passes_only_when_asked_to(dut):
    before = dut.now()
    assert dut.now() == before
    dut.run(3600)
    assert dut.now() == pytest.approx(before + 3600)


def test_both_ends_count_the_same(dut, pc):
    service = pc.serve("tcp-sink", port=5001)
    dut.wait_for_link()
    answer = dut.ask("tcp-send", ip="192.168.1.10", port=5001, bytes=100_000)
    assert answer.number("bytes") == 100_000
    assert pc.counts(service)["bytes"] == 100_000
    assert pc.counts(service)["mismatches"] == 0


def test_equal_calls_give_equal_runs(simulator):
    fingerprints = []
    for _ in range(2):
        with open_device(parse_address("model:w55rp20")) as dut:
            ModelPc(dut.line.raw).serve("tcp-source", port=5001, bytes=20_000)
            dut.wait_for_link()
            dut.ask("tcp-recv", ip="192.168.1.10", port=5001)
            fingerprints.append((dut.chip.fingerprint, dut.now()))
    assert fingerprints[0] == fingerprints[1]


def test_a_pulled_cable_takes_the_link_away_and_gives_it_back(dut):
    assert dut.wait_for_link()["up"] == "1"
    dut.unplug()
    dut.run(1)
    assert dut.ask("link")["up"] == "0"
    dut.replug()
    assert dut.wait_for_link()["up"] == "1"


def test_the_cable_can_be_pulled_while_a_verb_runs(dut, pc):
    pc.serve("tcp-sink", port=5001)
    dut.wait_for_link()
    transfer = dut.start("tcp-send", ip="192.168.1.10", port=5001, bytes=100 << 20, within=4)
    dut.run(0.5)
    assert not transfer.done()
    dut.unplug()
    answer = transfer.outcome()
    assert answer.code in ("timeout", "peer-timeout")
    assert 0 < answer.number("bytes") < 100 << 20


@pytest.mark.parametrize("how", ["cycle_power", "press_reset"])
def test_a_board_that_starts_anew_greets_and_has_forgotten_what_it_did(dut, pc, how):
    pc.serve("tcp-sink", port=5001)
    dut.ask("net", ip="192.168.1.77")
    dut.wait_for_link()
    transfer = dut.start("tcp-send", ip="192.168.1.10", port=5001, bytes=100 << 20)
    dut.run(0.1)
    assert getattr(dut, how)()["board"] == "w55rp20"
    with pytest.raises(Restarted):
        transfer.finish()
    assert dut.ask("net")["ip"] == "192.168.1.20"


def test_a_long_verb_is_cancelled(dut, pc):
    listening = pc.listen(5001)
    dut.wait_for_link()
    transfer = dut.start("tcp-recv", ip="192.168.1.10", port=5001)
    dut.run(0.2)
    assert listening.state == SocketState.CONNECTED
    assert transfer.cancel().code == "cancelled"
    assert dut.ask("hello")["chip"] == "W5500"


def test_sockets_of_the_pc_talk_to_the_board(dut, pc):
    dut.wait_for_link()
    server = dut.start("tcp-echo", port=7)
    dut.run(0.01)
    connection = pc.connect("192.168.1.20", 7)
    dut.run(0.05)
    assert connection.send(b"over the wire") == 13
    dut.run(0.05)
    assert connection.receive() == b"over the wire"
    connection.close()
    assert server.finish().number("bytes") == 13


def test_datagrams_of_the_pc_reach_the_board(dut, pc):
    dut.wait_for_link()
    port = pc.open_udp(6000)
    server = dut.start("udp-echo", port=7, count=1)
    dut.run(0.01)
    assert port.send_to("192.168.1.20", 7, b"ping")
    server.finish()
    dut.run(0.01)
    datagram = port.receive()
    assert (datagram.data, datagram.ip, datagram.port) == (b"ping", "192.168.1.20", 7)
    assert port.receive() is None


def test_the_chip_shows_what_no_board_does(dut):
    assert dut.chip.peek(0, 0x39) == b"\x04"
    assert dut.chip.failing == ()
    assert dut.chip.counters["spi_bytes"] > 0
    dut.ask("spi", tx="000F040A")  # a short write of SIPR is no fault of the firmware's
    assert all(finding.rule for finding in dut.chip.findings)


def test_findings_of_the_firmware_show(simulator):
    with open_device(parse_address("model:w55rp20"), settings={"board.sclk_hz": 62_500_000}) as dut:
        assert dut.chip.failing == ("sclk-above-rating",)


def test_a_damaged_request_is_repeated(simulator):
    with open_device(parse_address("model:w55rp20")) as dut:
        dut.line.raw.type(b"\xff\x80")  # noise before what is asked
        assert dut.ask("path", p="byte")["p"] == "byte"
        assert dut.agent.repeated == 1


def test_silence_ends_at_the_deadline(dut):
    dut.line.raw.plug(False)
    request = dut.agent._start("link", {"wait_ms": 60000}, dut.now() + 1, None)
    with pytest.raises(NoAnswer, match="no answer to 'link wait_ms=60000'"):
        request.finish()


def test_wrong_boards_settings_and_services_are_told(simulator, dut, pc):
    with pytest.raises(NothingMeasured, match="unknown board 'w55rp2'"):
        open_device(parse_address("model:w55rp2"))
    with pytest.raises(UsageError, match="fault"):
        open_device(parse_address("model:w55rp20"), settings={"fault.nothing": "nth=1"})
    with pytest.raises(UsageError, match='unknown service "gopher"'):
        pc.serve("gopher")
    with pytest.raises(VerbFailed, match="bad-value port"):
        dut.ask("tcp-send", port=0)
    with pytest.raises(ValueError, match="no such connection"):
        dut.line.raw.pc_state(5)


def test_a_closed_line_is_lost(simulator, tmp_path):
    dut = open_device(parse_address("model:w55rp20"), pcap=tmp_path / "x.pcapng", raw_log=tmp_path / "raw")
    dut.close()
    dut.close()
    assert (tmp_path / "x.pcapng").stat().st_size > 0
    assert b"! hello agent=1" in (tmp_path / "raw").read_bytes()
    with pytest.raises(LineLost, match="is closed"):
        dut.ask("hello")
