"""Boards that hang are brought back by the mildest means, or go into quarantine; and what quarantine files say."""

import datetime
import os

import pytest
from fake_board import FakeBoard
from wizloop.dut import locks, quarantine, recovery
from wizloop.dut.address import SerialAddress
from wizloop.dut.device import Surroundings, open_device
from wizloop.dut.host import Host
from wizloop.dut.recovery import BoardLost
from wizloop.dut.stands import Stands
from wizloop.errors import UsageError

TODAY = datetime.date(2026, 11, 30)
WELL = {"reset": "ok us=1", "path p=burst intn=0": "ok p=burst", "net": "ok ip=10.0.0.1", "link": "ok up=1 phycfgr=00"}
SOON = 0.15  # until a hung board is given up


class HangingBoard(FakeBoard):
    """Says nothing until somebody presses the button or switches its power, if that helps at all."""

    def __init__(self, host, cure=None):
        super().__init__(host, lambda _, request: WELL.get(request.partition(" timeout_ms=")[0]))
        self.cure = cure
        self.hangs = True
        self.tried = []

    def _on_line(self, line):
        if not self.hangs:
            super()._on_line(line)

    def _try(self, what):
        self.tried.append(what)
        if what == self.cure:
            self.hangs = False
            self.say(b"! hello agent=1 board=fake chip=W5500 caps=full,byte,burst\r\n")

    def press(self):
        self._try("reset button")

    def cycle(self, off_s, pause):
        self._try("power cycle")

    def plug(self, plugged):
        pass


@pytest.fixture
def host(tmp_path, monkeypatch):
    folder = tmp_path / "locks"
    folder.mkdir()
    monkeypatch.setenv(locks.VARIABLE, str(folder))
    monkeypatch.setattr("wizloop.dut.agent.SHORT_S", SOON)
    monkeypatch.setattr("wizloop.dut.device.BOOT_S", SOON)
    monkeypatch.setattr("wizloop.dut.agent.Agent.resync.__defaults__", (SOON,))
    made = Host()
    yield made
    made.close()


def opened(board, host, **around):
    return open_device(SerialAddress(board.device), host, surroundings=Surroundings(**around), greeted=False)


def test_a_board_that_answers_is_only_put_in_step(host):
    board = HangingBoard(host)
    board.hangs = False
    with opened(board, host, button=board, power=board) as device:
        assert recovery.make_ready(device) == ("resync",)
        assert device.board == "fake"
    assert board.tried == []


@pytest.mark.parametrize("cure", ["reset button", "power cycle"])
def test_a_board_that_hangs_is_brought_back_by_the_mildest_means(host, cure):
    board = HangingBoard(host, cure)
    with opened(board, host, button=board, power=board, cable=board) as device:
        assert recovery.make_ready(device)[-1] == cure
        assert recovery.make_ready(device) == ("resync",)
    assert board.tried[-1] == cure
    assert board.tried.count(cure) == 1


def test_a_board_that_nothing_brings_back_is_lost_and_says_what_was_tried(host):
    board = HangingBoard(host)
    with opened(board, host, button=board, power=board) as device:
        with pytest.raises(BoardLost, match="(?s)is lost.*resync: .*DTR reset: .*reset button: .*power cycle: "):
            recovery.make_ready(device)
    assert board.tried == ["reset button", "power cycle"]


def test_a_board_that_somebody_else_talks_to_is_left_alone(host, tmp_path):
    board = HangingBoard(host)
    board.hangs = False
    board.answers = lambda *_: "err busy holder=tcp:127.0.0.1:9"
    with opened(board, host, button=board, power=board) as device:
        with pytest.raises(locks.PortBusy, match=r"in use by tcp:127\.0\.0\.1:9"):
            recovery.make_ready(device)
    assert board.tried == []
    file = tmp_path / "boards.toml"
    file.write_text(f'[[board]]\nname = "b1"\naddress = "serial:{board.device}"\nslowness = 1\n')
    stands = Stands(str(file), 1)
    stands._host = host
    with pytest.raises(locks.PortBusy):
        stands.lend("b1")
    assert not (tmp_path / "quarantine.toml").exists()
    board.answers = lambda _, request: WELL.get(request.partition(" timeout_ms=")[0])
    assert stands.lend("b1").recovered == ()  # the other has gone
    stands._open.popitem()[1].close()


def test_a_lost_board_goes_into_quarantine_and_is_not_tried_again(host, tmp_path):
    board = HangingBoard(host)
    file = tmp_path / "boards.toml"
    press = tmp_path / "pressed"
    file.write_text(
        f'[[board]]\nname = "b1"\naddress = "serial:{board.device}"\nslowness = 1\n'
        f'reset = {{ press = "echo >> {press}" }}\n'
    )
    stands = Stands(str(file), 1)
    stands._host = host
    for _ in range(2):
        with pytest.raises(BoardLost, match="b1 is lost"):
            stands.lend("b1")
    assert press.read_text() == "\n"
    (entry,) = quarantine.load(tmp_path / "quarantine.toml").entries
    assert (entry.board, entry.owner, entry.test) == ("b1", "wizloop", "")
    assert "reset button" in entry.reason
    stands._open.popitem()[1].close()
    assert os.listdir(tmp_path / "locks") == []


# Quarantine files.

FILE = """
[[quarantine]]
board = "b3"
owner = "ann"
reason = "RJ45 socket is worn out"
since = 2026-11-30

[[quarantine]]
board = "b1"
test = "*udp_test.py::test_a_burst*"
owner = "bob"
reason = "loses bytes above 30 MHz"
since = 2026-11-01
"""


def test_entries_hold_boards_and_tests(tmp_path):
    file = tmp_path / "quarantine.toml"
    assert quarantine.load(file).of("b3", "any") is None
    file.write_text(FILE)
    held = quarantine.load(file)
    assert str(held.of("b3", "any")) == "b3 is in quarantine since 2026-11-30 (ann): RJ45 socket is worn out"
    assert held.of("b1", "tests/dut/udp_test.py::test_a_burst_larger[b1]").owner == "bob"
    assert held.of("b1", "tests/dut/udp_test.py::test_a_rate_is_kept[b1]") is None
    assert held.of("b2", "tests/dut/udp_test.py::test_a_burst_larger[b2]") is None
    quarantine.add_board(file, "b2", "it\nhangs", TODAY)
    assert quarantine.load(file).of("b2", "any").reason == "it hangs"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[quarantine]]\nboard = 'b'\nreason = 'r'\nsince = 2026-01-01", "owner is missing"),
        ("[[quarantine]]\nboard = 'b'\nowner = 'o'\nsince = 2026-01-01", "reason is missing"),
        ("[[quarantine]]\nboard = 'b'\nowner = 'o'\nreason = 'r'", "since = None, expected a date"),
        ("[[quarantine]]\nowner = 'o'\nreason = 'r'\nsince = 2026-01-01", "expected a board, a test or both"),
        ("[[quarantine]]\nbored = 'b'", "expected board, test, owner"),
        ("[[quarantine]]\nboard = 1", "board = 1, expected text"),
        ("[[jail]]", "only \\[\\[quarantine\\]\\] tables"),
        ("[", "quarantine.toml: "),
    ],
)
def test_wrong_quarantine_files_are_told(tmp_path, text, said):
    file = tmp_path / "quarantine.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        quarantine.load(file)
