"""The program `wizloop`. Exit codes: 0 pass, 1 a scenario failed, 2 usage, 4 nothing measured, 5 infrastructure."""

from __future__ import annotations

import signal
import sys
from types import FrameType

import typer

from wizloop.cli import bench, fit, listing, run
from wizloop.errors import WizloopError

app = typer.Typer(
    help="Host-simulated hardware-in-the-loop tests for W5500 firmware.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("bench")(bench.bench)
app.command("list")(listing.list_all)
app.command("run")(run.run)
app.command("fit")(fit.fit)


def main(arguments: list[str] | None = None) -> None:
    """Runs the program and exits; arguments are the process's own unless given."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is signal.SIG_DFL:  # under nohup it is not
            signal.signal(ending, _end)
    try:
        app(args=arguments, prog_name="wizloop")
    except WizloopError as error:
        print(f"wizloop: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _end(number: int, frame: FrameType | None) -> None:
    """Ends the program as the signal would, but by way of every `finally`."""
    sys.exit(128 + number)
