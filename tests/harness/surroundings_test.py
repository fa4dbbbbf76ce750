"""The program in odd surroundings, each time as a process of its own that a shell starts."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys

import pytest
from conftest import FAKE_PROGRAM, FAST_BOARD, SLOW_BOARD

TITLE = "A fast board whose name takes more room than most people would care to spend"


UNEXPECTED = "(unexpected; WIZLOOP_DEBUG=1 shows where)"


@pytest.fixture
def folder(tmp_path):
    boards = tmp_path / "boards"
    boards.mkdir()
    (boards / "fast.toml").write_text(FAST_BOARD.replace(TITLE, "Pl\u00e4tine"), encoding="utf-8")
    (boards / "slow.toml").write_text(SLOW_BOARD)
    return boards


@pytest.fixture
def shell(folder):
    def run(line: str, **variables: str) -> tuple[int, str, str]:
        """A line of bash in which W is the program: exit code, stdout, stderr."""
        program = shlex.join([*FAKE_PROGRAM, str(folder)])
        inherited = {name: os.environ[name] for name in os.environ.keys() - {"COLUMNS", "LINES", "WIZLOOP_DEBUG"}}
        done = subprocess.run(
            ["bash", "-c", f'W() {{ {program} "$@"; }}\n{line}'],
            capture_output=True,
            env={**inherited, **variables},
            cwd=folder.parent,
            timeout=60,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


@pytest.mark.parametrize("arguments", [["bench"], ["run", "--help"]])
def test_a_reader_that_has_enough_ends_the_program_quietly(folder, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*FAKE_PROGRAM, str(folder), *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")  # the shell says 141


@pytest.mark.parametrize("command", ["list", "--help", "explain", "run tcp_recv --board fast"])
def test_output_on_a_full_disk_is_one_line_and_the_machines_fault(shell, command):
    assert shell(f"W {command} >/dev/full") == (5, "", "wizloop: cannot write to stdout: No space left on device\n")


def test_another_error_is_not_blamed_on_a_full_stdout(shell):
    code, _, err = shell("ulimit -n 14; W bench --jobs 50 >/dev/full")
    assert (code, err) == (5, f"wizloop: Too many open files {UNEXPECTED}\n")


def test_a_usage_error_keeps_its_code_when_stderr_is_full(shell):
    assert shell("W run tcp_rec --board fast 2>/dev/full") == (2, "", "")


def test_closed_streams_swallow_what_comes_and_no_file_takes_their_number(shell, folder):
    assert shell("W bench --json out.json >&-") == (0, "", "")
    assert json.loads((folder.parent / "out.json").read_text())["figures"]
    assert shell("W bench <&- >&- 2>&-") == (0, "", "")
    assert shell("W run tcp_rec --board fast 2>&-") == (2, "", "")


def test_too_few_files_for_so_many_jobs_is_the_machines_fault(shell):
    assert shell("ulimit -n 14; W bench --jobs 50") == (5, "", f"wizloop: Too many open files {UNEXPECTED}\n")


def test_what_the_terminal_cannot_show_is_replaced(shell):
    code, out, err = shell("W list", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert "Pl?tine" in out


@pytest.mark.parametrize("columns", ["²", "wide"])
def test_a_width_that_is_no_number_counts_as_none(shell, columns):
    code, out, err = shell("W bench", COLUMNS=columns, LINES=columns)
    assert (code, err) == (0, "")
    assert max(len(line) for line in out.splitlines()) > 120  # a pipe's width


def test_a_terminal_of_no_width_gets_whole_words(folder):
    master, terminal = pty.openpty()  # its width is 0 until somebody sets it
    command = [*FAKE_PROGRAM, str(folder), "explain", "sclk-above-rating"]
    done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=60)
    shown = os.read(master, 10_000).decode()
    os.close(terminal)
    os.close(master)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sclk-above-rating" in shown


def test_a_failing_run_in_a_deleted_folder_still_ends_with_its_command(shell):
    code, out, err = shell("mkdir gone; cd gone; rmdir ../gone; W run tcp_recv --board fast --set fail=void")
    assert (code, err) == (1, "")
    assert out.splitlines()[-1].endswith("run tcp_recv --board fast --path byte --seed 1 --set fail=void")


def test_an_unexpected_error_is_one_line_and_its_traceback_for_the_asking(shell):
    line = "W run tcp_recv --board fast --set board.byte_gap_ns=many"
    code, out, err = shell(line)
    assert (code, out) == (5, "")
    assert err.startswith(f"wizloop: ValueError: could not convert string to float: 'many' {UNEXPECTED}, in: ")
    assert err.count("\n") == 1
    code, out, err = shell(line, WIZLOOP_DEBUG="1")
    assert (code, out) == (5, "")
    assert "Traceback" in err and "line " in err


SLOW = """
import sys, time
from importlib.abc import MetaPathFinder

class Slow(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            print("loading", flush=True)
            time.sleep(60)

sys.meta_path.insert(0, Slow())
from wizloop.cli import main
main(["ab", "nosuch"])
"""


@pytest.mark.parametrize("module", ["typer", "wizloop.cli.nightly", "wizloop.ab"])
def test_ctrl_c_while_it_loads_shows_no_traceback(module):
    command = [sys.executable, "-c", SLOW, module]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as loading:
        try:
            assert loading.stdout.readline() == "loading\n"
            loading.send_signal(signal.SIGINT)
            out, err = loading.communicate(timeout=60)
        finally:
            loading.kill()
    assert (loading.returncode, out, err) == (130, "", "")
