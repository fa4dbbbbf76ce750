"""`wizloop board quarantine` and `release`."""

import datetime
import errno
import json
import os
from pathlib import Path

import pytest
from wizloop.dut import quarantine
from wizloop.errors import InfrastructureError

BOARDS = '[[board]]\nname = "b1"\naddress = "tcp:rack:7001"\n\n[[board]]\nname = "b2"\naddress = "tcp:rack:7002"\n'
FILE = """\
# kept by hand

[[quarantine]]
board = "b1"
owner = "ann"
reason = "RJ45 socket is worn out"
since = 2026-11-30

  [[quarantine]]   # on b1 it is the cable
test = "*::test_burst*"
owner = "bob"
reason = "loses bytes"
since = 2026-11-01
"""


@pytest.fixture
def board(wizloop, tmp_path):
    (tmp_path / "boards.toml").write_text(BOARDS)

    def call(verb, *words):
        return wizloop("board", verb, *words, "--inventory", tmp_path / "boards.toml")

    return call


def test_what_is_left_out_is_listed_with_owner_reason_and_date(board, tmp_path):
    file = tmp_path / quarantine.NAME
    assert board("quarantine")[1] == f"0 in quarantine, by {file}\n"
    file.write_text(FILE)
    code, said, _ = board("quarantine", "--json", tmp_path / "out.json")
    assert code == 0
    assert said.splitlines()[0] == "b1 is in quarantine since 2026-11-30 (ann): RJ45 socket is worn out"
    held = json.loads((tmp_path / "out.json").read_text())["quarantine"]
    assert held[1] == dict(board="", test="*::test_burst*", owner="bob", reason="loses bytes", since="2026-11-01")


def test_boards_and_tests_are_put_there(board, tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "eve")
    assert board("quarantine", "b2", "--reason", "it\nhangs")[0] == 0
    assert board("quarantine", "b1", "--test", "*::test_x*", "--reason", 'says "no"', "--owner", "ann")[0] == 0
    first, second = quarantine.load(tmp_path / quarantine.NAME).entries
    today = datetime.date.today()
    assert first == quarantine.Entry("b2", "", "eve", "it hangs", today)
    assert second == quarantine.Entry("b1", "*::test_x*", "ann", 'says "no"', today)


def test_a_reason_is_needed_and_a_board_that_there_is(board, tmp_path):
    code, _, err = board("quarantine", "b1")
    assert (code, "--reason is missing" in err) == (2, True)
    assert board("quarantine", "b3", "--reason", "x")[0] == 4
    assert not (tmp_path / quarantine.NAME).exists()


def test_a_release_takes_out_what_it_names_and_leaves_the_rest_as_it_was(board, tmp_path):
    file = tmp_path / quarantine.NAME
    file.write_text(FILE)
    code, said, _ = board("release", "b1", "--json", tmp_path / "out.json")
    assert code == 0
    held = {"board": "b1", "test": "", "owner": "ann", "reason": "RJ45 socket is worn out", "since": "2026-11-30"}
    assert json.loads((tmp_path / "out.json").read_text()) == {"file": str(file), "released": [held]}
    assert said == "b1 released; it was in quarantine since 2026-11-30 (ann): RJ45 socket is worn out\n"
    assert file.read_text() == "# kept by hand\n\n" + FILE[FILE.index("  [[quarantine]]") :]
    assert board("release", "--test", "*::test_burst*")[0] == 0
    assert quarantine.load(file).entries == ()


def test_what_is_not_there_cannot_be_released(board, tmp_path):
    assert board("release")[0] == 2
    code, _, err = board("release", "b1")
    assert (code, "nothing" in err) == (4, True)
    (tmp_path / quarantine.NAME).write_text(FILE)
    code, _, err = board("release", "b1", "--test", "*::test_burst*")  # which is there for any board
    assert code == 4
    assert "*::test_burst* is in quarantine" in err
    assert (tmp_path / quarantine.NAME).read_text() == FILE


def test_only_what_an_owner_put_there_is_released_for_it(tmp_path):
    file = tmp_path / quarantine.NAME
    file.write_text(FILE)
    quarantine.add_board(file, "b1", "lost", datetime.date(2026, 11, 30))
    (entry,) = quarantine.release(file, "b1", owner=quarantine.SELF)
    assert entry.reason == "lost"
    assert [entry.owner for entry in quarantine.load(file).entries] == ["ann", "bob"]


def test_a_file_of_another_shape_is_left_to_people(board, tmp_path):
    text = 'quarantine = [{ board = "b1", owner = "ann", reason = "x", since = 2026-11-30 }]\n'
    (tmp_path / quarantine.NAME).write_text(text)
    code, _, err = board("release", "b1")
    assert (code, "edit it by hand" in err) == (2, True)
    assert (tmp_path / quarantine.NAME).read_text() == text


def test_its_folder_is_made_or_the_reason_is_told(tmp_path, monkeypatch):
    entry = quarantine.Entry("", "*::test_burst*", "ann", "slow", datetime.date(2026, 11, 30))
    file = tmp_path / "none" / "yet" / quarantine.NAME
    quarantine.add(file, entry)
    assert quarantine.load(file).entries == (entry,)

    def read_only(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", read_only)
    with pytest.raises(InfrastructureError, match="cannot write .*quarantine.toml: Read-only file system$"):
        quarantine.add(tmp_path / "other" / quarantine.NAME, entry)
