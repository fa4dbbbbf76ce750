"""Boards on serial ports, played by pseudo-terminals, and what goes wrong on such lines."""

import fcntl
import os
import subprocess
import sys

import pytest
from fake_board import FakeBoard
from wizloop.dut import locks, protocol
from wizloop.dut.address import SerialAddress
from wizloop.dut.agent import Agent, NoAnswer, Restarted, VerbFailed
from wizloop.dut.host import Host
from wizloop.dut.line import LineLost, RawLog
from wizloop.dut.locks import PortBusy
from wizloop.dut.serial_line import NoSuchPort, SerialLine, device_of
from wizloop.errors import InfrastructureError, UsageError

CRC = protocol.crc16(b"#1 ok us=5")
SOON = 0.04  # of real time, where a test has to see a deadline pass


@pytest.fixture
def host():
    made = Host()
    yield made
    made.close()


@pytest.fixture
def lock_folder(tmp_path, monkeypatch):
    folder = tmp_path / "locks"
    folder.mkdir()
    monkeypatch.setenv(locks.VARIABLE, str(folder))
    return folder


@pytest.fixture
def board(host, lock_folder):
    made = FakeBoard(host)
    yield made
    os.close(made.master)


@pytest.fixture
def agent(host, board):
    with SerialLine(SerialAddress(board.device), host) as line:
        yield Agent(line)


def open_files():
    return len(os.listdir("/proc/self/fd"))


def test_a_board_is_asked_over_a_serial_line(agent, board):
    board.answers = lambda _, request: "ok up=1" if request == "link mode=auto" else None
    assert agent.resync()["board"] == "fake"
    assert agent.ask("link", mode="auto", within=None)["up"] == "1"


def test_bytes_are_kept_as_they_were_and_in_a_file(host, board, tmp_path):
    file = tmp_path / "raw"
    with SerialLine(SerialAddress(board.device), host, log=RawLog(file)) as line:
        board.say(b"boot\xff\x00\r\n")
        Agent(line).ask("hello")
        assert line.log.received.startswith(b"boot\xff\x00\r\n#1 ok")
    assert file.read_bytes() == line.log.received


def test_log_lines_and_events_do_not_disturb_an_answer(agent, board):
    board.answers = lambda *_: b"chip found\r\n! conn seq=1\r\n#99 ok late=1\r\n#1 err timeout bytes=3\r\n"
    assert agent.outcome("tcp-echo", within=1)["bytes"] == "3"
    assert [event.name for event in agent.events] == ["conn"]
    assert list(agent.log) == ["chip found", "#99 ok late=1"]


def test_an_err_is_the_boards_verdict(agent, board):
    board.answers = lambda *_: "err refused connect_us=300"
    with pytest.raises(VerbFailed, match="tcp-send port=1: err refused connect_us=300") as error:
        agent.ask("tcp-send", port=1, within=1)
    assert error.value.code == "refused"


def test_silence_ends_at_the_deadline_with_the_half_line_that_is_there(agent, board):
    board.answers = lambda *_: b"! progress seq=1 by"
    with pytest.raises(NoAnswer, match="no answer to 'reset'.*not whole: '! progress seq=1 by'"):
        agent.ask("reset", within=SOON)


def test_what_the_board_did_not_take_up_is_asked_again(agent, board):
    board.answers = lambda n, _: b"#0 err bad-byte\r\n" if n == 1 else "err crc" if n == 3 else "ok us=5"
    assert agent.ask("reset", within=1)["us"] == "5"
    assert agent.repeated == 2


def test_noise_before_a_request_does_not_make_it_be_done_twice(agent, board):
    """The complaint about the noise comes first, and is no answer to the request."""
    board.answers = lambda n, request: b"#0 err bad-byte\r\n#1 ok us=5 *%04X\r\n" % CRC if request == "reset" else None
    assert agent.ask("reset", within=1)["us"] == "5"
    assert sum("reset" in line for line in board.heard) == 1


def test_noise_before_a_long_request_does_not_make_it_be_done_twice(agent, board):
    def answers(n, request):
        if request.startswith("dhcp"):
            return b"#0 err bad-byte\r\n"
        return b"#2 err busy seq=1\r\n#1 err timeout us=7\r\n"

    board.answers = answers
    answer = agent.outcome("dhcp", within=1)
    assert (answer.code, answer["us"]) == ("timeout", "7")
    assert sum("dhcp" in line for line in board.heard) == 1


def test_a_lost_answer_is_asked_for_again_only_where_that_changes_nothing(agent, board):
    said = {"count": 0}

    def answers(_, request):
        said["count"] += 1
        return b"#1 ok da" if said["count"] == 1 else "ok data=04"

    board.answers = answers
    assert agent.ask("reg", block="common", offset=57, within=6 * SOON)["data"] == "04"
    said["count"] = 0
    board.answers = lambda *_: b"\xff"
    with pytest.raises(NoAnswer):
        agent.ask("reg", block="common", offset=1, data="00", within=SOON)
    assert sum("data=00" in line for line in board.heard) == 1


def test_an_answer_with_a_wrong_checksum_is_none(agent, board):
    answers = iter([b"#1 ok up=1 *0000\r\n", b"#2 ok up=1\r\n"])
    board.answers = lambda *_: next(answers, "ok up=0")
    assert agent.ask("link", within=1)["up"] == "0"
    assert agent.repeated == 2


def test_noise_before_an_answer_costs_a_try_and_no_more(agent, board):
    answers = iter([b"\xfe\xff#1 ok agent=1\r\n"])
    board.answers = lambda *_: next(answers, None)
    assert agent.ask("hello")["board"] == "fake"


