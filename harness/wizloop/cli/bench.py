"""`wizloop bench`: the table of published figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from wizloop import boards
from wizloop.bench import measure
from wizloop.cli import output, tables


def bench(
    board: Annotated[str | None, typer.Option(help="Only this board: a name or the path of a .toml file.")] = None,
    path: Annotated[str | None, typer.Option(help="Only figures of this path: byte, burst or dma.")] = None,
    only: Annotated[str | None, typer.Option(metavar="ID", help="Only this figure.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table as JSON too.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time; default: one per core.")] = None,
) -> None:
    """Simulate the published figures and show them side by side, with where the time goes."""
    with output.progress("simulating") as (start, done):
        result = measure(boards.load(board), path, only, jobs, on_start=start, on_done=done, clock=time.perf_counter)
    lines, needed = tables.render(result, output.width())
    console = output.console(needed)
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    if json is not None:
        output.write_json(json, result.to_json())
    if result.failed:
        raise typer.Exit(1)
