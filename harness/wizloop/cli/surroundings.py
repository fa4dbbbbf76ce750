"""What a process inherits and a program must not trip over: signals, closed or narrow streams, odd variables."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def prepare() -> None:
    """For the rest of this process."""
    _end_cleanly_when_told_to()
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a board's title may hold what the terminal cannot show
    for variable in ("COLUMNS", "LINES"):
        value = os.environ.get(variable, "")
        if not (value.isascii() and value.isdigit()):  # rich takes ² for a number, as str.isdigit() does
            os.environ.pop(variable, None)


def _end_cleanly_when_told_to() -> None:
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is signal.SIG_DFL:  # under nohup it is not
            signal.signal(ending, _end)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # when `| head` has enough, this program ends as others do: quietly


def _end(number: int, frame: FrameType | None) -> None:
    """Ends the program as the signal would, but by way of every `finally`."""
    sys.exit(128 + number)


def _open_closed_streams() -> None:
    """A stream that the shell closed (>&-) swallows what comes, and no file of ours takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in this order each gets its own number
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))


def complain(message: str) -> None:
    """On stderr, if anybody listens there."""
    try:
        print(f"wizloop: {message}", file=sys.stderr, flush=True)
    except OSError:
        pass


def drop_what_stdout_cannot_take() -> None:
    """Where a write failed, the interpreter would try again at its end, and answer with a code of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
