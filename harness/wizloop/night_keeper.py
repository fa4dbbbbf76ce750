"""The process that runs a step of a night: python -m wizloop.night_keeper NIGHT WORD... (nightly.py starts it).

It runs `wizloop WORD...` in its own group of processes and has its exit code. Should the process NIGHT be gone, however it
ended, the step is ended with all that it started: a board is not left to tests that nobody waits for.

What it inherits, such as the lock of the folder of a night, it passes on, and ends last.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

END_DEADLINE_S = 10.0  # of a process that was asked to end


def end(group: int, process: subprocess.Popen[bytes]) -> None:
    """All of its group. It has not been waited for, so that the number is still its own."""
    # At SIGINT its workers end too, and pytest leaves its JUnit file.
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        os.killpg(group, kind)
        try:
            process.wait(END_DEADLINE_S)
        except subprocess.TimeoutExpired:
            continue
        return


def _wait(night: int, step: subprocess.Popen[bytes]) -> bool:
    """Until either has ended; whether it was the step."""
    try:
        watched = os.pidfd_open(night)
    except ProcessLookupError:
        return False
    if os.getppid() != night:  # the number may be somebody else's by now
        return False
    own = os.pidfd_open(step.pid)
    return own in select.select([watched, own], [], [])[0]


def main() -> int:
    night, words = int(sys.argv[1]), sys.argv[2:]
    for kind in (signal.SIGINT, signal.SIGTERM):  # sent to the group, and meant for the step
        signal.signal(kind, lambda number, frame: None)  # not ignored, which the step would inherit
    step = subprocess.Popen([sys.executable, "-m", "wizloop", *words], close_fds=False)
    if _wait(night, step):
        code = step.wait()
        return code if code >= 0 else 128 - code  # as a shell has it for a signal
    group = os.getpgrp()
    end(group, step)
    os.killpg(group, signal.SIGKILL)  # what is left of it
    return 1


if __name__ == "__main__":
    sys.exit(main())
