"""Reading from a process with an end to it.

    line = read_line(process)      # "" when it has closed its output
"""

from __future__ import annotations

import os
import select
import subprocess
import time

SECONDS = 20.0  # more than anything here takes on a busy machine


def read_line(process: subprocess.Popen[str], within: float = SECONDS) -> str:
    """The next line of its stdout. Byte for byte, so that what comes behind it is left to communicate()."""
    assert process.stdout is not None
    descriptor, deadline, line = process.stdout.fileno(), time.monotonic() + within, b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"in {within} s, only {line!r}"
        byte = os.read(descriptor, 1)
        if not byte:
            break
        line += byte
    return line.decode()
