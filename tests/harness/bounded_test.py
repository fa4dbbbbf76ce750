"""A process that says half a line, or nothing, holds nobody up."""

from __future__ import annotations

import subprocess
import sys

import pytest
from bounded import SECONDS, read_line


def test_lines_come_one_by_one_and_the_rest_is_left_to_communicate() -> None:
    with subprocess.Popen([sys.executable, "-c", "print('a\\nb\\nc')"], stdout=subprocess.PIPE, text=True) as process:
        assert read_line(process) == "a\n"
        assert process.communicate(timeout=SECONDS)[0] == "b\nc\n"


def test_half_a_line_ends_at_the_deadline_and_the_end_is_empty() -> None:
    code = "import sys; sys.stdout.write('half'); sys.stdout.flush(); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            with pytest.raises(AssertionError, match=r"in 0\.5 s, only b'"):
                read_line(process, within=0.5)
            process.communicate("", timeout=SECONDS)
        finally:
            process.kill()
    with subprocess.Popen(["true"], stdout=subprocess.PIPE, text=True) as process:
        assert read_line(process) == ""
