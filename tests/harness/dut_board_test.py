"""`wizloop board list`, `check` and `add`, with boards on the model's console and on pseudo-terminals."""

import datetime
import json
import socket
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest
from fake_board import FakeBoard
from serial.tools import list_ports
from wizloop.dut import health, host, inventory, locks, quarantine

GOOD = {"reset": "ok us=1", "reg block=common offset=0x39": "ok data=04", "net": "ok ip=10.0.0.1"}


def answers(**more):
    """A board that is well, apart from what is said otherwise."""
    said = {**GOOD, "link wait_ms=5000": "ok up=1 mbit_s=100 duplex=full", **more}
    return lambda _, request: said.get(request, "ok p=byte" if request.startswith("path") else None)


@pytest.fixture
def hosts(monkeypatch, tmp_path):
    """The host that commands make for themselves is the one that serves the fake boards."""
    folder = tmp_path / "locks"
    folder.mkdir()
    monkeypatch.setenv(locks.VARIABLE, str(folder))
    shared = host.Host()
    monkeypatch.setattr(health, "Host", lambda: shared)
    monkeypatch.setattr("wizloop.dut.device.Host", lambda: shared)
    real_close = shared.close
    monkeypatch.setattr(shared, "close", lambda: None)
    yield shared
    real_close()


@pytest.fixture
def board(hosts):
    return FakeBoard(hosts, answers())


@pytest.fixture
def file(tmp_path):
    return tmp_path / "boards.toml"


def entry(name, board, more=""):
    return f'[[board]]\nname = "{name}"\naddress = "serial:{board.device}@115200"\nslowness = 0.1\n{more}\n'


def test_boards_are_listed_with_what_is_around_them(wizloop, file, board, tmp_path):
    file.write_text(entry("b1", board, 'host_ip = "10.0.0.9"\nreset = { press = "true" }\nprofile = "w55rp20"'))
    code, out, _ = wizloop("board", "list", "--inventory", file, "--json", tmp_path / "out.json")
    assert code == 0
    assert f"b1  serial:{board.device}@115200  as w55rp20  reset, host_ip\n1 boards in {file}" in out
    (row,) = json.loads((tmp_path / "out.json").read_text())["boards"]
    assert row["has"] == ["reset", "host_ip"]


def test_a_well_board_is_found_well(wizloop, file, board, tmp_path):
    file.write_text(entry("b1", board))
    code, out, _ = wizloop("board", "check", "--inventory", file, "--json", tmp_path / "out.json")
    assert (code, out) == (0, "b1  ok  fake, firmware 1  100 Mbit/s full\n")
    (row,) = json.loads((tmp_path / "out.json").read_text())["boards"]
    assert row["ok"] and "burst" in row["offers"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"link wait_ms=5000": "ok up=0"}, "its link is down: is the cable in?"),
        ({"reg block=common offset=0x39": "ok data=00"}, "VERSIONR reads 00 by the byte path, expected 04"),
        ({"reset": "err wrong-chip"}, "reset: err wrong-chip"),
        ({"hello": "ok agent=1 board=fake chip=none caps=full,byte"}, "its firmware finds no W5500"),
    ],
)
def test_what_is_wrong_with_a_board_is_told(wizloop, file, board, more, said):
    board.answers = answers(**more)
    file.write_text(entry("b1", board))
    code, out, err = wizloop("board", "check", "b1", "--inventory", file)
    assert (code, out) == (5, f"b1  NOT WELL  {said}\n")
    assert "not well: b1" in err


@pytest.mark.parametrize(
    ("names_itself", "code", "said"),
    [
        ("w55rp20", 0, "ok  w55rp20, firmware 1  100 Mbit/s full"),
        ("teensy40-w5500", 5, "NOT WELL  it says that it is teensy40-w5500, and the inventory has profile = 'w55rp20'"),
        ("my-own", 0, "ok  my-own, firmware 1, taken for w55rp20  100 Mbit/s full"),  # no board file has its name
    ],
)
def test_a_board_that_is_not_the_one_of_its_entry_is_not_well(wizloop, file, board, names_itself, code, said):
    board.answers = answers(hello=f"ok agent=1 board={names_itself} chip=W5500 fw=1 caps=full,byte")
    file.write_text(entry("b1", board, 'profile = "w55rp20"'))
    assert wizloop("board", "check", "b1", "--inventory", file)[:2] == (code, f"b1  {said}\n")


def test_a_profile_that_does_not_exist_is_told_by_each_verb(wizloop, file, board):
    file.write_text(entry("b1", board, 'profile = "w55rp2"'))
    for verb in ("list", "check"):
        code, out, err = wizloop("board", verb, "--inventory", file)
        assert (code, out) == (2, "")
        assert f"{file}: board b1: profile: unknown board 'w55rp2' (did you mean w55rp20" in err


def test_one_board_that_is_gone_does_not_hide_the_others(wizloop, file, board):
    file.write_text('[[board]]\nname = "gone"\naddress = "serial:/dev/gone"\n' + entry("b1", board))
    code, out, _ = wizloop("board", "check", "--inventory", file)
    assert code == 5
    gone, well = out.splitlines()
    assert gone.startswith("gone  NOT WELL  there is no serial port /dev/gone; there are ")
    assert well == "b1  ok  fake, firmware 1  100 Mbit/s full"


