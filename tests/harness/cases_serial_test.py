"""The public cases of kind h, harness and serial layer, by their ids; and that no id of kinds c and h is missing."""

import errno
import fcntl
import functools
import os
import re
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import cases_figures_test
import pytest
import serial
from bounded import read_line
from conftest import REPOSITORY
from fake_board import FakeBoard
from wizloop.dut import agent as agents
from wizloop.dut import locks, recovery, serial_line
from wizloop.dut.address import SerialAddress
from wizloop.dut.agent import Agent, NoAnswer
from wizloop.dut.device import Surroundings, open_device
from wizloop.dut.host import Host
from wizloop.dut.line import LineLost
from wizloop.dut.locks import PortBusy
from wizloop.dut.serial_line import SerialLine, SerialOptions

SOON = 0.04  # of real time, where a test has to see a deadline pass
FREED_S = 5.0


@pytest.fixture
def host():
    made = Host()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def lock_folder(tmp_path, monkeypatch):
    folder = tmp_path / "locks"
    folder.mkdir()
    monkeypatch.setenv(locks.VARIABLE, str(folder))
    return folder


@pytest.fixture
def board(host):
    made = FakeBoard(host)
    yield made
    os.close(made.master)


@pytest.fixture
def agent(host, board):
    with SerialLine(SerialAddress(board.device), host) as line:
        yield Agent(line)


class Button:
    def __init__(self, board, after_s):
        self.board, self.after_s = board, after_s

    def press(self):
        def boot():
            self.board.say(b"boot 1\r\n! hello agent=1 board=fake chip=W5500 caps=full,byte\r\n")

        if self.after_s:
            threading.Timer(self.after_s, boot).start()
        else:
            boot()


@pytest.mark.parametrize(("runs", "after_s"), [(190, 0.0), (10, 0.005)])
def test_B73_first_lines_after_boot_are_missed(host, board, runs, after_s):
    around = Surroundings(button=Button(board, after_s))
    with open_device(SerialAddress(board.device), host, surroundings=around, greeted=False) as device:
        for _ in range(runs):
            device.agent.forget()
            device.press_reset()
            assert list(device.agent.log) == ["boot 1"]


def test_B74_junk_bytes_kill_the_reader_without_a_word(agent, board):
    board.say(b"\xff\x94\xfe\r\nPASS\n")
    agent.run(SOON)
    assert list(agent.log) == ["\\xff\\x94\\xfe", "PASS"]
    assert agent.line.log.received == b"\xff\x94\xfe\r\nPASS\n"
    assert "\\xff\\x94\\xfe" in agent.line.log.text()


def test_B74_a_dead_reader_fails_the_test_at_once_with_its_own_error(agent, board, monkeypatch):
    def broken(data):
        raise RuntimeError("the reader is broken")

    monkeypatch.setattr(agent._splitter, "feed", broken)
    before = time.monotonic()
    with pytest.raises(RuntimeError, match="the reader is broken"):
        agent.ask("hello")
    assert time.monotonic() - before < 1


def test_B75_half_a_line_returned_as_a_line(agent, board):
    board.say(b"rx=12")
    agent.run(1.5 * SOON)
    assert list(agent.log) == []
    board.say(b"34\n")
    agent.run(SOON)
    assert list(agent.log) == ["rx=1234"]
    board.answers = lambda *_: b"rx=56"
    with pytest.raises(NoAnswer, match="the last line is not whole: 'rx=56'"):
        agent.ask("reset", within=SOON)


def test_B76_timeout_restarts_with_each_byte(agent, board):
    deadline, stop = 0.2, threading.Event()

    def trickle():
        while not stop.wait(0.01):
            board.say(b"x")

    thread = threading.Thread(target=trickle)
    thread.start()
    before = time.monotonic()
    try:
        with pytest.raises(NoAnswer, match="not whole: 'xx+'"):
            agent.ask("reset", within=deadline)
        assert deadline <= time.monotonic() - before < deadline + 0.2
    finally:
        stop.set()
        thread.join()


