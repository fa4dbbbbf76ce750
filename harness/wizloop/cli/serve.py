"""`wizloop serve`: virtual rack boards, in real time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import typer

from wizloop import boards, programs

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def serve(context: typer.Context) -> None:
    """Serve virtual rack boards: consoles on ptys and TCP ports, a real network (see `wizloop serve --help`)."""
    programs.become("wizloop-serve", list(with_board_files(context.args)))


def with_board_files(arguments: Iterable[str]) -> Iterator[str]:
    """The same, each board by the path of its file."""
    names_a_board = False
    for argument in arguments:
        if names_a_board:
            yield str(boards.find(argument))
        elif argument.startswith("--board="):
            yield f"--board={boards.find(argument.removeprefix('--board='))}"
        else:
            yield argument
        names_a_board = argument == "--board" and not names_a_board
