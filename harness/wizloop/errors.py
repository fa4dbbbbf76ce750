"""What can go wrong outside a simulation, each with the exit code of the command line."""

from __future__ import annotations

import os
import traceback


class WizloopError(Exception):
    """Ends the program with the message and the exit code of its class."""

    exit_code: int


class UsageError(WizloopError):
    """The user asked for something that does not exist or cannot be."""

    exit_code = 2


class NothingMeasured(WizloopError):
    """No board or figure matches: neither a pass nor a failure."""

    exit_code = 4


class InfrastructureError(WizloopError):
    """The machine is at fault: module not built, a simulation process died."""

    exit_code = 5


class FirmwareHangs(BaseException):
    """Firmware has polled the same registers for so long that it never will stop; the message names them.

    Not an Exception: a driver that catches everything and tries again must not catch this.
    """


def debugging() -> bool:
    """Whether the user wants tracebacks."""
    return os.environ.get("WIZLOOP_DEBUG") == "1"


def unexpected(error: Exception) -> str:
    """One line about an error that has no class here; with WIZLOOP_DEBUG=1 its traceback too."""
    if debugging():
        return "".join(traceback.format_exception(error)).rstrip()
    if isinstance(error, OSError) and error.strerror:
        what = error.strerror + (f": {error.filename}" if error.filename else "")
    else:
        what = " ".join([f"{type(error).__name__}:", *str(error).split()])
    return f"{what} (unexpected; WIZLOOP_DEBUG=1 shows where)"
