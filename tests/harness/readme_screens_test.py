"""What README.md tells to type, typed as it stands there: into a shell of its own on a terminal, line by line.

Its shell has a home folder of its own, and everything that is left of its session ends with the test.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bounded import SECONDS
from conftest import REPOSITORY
from places import lacking, need
from serve_test import fields

pytestmark = pytest.mark.simulator  # its programs come with the compiled module

README = REPOSITORY / "README.md"
PROMPT = r"prompt:(\d+)> "
LEAVE = "\x1d"  # Ctrl-]
NIGHT_S = 300.0


def blocks_of(heading: str) -> list[str]:
    """What a section of the README has one type: its blocks of code without a language."""
    _, _, below = README.read_text().partition(f"\n## {heading}\n")
    assert below, heading
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", below.partition("\n## ")[0], re.DOTALL | re.MULTILINE)
    return [code.replace("\\\n", "") for language, code in blocks if not language]


def is_built() -> bool:
    build = REPOSITORY / "build" / "release"
    if not (build / "build.ninja").exists():
        return False
    # Without what makes this file itself: ninja -n holds that for due wherever CMake looks for new files by itself.
    rules = re.sub(r"^build build\.ninja:.*?^$", "", (build / "build.ninja").read_text(), flags=re.DOTALL | re.MULTILINE)
    would_do = subprocess.run(["ninja", "-n", "-f", "/dev/stdin"], cwd=build, input=rules, capture_output=True, text=True)
    return would_do.returncode == 0 and "no work to do" in would_do.stdout


def processes_of(session: int) -> list[int]:
    """Those that live."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, its_session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(its_session) == session and state != "Z":
                found.append(int(entry.name))
    return found


class Terminal:
    """What a shell and its programs print, and what is typed to them."""

    def __init__(self, screen: int, shell: subprocess.Popen[bytes]) -> None:
        self.screen = screen
        self.shell = shell
        self.shown = ""
        self.seen = 0  # how much of that was waited for

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def wait_for(self, pattern: str, within: float = SECONDS, since: int | None = None) -> re.Match[str]:
        """Behind what was waited for before, or behind `since`: what goes on in the background comes when it likes."""
        deadline = time.monotonic() + within
        begin = self.seen if since is None else since
        while (found := re.compile(pattern, re.MULTILINE).search(self.shown, begin)) is None:
            ready, _, _ = select.select([self.screen], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"in {within} s, no {pattern!r} behind {self.shown[: self.seen]!r}, only {self.shown[self.seen :]!r}"
            self.shown += os.read(self.screen, 65536).decode(errors="replace").replace("\r", "")
        self.seen = max(self.seen, found.end())
        return found

    def run(self, line: str, within: float = SECONDS) -> str:
        """One line of a shell, which must be content with it; what it printed."""
        begin = self.seen
        self.type(f"{line}\n")
        code = self.wait_for(PROMPT, within)[1]
        said = self.shown[begin : self.seen]
        assert code == "0", said
        if line.startswith("wizloop serve "):
            self.wait_for("^serving ", since=begin)
        return said


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    need("setsid")
    if not is_built():
        lacking("build/release is out of date, and the README's ci/setup would build it under the feet of this run")
    screen, keyboard = pty.openpty()
    fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("4H", 50, 500, 0, 0))
    with tempfile.TemporaryDirectory(prefix="wizloop-home-") as home:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("WIZLOOP_", "XDG_", "PYTEST_"))}
        environment |= {"HOME": home, "SHELL": shutil.which("bash") or "", "TERM": "dumb", "PROMPT_COMMAND": r'PS1="prompt:\$?> "'}
        shell = subprocess.Popen(
            ["setsid", "--ctty", "bash", "--norc"], cwd=REPOSITORY, env=environment, stdin=keyboard, stdout=keyboard, stderr=keyboard
        )
        os.close(keyboard)
        try:
            made = Terminal(screen, shell)
            made.wait_for(PROMPT)
            yield made
        finally:
            for pid in processes_of(shell.pid):
                os.kill(pid, signal.SIGKILL)
            shell.wait(SECONDS)
            os.close(screen)


def nothing_but_shells_is_left(terminal: Terminal) -> None:
    deadline = time.monotonic() + SECONDS
    while left := [pid for pid in processes_of(terminal.shell.pid) if "bash" not in Path(f"/proc/{pid}/comm").read_text()]:
        assert time.monotonic() < deadline, [Path(f"/proc/{pid}/cmdline").read_text() for pid in left]
        time.sleep(0.05)


def test_a_board_on_the_network_is_talked_to_pinged_and_measured(terminal: Terminal) -> None:
    need("unshare", "ip", "ping", "iperf")
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True, timeout=SECONDS).returncode != 0:
        lacking("unshare -Urn is forbidden here")
    if os.path.lexists("/tmp/board"):
        lacking("/tmp/board, which the README has for a serial port, is taken")
    shell, first, second, back = blocks_of("A board on the network, without the board")
    said = [terminal.run(line, within=NIGHT_S) for line in shell.splitlines()[:-1]]
    miniterm = shell.splitlines()[-1]
    assert miniterm.startswith("pyserial-miniterm") and len(said) == 6

    terminal.type(f"{miniterm}\n")
    terminal.wait_for("^--- Quit: ")
    terminal.type(first)
    answer = terminal.wait_for(r"^#1 ok up=.*$")[0]
    (shown,) = re.findall(r"`(#1 ok .*?)`", README.read_text())
    assert {**fields(answer), "us": ""} == {**fields(shown), "us": ""}
    assert re.fullmatch(r"#2 tcp-server .*\n", second)
    terminal.type(second)
    terminal.wait_for(f"^{second}")  # miniterm shows what is typed
    terminal.type(LEAVE)
    assert terminal.wait_for(PROMPT)[1] == "0"

    ping, iperf, back_again, kill, leave = back.splitlines()
    assert "3 packets transmitted, 3 received, 0% packet loss" in terminal.run(ping)
    for command in (iperf, back_again):
        assert "Mbits/sec" in terminal.run(command), command
    before = terminal.seen
    terminal.run(kill)
    terminal.wait_for("end board=stm32f405-arduino ", since=before)
    terminal.run(leave)
    nothing_but_shells_is_left(terminal)
    assert not os.path.lexists("/tmp/board")


def test_a_rack_of_two_virtual_boards_has_its_night_and_the_report_of_it(terminal: Terminal) -> None:
    terminal.run(blocks_of("Command line")[0].splitlines()[0])
    page = REPOSITORY / "build" / "nightly" / "index.html"
    before_ns = page.stat().st_mtime_ns if page.exists() else 0
    commands = [line for block in blocks_of("A rack and its night") for line in block.splitlines()]
    said = "".join(terminal.run(command, within=NIGHT_S) for command in commands)
    assert re.search(r"^green: \d+ tests passed$", said, re.MULTILINE), said
    assert page.stat().st_mtime_ns > before_ns
    nothing_but_shells_is_left(terminal)
