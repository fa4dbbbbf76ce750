"""What a process inherits and a program must not trip over: signals, closed or narrow streams, odd variables."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from wizloop.errors import InfrastructureError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ENDING = (signal.SIGTERM, signal.SIGHUP)


def prepare() -> None:
    """For the rest of this process."""
    _end_cleanly_when_told_to()
    _open_closed_streams()
    sys.stdout = _naming_itself(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a board's title may hold what the terminal cannot show
    for variable in ("COLUMNS", "LINES"):
        value = os.environ.get(variable, "")
        if not (value.isascii() and value.isdigit()):  # rich takes ² for a number, as str.isdigit() does
            os.environ.pop(variable, None)


def _end_cleanly_when_told_to() -> None:
    for ending in ENDING:
        if signal.getsignal(ending) is signal.SIG_DFL:  # under nohup it is not
            signal.signal(ending, _end)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # when `| head` has enough, this program ends as others do: quietly


def _end(number: int, frame: FrameType | None) -> None:
    """Ends the program as the signal would, but by way of every `finally`."""
    sys.exit(128 + number)


@contextmanager
def quiet_while_loading() -> Iterator[None]:
    """Loading takes a while, and leaves nothing that wants order: Ctrl-C ends the program at once, without a traceback."""
    theirs = signal.getsignal(signal.SIGINT)
    ours = theirs is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, theirs)


@contextmanager
def ending_as_ctrl_c_does() -> Iterator[list[int]]:
    """For who takes SystemExit as a failure of what it runs, as pytest does: in the block each signal that ends the program
    is a KeyboardInterrupt, and the list has the numbers of those that came.
    """
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    replaced = [number for number in ENDING if signal.getsignal(number) is _end]
    for number in replaced:
        signal.signal(number, interrupt)
    try:
        yield came
    finally:
        for number in replaced:
            signal.signal(number, _end)


def _open_closed_streams() -> None:
    """A stream that the shell closed (>&-) swallows what comes, and no file of ours takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in this order each gets its own number
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # which keeps it open when another takes its place


class _Stdout(io.FileIO):
    """Says that it was stdout that took nothing more: the error of the machine names a file only where it opens one."""

    def write(self, data: ReadableBuffer) -> int | None:
        try:
            return super().write(data)
        except OSError as error:
            raise InfrastructureError(f"cannot write to stdout: {error.strerror}") from error


def _naming_itself(stream: TextIO) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(_Stdout(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        line_buffering=stream.isatty(),
    )


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
    except (OSError, InfrastructureError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
