"""`wizloop fit`: repeats a board's calibration."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from wizloop import boards
from wizloop import fit as calibration
from wizloop.cli import output
from wizloop.errors import NothingMeasured


def fit(
    board: Annotated[str | None, typer.Option(help="Only this board: a name or the path of a .toml file.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table as JSON too.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time; default: one per core.")] = None,
) -> None:
    """Find, for each fitted constant, the value that meets its figure exactly, beside the value in the board file.

    Each constant is varied alone, the others as the file has them. Board files are not changed.
    """
    with output.progress("fitting") as (_, done):
        rows = calibration.fit(boards.load(board), jobs, done)
    if not rows:
        raise NothingMeasured("no constant here is fitted to a figure")
    table = Table(box=None, pad_edge=False)
    for heading in ("board", "constant", "figure", "published", "unit", "in file", "error", "exact", "error", "runs"):
        text = heading in ("board", "constant", "figure", "unit")
        table.add_column(heading, no_wrap=True, justify="left" if text else "right")
    for row in rows:
        table.add_row(
            row.board,
            row.constant,
            row.figure,
            f"{row.published:g}",
            row.unit,
            calibration.as_text(row.constant, row.in_file),
            f"{row.error_in_file_pct:+.2f}%",
            calibration.as_text(row.constant, row.exact) if row.met else "none",
            f"{row.error_exact_pct:+.2f}%",
            str(row.runs),
        )
    console = output.console(output.PIPE_WIDTH)
    console.print(table, no_wrap=True, crop=False)
    for row in rows:
        if not row.met:
            console.print(
                f"{row.constant} of {row.board}: no value meets {row.figure}; "
                f"the nearest is {calibration.as_text(row.constant, row.exact)}"
            )
    if json is not None:
        output.write_json(json, {"constants": [asdict(row) for row in rows]})
