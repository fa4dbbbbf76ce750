"""`wizloop test`: its exit codes, and the commands that the bodies' README shows."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import typer
from conftest import REPOSITORY, commands_of
from wizloop.cli.test import Outcome, Seen, _judge, _names_tests
from wizloop.errors import InfrastructureError, NothingMeasured, UsageError

SHOWN_BELOW = (
    "skipped with the reason on boards that lack it. On the model any finding fails a body that did not announce it."
)


def outcome(kind, infrastructure=False, why="why"):
    return Outcome("test_it.py::test_it", kind, 0.1, why, infrastructure, 0)


def judged(code, *outcomes):
    seen = Seen()
    seen.tests = list(outcomes)
    _judge(code, seen)


def test_pytests_exit_codes_become_those_of_the_program():
    judged(0, outcome("passed"), outcome("skipped"))
    with pytest.raises(NothingMeasured, match="all were skipped"):
        judged(0, outcome("skipped"))
    with pytest.raises(NothingMeasured, match="no test has run"):
        judged(5)
    with pytest.raises(UsageError):
        judged(4)
    with pytest.raises(InfrastructureError, match="1 test could not be run: why"):
        judged(1, outcome("passed"), outcome("failed", infrastructure=True))
    lost = [outcome("failed", infrastructure=True, why=why) for why in ("a is lost", "a is lost", "b is lost")]
    with pytest.raises(InfrastructureError, match="^3 tests could not be run: a is lost; and 1 more, see above$"):
        judged(1, *lost)
    with pytest.raises(typer.Exit) as end:
        judged(1, outcome("failed"), outcome("failed", infrastructure=True))
    assert end.value.exit_code == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("-q test_own.py", True),
        ("test_own.py::test_good -q", True),
        (". -q", True),
        ("-q", False),
        ("-k folder", False),
        ("--junitxml out.xml --rootdir folder", False),
        ("gone.py", False),
    ],
)
def test_own_tests_are_told_from_values_of_options(tmp_path, monkeypatch, words, named):
    (tmp_path / "folder").mkdir()
    for name in ("test_own.py", "out.xml"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    assert _names_tests(words.split()) is named


def run(*words, where=REPOSITORY):
    command = [sys.executable, "-m", "wizloop", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=where, env={**os.environ, "COLUMNS": "120"}
    )


@pytest.mark.simulator
def test_the_commands_of_the_readme_pass(simulator):
    folder = REPOSITORY / "tests" / "dut"
    commands = commands_of(folder / "README.md", SHOWN_BELOW)
    assert commands
    for program, *words in commands:
        assert program == "wizloop"
        done = run(*words)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.simulator
def test_a_file_of_the_users_own_runs_in_place_of_the_bodies(simulator, tmp_path):
    (tmp_path / "test_own.py").write_text(
        "def test_good(dut): assert dut.board\n\ndef test_bad(dut): assert dut.ask('brew')\n"
    )
    done = run("test", "--json", "out.json", "--", "-q", "test_own.py", where=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    good, bad = json.loads((tmp_path / "out.json").read_text())["tests"]
    assert (good["outcome"], bad["outcome"], bad["infrastructure"]) == ("passed", "failed", False)
    assert "brew: err unknown-verb" in bad["why"]


def test_what_the_program_is_told_of_boards_it_tells_pytest(wizloop, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(pytest, "main", lambda words, plugins: told.append(words) or 5)
    file = tmp_path / "boards.toml"
    file.write_text('[[board]]\nname = "b1"\naddress = "labgrid:b1"\n')
    assert wizloop("test", "--dut", "b1", "--inventory", file, "--dut-wait", "2.5", "--why", "--", "-x")[0] == 4
    assert told[0][:-1] == ["-x", "--dut", "b1", "--dut-inventory", str(file), "--dut-wait", "2.5", "--why"]


@pytest.mark.parametrize("wait", ["inf", "1e300"])
def test_no_endless_wait_for_a_place_is_taken(tmp_path, wait):
    (tmp_path / "test_own.py").write_text("def test_it(): pass\n")
    done = run("test", "--dut-wait", wait, "--", "-q", "test_own.py", where=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--dut-wait {float(wait)}: expected seconds, from 0 to 604800" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.simulator
def test_a_board_that_is_not_there_is_infrastructure(simulator, tmp_path):
    (tmp_path / "test_own.py").write_text("def test_one(dut): pass\ndef test_two(dut): pass\n")
    done = run("test", "--dut", "serial:/dev/nowhere", "--", "-q", "test_own.py", where=tmp_path)
    assert done.returncode == 5
    assert "there is no serial port /dev/nowhere" in done.stderr
    assert len(done.stdout.splitlines()) < 12, done.stdout


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("named", "code", "said"),
    [
        ("nosuch", 4, "boards.toml has no board 'nosuch': it has none\n"),
        ("model:nosuch", 4, "wizloop: unknown board 'nosuch': the boards are esp32-usr-es1, "),
        ("rtl:w55rp2", 4, "wizloop: unknown board 'w55rp2' (did you mean w55rp20"),
        ("carrier:pigeon", 2, "wizloop: 'carrier:pigeon': unknown kind 'carrier', expected model:BOARD, "),
    ],
)
def test_what_is_no_board_is_told_before_any_test(simulator, wizloop, tmp_path, named, code, said):
    (tmp_path / "boards.toml").write_text("")
    words = ["test", "--inventory", tmp_path / "boards.toml", "--dut", "model:w55rp20", "--dut", named]
    came_to, out, err = wizloop(*words)
    assert (came_to, out, err.count("\n")) == (code, "", 1)
    assert said in err


ENDED = """
import pathlib, pytest, time

@pytest.fixture
def board():
    yield
    pathlib.Path("released").touch()

def test_that_takes_long(board):
    pathlib.Path("begun").touch()
    try:
        time.sleep(60)
    except Exception:
        pass

def test_that_comes_after():
    pathlib.Path("after").touch()
"""


@pytest.mark.parametrize(
    ("number", "code", "workers"),
    [(signal.SIGTERM, 128 + 15, []), (signal.SIGHUP, 128 + 1, []), (signal.SIGTERM, 128 + 15, ["-n", "1"])],
)
def test_a_signal_ends_the_session_and_fails_no_test(tmp_path, number, code, workers):
    (tmp_path / "test_own.py").write_text(ENDED)
    command = [sys.executable, "-m", "wizloop", "test", "--", "test_own.py", "-p", "no:cacheprovider", *workers]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            for _ in range(600):
                if (tmp_path / "begun").exists():
                    break
                time.sleep(0.05)
            process.send_signal(number)
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == code, said
    assert "failed" not in said and "SystemExit" not in said
    assert (tmp_path / "released").exists()
    assert not (tmp_path / "after").exists()