HOLDS = """
import fcntl, os, sys, termios
port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
if sys.argv[2] == "flock":
    fcntl.flock(port, fcntl.LOCK_EX)
if sys.argv[2] == "exclusive":
    fcntl.ioctl(port, termios.TIOCEXCL)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["flock", "exclusive", "neither"])
def test_B77_two_readers_share_one_port(host, board, lock_folder, how):
    words = [sys.executable, "-c", HOLDS, board.device, how]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as other:
        try:
            assert read_line(other) == "ready\n"
            if how == "neither":  # who takes no lock cannot be told from who only looks; from now on it is ours
                with SerialLine(SerialAddress(board.device), host) as line:
                    assert list(lock_folder.iterdir()) == [lock_folder / locks.lock_name(line._port.device)]
                    with open(board.device, "rb", buffering=0) as second, pytest.raises(BlockingIOError):
                        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                said = rf"{board.device} is in use by process {other.pid} \({re.escape(sys.executable)} -c"
                with pytest.raises(PortBusy, match=said):
                    SerialLine(SerialAddress(board.device), host)
        finally:
            other.kill()


def test_B78_device_unplugged_or_renumbered(host, monkeypatch):
    board = FakeBoard(host)

    def ports():
        return [SimpleNamespace(device=board.device, serial_number="A5069RR4", location="1-1")] if board.there else []

    board.there = True
    monkeypatch.setattr(serial_line.list_ports, "comports", ports)
    with SerialLine(SerialAddress("usb:A5069RR4"), host, back_within_s=10) as line:
        agent, before = Agent(line), board.device
        board.say(b"so far\n")
        agent.run(SOON)
        other = FakeBoard(host)  # takes the next name
        files = len(os.listdir("/proc/self/fd"))
        board.drop()
        board.device, board.master = other.device, other.master
        with pytest.raises(LineLost, match="went away.*and is back"):
            agent.ask("reset", within=1)
        assert before != board.device == str(line._port.device)
        assert len(os.listdir("/proc/self/fd")) == files - 1  # the old handle is closed
        assert agent.ask("hello")["board"] == "fake"
        assert re.search(r"so far\n\n-- serial:usb:A5069RR4@115200 went away.* for 0\.\d s --\n", line.log.text())
    os.close(other.master)


def test_B78_a_board_that_stays_away_is_lost_in_time(host):
    board = FakeBoard(host)
    with SerialLine(SerialAddress(board.device), host, back_within_s=SOON) as line:
        board.drop()
        with pytest.raises(LineLost, match="not back within 0.04 s"):
            line.receive(host.now() + 1)
        assert "not back within" in line.log.text()


def test_B79_opening_the_port_resets_the_board(host, board, monkeypatch):
    levels = []

    class Watched(serial.Serial):
        def _update_dtr_state(self):
            levels.append(self._dtr_state)
            raise OSError(errno.ENOTTY, "a pseudo-terminal has no DTR")

    monkeypatch.setattr(serial_line.serial, "Serial", Watched)
    for _ in range(50):
        SerialLine(SerialAddress(board.device), host, SerialOptions(dtr=False)).close()
    assert levels == [False] * 50  # at open() itself, and never another level


def test_B79_closing_leaves_the_levels_alone(host, board):
    with SerialLine(SerialAddress(board.device), host) as line:
        assert not termios.tcgetattr(line._port.serial.fileno())[2] & termios.HUPCL


def test_B80_literal_text_is_no_pattern(agent, board):
    board.say(b"! abc n=1\n[ATSS] AT+CFUN\n")
    with pytest.raises(NoAnswer, match="no event 'a.c'"):
        agent.wait_for_event("a.c", within=SOON)
    assert agent.wait_for_event("abc", within=SOON)["n"] == "1"
    assert list(agent.log) == ["[ATSS] AT+CFUN"]


def test_B80_what_a_helper_has_read_can_be_searched_again(agent, board):
    board.answers = lambda *_: b"boot 1\r\n#1 ok us=5\r\n#1 ok us=5 *%04X\r\n" % agents.protocol.crc16(b"#1 ok us=5")
    agent.outcome("reset", within=SOON)
    assert "boot 1" in agent.log
    assert b"boot 1" in agent.line.log.received


def test_B80_the_timeout_of_a_call_wins(agent):
    now = agent.line.now()
    assert agent.start("tcp-recv", port=5, within=3600).deadline - now > 3600
    assert agent.start("tcp-recv", port=5, within=1).deadline - now < 10


def test_B80_a_prompt_behind_a_backlog_is_found(agent, board):
    answer = agents.protocol.with_crc("#1 ok us=5").encode() + b"\r\n"
    backlog = threading.Thread(target=lambda: board.say(b"noise of the kernel, line by line\r\n" * 1600 + answer))
    board.answers = lambda *_: backlog.start()  # and no word of its own: this thread is the one that has to read
    assert agent.ask("reset", within=5)["us"] == "5"
    backlog.join()
    assert len(agent.line.log.received) > 51_000


def test_B80_a_hung_case_does_not_poison_the_next(host, board, monkeypatch):
    """The board answers nothing until it is reset; its port stays open all the while, and the next test finds it well."""
    state = {"hangs": True}

    class Press:
        def press(self):
            state["hangs"] = False
            board.say(b"! hello agent=1 board=fake chip=W5500 caps=full,byte\r\n")

    def answers(_, request):
        if state["hangs"]:
            return b"\r\n"
        return {"net": "ok ip=10.0.0.1", "path p=byte intn=0": "ok p=byte"}.get(request, "ok phycfgr=00 up=1")

    def hello(number, request):
        return None if request == "hello" and not state["hangs"] else answers(number, request)

    board.answers = hello
    around = Surroundings(button=Press())
    fast = {"scale": 0.01, "greeted": False, "surroundings": around}
    with open_device(SerialAddress(board.device), host, **fast) as device:
        monkeypatch.setattr(device.agent, "resync", functools.partial(device.agent.resync, SOON))
        with pytest.raises(NoAnswer):
            device.ask("reset", within=1)
        assert recovery.make_ready(device)[-1] == "reset button"
        assert recovery.make_ready(device) == ("resync",)


TAKES = """
import sys
from wizloop.dut.address import SerialAddress
from wizloop.dut.host import Host
from wizloop.dut.serial_line import SerialLine
line = SerialLine(SerialAddress(sys.argv[1]), Host())
print("ready", flush=True)
sys.stdin.read()
"""


def test_B80_two_workers_never_hold_one_board_and_a_killed_one_frees_it(host, board, lock_folder):
    with subprocess.Popen([sys.executable, "-c", TAKES, board.device], stdin=-1, stdout=-1, text=True) as other:
        try:
            assert read_line(other) == "ready\n"
            with pytest.raises(PortBusy, match=f"in use by process {other.pid} "):
                SerialLine(SerialAddress(board.device), host)
            (lock,) = lock_folder.iterdir()
            assert int(lock.read_text()) == other.pid
        finally:
            other.kill()
    killed = time.monotonic()
    SerialLine(SerialAddress(board.device), host).close()
    assert time.monotonic() - killed < FREED_S
    assert list(lock_folder.iterdir()) == []


def test_B80_a_mute_port_does_not_hang_who_connects(host, board, monkeypatch):
    monkeypatch.setattr(agents, "SHORT_S", SOON)
    board.answers = lambda *_: b"\r\n"
    before = time.monotonic()
    with pytest.raises(NoAnswer, match="no answer to 'hello'"):
        Agent(SerialLine(SerialAddress(board.device), host)).resync(within=SOON)
    assert time.monotonic() - before < 5


# --- none is missing

TABLE = REPOSITORY / "tests" / "cases" / "README.md"
MODULES = {"c": cases_figures_test, "h": sys.modules[__name__]}


def names_in(module):
    return {name for name in vars(module) if name.startswith("test_B")}


def test_each_case_of_kinds_c_and_h_has_its_tests_and_the_table_names_them():
    rows = {}
    for line in TABLE.read_text().splitlines():
        if found := re.fullmatch(r"\| (B\d\d) \| ([ch]) \| (.*) \|", line):
            rows[found[1]] = found[2], set(re.findall(r"`(test_B\w+)`", found[3]))
    assert sorted(rows) == [f"B{number}" for number in [*range(59, 65), *range(73, 81)]]
    for kind, module in MODULES.items():
        named = {name for of, names in rows.values() if of == kind for name in names}
        assert named == names_in(module), Path(module.__file__).name
    for case, (_, names) in rows.items():
        assert names and all(name.startswith(f"test_{case}_") for name in names), case
