"""Addresses of devices under test, and the agent's lines."""

import pytest
from wizloop.dut import protocol
from wizloop.dut.address import ANY_TAGS, LabgridAddress, ModelAddress, SerialAddress, TcpAddress, is_pool, parse_address
from wizloop.dut.protocol import Answer, Event, Log, parse
from wizloop.errors import WizloopError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("model:w55rp20", ModelAddress("w55rp20")),
        ("serial:/dev/ttyUSB0", SerialAddress("/dev/ttyUSB0", 115200)),
        ("serial:/dev/ttyUSB0@1000000", SerialAddress("/dev/ttyUSB0", 1000000)),
        ("serial:usb:A5069RR4@9600", SerialAddress("usb:A5069RR4", 9600)),
        ("tcp:rack:7000", TcpAddress("rack", 7000)),
        ("tcp:[::1]:7000", TcpAddress("::1", 7000)),
        ("labgrid:b1", LabgridAddress("b1")),
        ("labgrid:any", LabgridAddress("", ANY_TAGS)),
        ("labgrid:profile=w55rp20,room=7", LabgridAddress("", (("profile", "w55rp20"), ("room", "7")))),
    ],
)
def test_an_address_is_read_and_written_back(text, address):
    assert parse_address(text) == address
    assert parse_address(str(address)) == address
    assert is_pool(text) is (isinstance(address, LabgridAddress) and not address.place)


@pytest.mark.parametrize(
    ("text", "exit_code", "said"),
    [
        ("w55rp20", 2, "expected model:BOARD"),
        ("model:", 2, "expected model:BOARD"),
        ("serial:/dev/ttyUSB0@fast", 2, "the baud rate is 'fast'"),
        ("serial:@9600", 2, "names no port"),
        ("tcp:7000", 2, "expected tcp:HOST:PORT"),
        ("tcp:rack:70000", 2, "from 1 to 65535"),
        ("usb:0", 2, "unknown kind 'usb'"),
        ("labgrid:Color=red", 2, "a tag is named with"),
        ("labgrid:color=", 2, "a tag is named with"),
    ],
)
def test_what_is_no_address_is_told_what_was_expected(text, exit_code, said):
    with pytest.raises(WizloopError, match=said) as error:
        parse_address(text)
    assert error.value.exit_code == exit_code


def test_a_request_carries_the_checksum_of_the_protocol():
    assert protocol.crc16(b"123456789") == 0x29B1
    line = protocol.request(7, "net", {"ip": "10.0.0.1"}).decode()
    body, _, crc = line.rstrip("\n").rpartition(" *")
    assert body == "#7 net ip=10.0.0.1"
    assert int(crc, 16) == protocol.crc16(body.encode())


def test_lines_are_answers_events_or_log():
    answer = parse(protocol.with_crc("#12 ok bytes=100 closed=ok"))
    assert isinstance(answer, Answer)
    assert (answer.sequence, answer.ok, answer.intact, answer.number("bytes")) == (12, True, True, 100)
    failed = parse("#3 err timeout bytes=5")
    assert isinstance(failed, Answer)
    assert (failed.code, failed.ok, failed["bytes"]) == ("timeout", False, "5")
    assert parse("! conn seq=4 in=7", at_s=1.5) == Event("conn", {"seq": "4", "in": "7"}, 1.5)
    for log in ("W5500 rev 3", "#x ok", "#1 perhaps", "!hello", "#12 ok bytes=100 *0000", "#5 err"):
        assert parse(log) == Log(log)


def test_bytes_become_lines_however_they_are_cut():
    text = b"one\r\ntwo\n\n\rthree\r\nfour"
    for size in range(1, len(text)):
        splitter = protocol.Splitter()
        lines = [line for start in range(0, len(text), size) for line in splitter.feed(text[start : start + size])]
        assert lines == ["one", "two", "three"]
        assert splitter.partial == "four"


def test_noise_shows_and_a_line_without_an_end_does_not_grow_for_ever():
    splitter = protocol.Splitter()
    assert splitter.feed(b"\xff\x00A\n") == ["\\xff\x00A"]
    assert len(splitter.feed(b"x" * 70_000)) == 1
    assert splitter.partial == ""
