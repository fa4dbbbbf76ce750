"""`wizloop peer`: the programs at the far end of a board's cable, in real time."""

from __future__ import annotations

import typer

from wizloop import programs

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def peer(context: typer.Context) -> None:
    """Serve boards in real time: sink, source, echo, iperf, transfer (see `wizloop peer --help`)."""
    programs.become("wizloop-peer", context.args)