def test_a_board_in_quarantine_is_shown_as_such_and_probed_all_the_same(wizloop, file, hosts, board, tmp_path):
    entry_of_b1 = quarantine.Entry("b1", "", "ann", "RJ45 socket is worn out", datetime.date(2026, 11, 30))
    quarantine.add(tmp_path / quarantine.NAME, entry_of_b1)
    quarantine.add(tmp_path / quarantine.NAME, quarantine.Entry("b2", "*burst*", "bob", "slow", datetime.date.today()))
    file.write_text(entry("b1", board) + entry("b2", FakeBoard(hosts, answers())))
    held = {"board": "b1", "test": "", "owner": "ann", "reason": "RJ45 socket is worn out", "since": "2026-11-30"}
    for verb in ("list", "check"):
        code, out, _ = wizloop("board", verb, "--inventory", file, "--json", tmp_path / "out.json")
        first, second = out.splitlines()[:2]
        assert code == 0
        assert first.endswith("  in quarantine since 2026-11-30 (ann): RJ45 socket is worn out")
        assert "quarantine" not in second
        rows = json.loads((tmp_path / "out.json").read_text())["boards"]
        assert [row["quarantine"] for row in rows] == [held, None]
    assert first.startswith("b1  ok  fake, firmware 1  100 Mbit/s full  ")


def test_a_board_is_added_by_its_address(wizloop, file, board):
    assert wizloop("board", "add", "b1", f"serial:{board.device}@9600", "--inventory", file)[0] == 0
    assert wizloop("board", "add", "b1", f"serial:{board.device}@9600", "--inventory", file)[0] == 2
    (added,) = inventory.load(file).boards
    assert str(added.address) == f"serial:{board.device}@9600"


def test_an_inventory_that_cannot_be_written_is_told_with_the_reason(wizloop, board, tmp_path):
    (tmp_path / "taken").touch()
    inventory = tmp_path / "taken" / "boards.toml"
    code, out, err = wizloop("board", "add", "b1", f"serial:{board.device}@9600", "--inventory", inventory)
    assert (code, out) == (5, "")
    assert err in [f"wizloop: cannot write {inventory}: {why}\n" for why in ("File exists", "Not a directory")]


def test_a_board_is_added_with_what_is_around_it(wizloop, file, board, tmp_path):
    address = f"serial:{board.device}"
    around = ["--control", "127.0.0.1:7000", "--host-ip"]
    assert wizloop("board", "add", "b1", address, *around, "here", "--inventory", file)[0] == 2
    words = [*around, "10.0.0.2", "--inventory", file, "--json", tmp_path / "out.json"]
    assert wizloop("board", "add", "b1", address, *words)[0] == 0
    document = json.loads((tmp_path / "out.json").read_text())
    has = ["power", "reset", "cable", "host_ip"]
    added_to = {"name": "b1", "address": f"{address}@115200", "profile": "", "has": has}
    assert document == {"file": str(file), "board": added_to}
    (added,) = inventory.load(file).boards
    assert added.surroundings.host_ip == "10.0.0.2"
    assert added.surroundings.power is not None and added.surroundings.cable is not None


def test_a_board_is_looked_for_and_written_under_a_name_that_stays(wizloop, file, board, monkeypatch):
    there = [SimpleNamespace(device=board.device, serial_number="A5069RR4", location="1-1")]
    monkeypatch.setattr(list_ports, "comports", lambda: there)
    file.write_text("# the rack in room 4\n")
    code, out, _ = wizloop("board", "add", "b1", "--inventory", file)
    assert (code, out) == (0, f"added b1: serial:usb:A5069RR4@115200, to {file}\n")
    assert file.read_text().startswith("# the rack in room 4\n")
    code, _, err = wizloop("board", "add", "b2", "--inventory", file)
    assert code == 4
    assert "no serial port that is not in the inventory" in err


def test_of_several_boards_none_is_guessed(wizloop, file, hosts, board, monkeypatch):
    other = FakeBoard(hosts, answers())
    there = [SimpleNamespace(device=each.device, serial_number=None, location=None) for each in (board, other)]
    monkeypatch.setattr(list_ports, "comports", lambda: there)
    code, _, err = wizloop("board", "add", "b1", "--inventory", file)
    assert code == 2
    assert f"several boards answer, give the address of one: serial:{board.device}@115200" in err
    assert not file.exists()


def test_an_empty_inventory_is_nothing_to_check(wizloop, tmp_path, monkeypatch):
    monkeypatch.delenv(inventory.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert wizloop("board", "check")[0] == 4
    code, out, _ = wizloop("board", "list")
    assert code == 0
    assert "which does not exist yet" in out


def test_a_model_needs_no_entry(wizloop, file):
    code, _, err = wizloop("board", "add", "m", "model:w55rp20", "--inventory", file)
    assert code == 2
    assert "is always there" in err


@pytest.fixture
def silent_console():
    """Takes connections and says nothing."""
    with ExitStack() as stack:
        listener = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
        yield listener.getsockname()[1]


def test_a_silent_board_is_not_well_in_time(wizloop, file, silent_console):
    file.write_text(f'[[board]]\nname = "b1"\naddress = "tcp:127.0.0.1:{silent_console}"\nslowness = 0.1\n')
    code, out, _ = wizloop("board", "check", "--inventory", file)
    assert code == 5
    assert "no answer to 'hello'" in out