def test_a_board_that_starts_anew_has_forgotten_the_request(agent, board):
    board.answers = lambda *_: b"! hello agent=1\r\n"
    with pytest.raises(Restarted):
        agent.ask("tcp-send", port=5, within=1)
    assert agent.wait_for_event("hello", within=0)["agent"] == "1"


def test_a_console_in_use_names_who_holds_it(agent, board):
    board.answers = lambda *_: b"#1 err busy holder=tcp:127.0.0.1:9\r\n"
    with pytest.raises(PortBusy, match=r"in use by tcp:127\.0\.0\.1:9"):
        agent.ask("reset")


def test_resync_ends_a_half_line_and_a_long_verb(agent, board):
    busy = iter(["err busy seq=9"])
    board.answers = lambda *_: next(busy, None)
    board.say(b"#7 ok byt")
    assert agent.resync()["board"] == "fake"
    sent = b"".join(passed.data for passed in agent.line.log if passed.sent)
    assert sent.startswith(b"\n\x03\n#1 hello")


def test_resync_asks_a_board_that_is_silent_until_its_own_deadline(agent, board, monkeypatch):
    monkeypatch.setattr("wizloop.dut.agent.HELLO_S", SOON)
    board.answers = lambda n, _: b"\n" if n < 8 else None  # as one that boots
    assert agent.resync(within=60)["board"] == "fake"
    with pytest.raises(NoAnswer):
        board.answers = lambda *_: b"\n"
        agent.resync(within=2 * SOON)


def test_a_look_that_waits_gets_all_of_its_time(agent, board, monkeypatch):
    monkeypatch.setattr("wizloop.dut.agent.CLOSING_S", 0.0)
    board.answers = lambda *_: b"\n"
    with pytest.raises(NoAnswer):
        agent.ask("link", wait_ms=10, within=SOON)
    assert len(board.heard) == 1


def test_a_second_program_is_told_who_has_the_port(agent, board, lock_folder):
    with pytest.raises(PortBusy, match=rf"in use by process {os.getpid()} .*LCK"):
        SerialLine(SerialAddress(board.device), agent.line._host)
    (only,) = lock_folder.iterdir()
    assert only.name == "LCK.." + board.device.removeprefix("/dev/").replace("/", "_")
    assert only.read_text() == f"{os.getpid():10}\n"


def test_a_port_that_is_locked_by_the_kernel_alone_is_busy_too(host, board, lock_folder):
    code = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 0o402), 2); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code, board.device], stdin=-1, stdout=-1, text=True) as other:
        other.stdout.readline()
        with pytest.raises(PortBusy, match=f"in use by process {other.pid} "):
            SerialLine(SerialAddress(board.device), host)
        other.stdin.close()
        other.wait(10)
    assert list(lock_folder.iterdir()) == []


def test_the_lock_of_a_dead_process_is_taken_over(host, board, lock_folder):
    with subprocess.Popen(["true"]) as dead:
        dead.wait(10)
    stale = lock_folder / locks.lock_name(device_of(board.device))
    stale.write_text(f"{dead.pid:10}\n")
    with SerialLine(SerialAddress(board.device), host):
        assert int(stale.read_text()) == os.getpid()
    assert not stale.exists()


def test_closing_leaves_no_handle_and_no_lock(host, board, lock_folder):
    before = open_files()
    line = SerialLine(SerialAddress(board.device), host)
    line.close()
    line.close()
    assert open_files() == before
    assert list(lock_folder.iterdir()) == []
    with pytest.raises(LineLost, match="is closed"):
        line.receive(host.now())
    handle = os.open(board.device, os.O_RDWR | os.O_NOCTTY)  # neither TIOCEXCL nor flock is left
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)


def test_a_port_that_cannot_be_opened_leaves_nothing(host, tmp_path, lock_folder):
    before = open_files()
    file = tmp_path / "no-tty"
    file.write_text("")
    with pytest.raises(InfrastructureError, match="cannot open"):
        SerialLine(SerialAddress(str(file)), host)
    assert open_files() == before
    assert list(lock_folder.iterdir()) == []


def test_a_dropped_port_is_opened_again_under_its_name(host, tmp_path, lock_folder):
    board = FakeBoard(host)
    link = tmp_path / "board"
    link.symlink_to(board.device)
    with SerialLine(SerialAddress(str(link)), host, back_within_s=2) as line:
        agent = Agent(line)
        board.drop()
        board.come_back(link)
        with pytest.raises(LineLost, match="went away.*and is back"):
            agent.ask("reset", within=1)
        assert agent.ask("hello")["board"] == "fake"
        assert line.drops == 1
    os.close(board.master)
    assert list(lock_folder.iterdir()) == []


def test_a_dropped_port_that_stays_away_is_lost_in_time(host, lock_folder):
    board = FakeBoard(host)
    with SerialLine(SerialAddress(board.device), host, back_within_s=SOON) as line:
        board.drop()
        with pytest.raises(LineLost, match="not back within"):
            line.receive(host.now() + 1)


def test_ports_that_are_not_there(host):
    with pytest.raises(NoSuchPort, match="no serial port /dev/nowhere"):
        device_of("/dev/nowhere")
    with pytest.raises(NoSuchPort, match="no serial port is usb:NOBODY"):
        device_of("usb:NOBODY")
    with pytest.raises(UsageError, match="expected a path, usb:SERIALNUMBER"):
        device_of("bluetooth:1")


def test_dtr_of_a_port_without_one_is_named(agent):
    with pytest.raises(InfrastructureError, match="has no DTR"):
        agent.line.pulse_dtr()
