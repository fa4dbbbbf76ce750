"""The options with which a command puts its figures into a results database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from wizloop.cli import output
from wizloop.errors import UsageError
from wizloop.simulator import Request, Run, Scenario

if TYPE_CHECKING:
    from wizloop.results.database import Database
    from wizloop.results.recording import Recorder, RunHead

VARIABLE = "WIZLOOP_DATABASE"

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar=VARIABLE,
        help="Of stored runs: a file or postgresql://USER@HOST/NAME; default: a file of the user's own.",
    ),
]
RecordOption = Annotated[bool, typer.Option("--record", help="Store the figures, for compare and history.")]
LabelOption = Annotated[str | None, typer.Option("--label", metavar="TEXT", help="Name the stored run.")]


class Store:
    """Where a command puts its figures. The run begins with the first of them, so that no run is empty."""

    def __init__(self, database: Database | None, head: RunHead | None) -> None:
        self._database = database
        self._head = head
        self._recorder: Recorder | None = None

    def host_figures(self, name: str, request: Request, run: Run, scenario: Scenario, unit: str | None = None) -> None:
        if self._database is None or self._head is None:
            return
        from wizloop.results import host, recording

        if self._recorder is None:
            self._recorder = recording.begin(self._database, self._head)
        host.record(self._recorder, name, request, run, scenario, unit)

    def end(self) -> None:
        """Says where the run is."""
        if self._recorder is None or self._head is None:
            return
        self._recorder.end()
        named = f" ({self._head.label})" if self._head.label else ""
        said = f"recorded: run {self._recorder.run}{named} in {self._recorder.database.name}"
        output.console(output.PIPE_WIDTH).print(Text(said))


@contextmanager
def store(record: bool, label: str | None, database: str | None) -> Iterator[Store]:
    """What is wrong with the database is found here, before anything is measured."""
    if not record:
        if label is not None:
            raise UsageError("--label names a stored run: add --record")
        yield Store(None, None)
        return
    # Here and not above: commands that store nothing start without it.
    from wizloop.results.database import Database, location
    from wizloop.results.recording import here

    head = here(label or "")
    with Database(location(database)) as opened:
        yield Store(opened, head)
