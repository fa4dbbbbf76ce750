"""What becomes of the worker processes when the program is ended from outside. Nothing here sleeps: a pipe that each
process holds open tells when the last of them is gone."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import FAKE_PROGRAM, FAST_BOARD

DEADLINE_S = 20.0

class Program:
    """`wizloop ...` in a process group of its own, with the read end of the pipe that its processes hold open."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        (folder / "fast.toml").write_text(FAST_BOARD)
        self.alive, write_end = os.pipe()
        self.process = subprocess.Popen(
            [*FAKE_PROGRAM, str(folder), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "ALIVE": str(write_end)},
            pass_fds=[write_end],
            start_new_session=True,
        )
        os.close(write_end)

    def read(self) -> bytes:
        """What the runs write next; nothing once no process is left."""
        ready, _, _ = select.select([self.alive], [], [], DEADLINE_S)
        assert ready, f"a process of the program still lives after {DEADLINE_S} s"
        return os.read(self.alive, 100)

    def wait_for_runs(self, count: int) -> None:
        seen = b""
        while seen.count(b"running\n") < count:
            got = self.read()
            assert got, self.process.communicate(timeout=DEADLINE_S)
            seen += got

    def end(self) -> tuple[int, str, str]:
        """Exit code, stdout and stderr, after the last process of the program has ended."""
        out, err = self.process.communicate(timeout=DEADLINE_S)
        assert self.read() == b""
        return self.process.returncode, out, err


@pytest.fixture
def program(tmp_path):
    started = []

    def start(*arguments: str) -> Program:
        started.append(Program(tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        os.close(one.alive)
        try:
            os.killpg(one.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 128 + 15), (signal.SIGHUP, 128 + 1), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
)
def test_no_run_outlives_a_program_that_is_killed(program, number, code):
    killed = program("run", "tcp_recv", "--board", "fast")
    killed.wait_for_runs(1)
    killed.process.send_signal(number)
    assert killed.end() == (code, "", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 128 + 1)])
def test_a_signal_from_the_terminal_shows_no_traceback_of_a_run(program, number, code):
    killed = program("bench", "--jobs", "3")
    killed.wait_for_runs(3)
    os.killpg(killed.process.pid, number)  # as the terminal does: the program and its runs
    assert killed.end() == (code, "", "")


def test_a_program_under_nohup_survives_the_end_of_its_terminal(program):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        spared = program("run", "tcp_recv", "--board", "fast")
    finally:
        signal.signal(signal.SIGHUP, before)
    spared.wait_for_runs(1)
    os.killpg(spared.process.pid, signal.SIGHUP)
    os.killpg(spared.process.pid, signal.SIGTERM)
    assert spared.end()[0] == 128 + 15
