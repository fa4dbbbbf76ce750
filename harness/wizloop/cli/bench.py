"""`wizloop bench`: the table of published figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from wizloop import boards
from wizloop.bench import Measured, measure
from wizloop.cli import output, recording, tables


def bench(
    board: Annotated[str | None, typer.Option(help="Only this board: a name or the path of a .toml file.")] = None,
    path: Annotated[str | None, typer.Option(help="Only figures of this path: byte, burst or dma.")] = None,
    only: Annotated[str | None, typer.Option(metavar="ID", help="Only this figure.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table as JSON too.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time; default: one per core.")] = None,
    record: recording.RecordOption = False,
    label: recording.LabelOption = None,
    database: recording.DatabaseOption = None,
) -> None:
    """Simulate the published figures and show them side by side, with where the time goes."""
    found = boards.load(board)
    with recording.store(record, label, database) as store:

        def on_figure(of: Measured) -> None:
            store.host_figures(of.name, of.request, of.run, of.scenario, of.unit)

        with output.progress("simulating") as (start, done):
            result = measure(found, path, only, jobs, start, done, on_figure, time.perf_counter)
        lines, needed = tables.render(result, output.width())
        console = output.console(needed)
        for line in lines:
            console.print(line, no_wrap=True, overflow="ignore", crop=False)
        store.end()
    if json is not None:
        output.write_json(json, result.to_json())
    if result.failed:
        raise typer.Exit(1)
