"""`wizloop history`: every figure over the stored runs."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from wizloop.cli import output
from wizloop.cli.compare import BoardOption, MaxNoiseOption, is_of, told_apart
from wizloop.cli.recording import DatabaseOption
from wizloop.cli.tables import number
from wizloop.errors import NothingMeasured

if TYPE_CHECKING:
    from wizloop.history import Moment, Series, Step

COMMIT_DIGITS = 9


def history(
    name: Annotated[str, typer.Argument(metavar="[ID]", help="Only figures of this name; * is any text.")] = "*",
    board: BoardOption = None,
    label: Annotated[str | None, typer.Option(metavar="TEXT", help="Only runs of this label; * is any text.")] = None,
    last: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the last N runs.")] = None,
    intended: Annotated[Path | None, typer.Option(metavar="FILE", help="Steps that are wanted, in TOML.")] = None,
    max_noise: MaxNoiseOption = 20.0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the series as JSON too.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Show for each figure where it stepped, how it drifts since, and how far it is from the model.

    In virtual time every change is a step. Medians of boards scatter: a step is what three runs or more keep, and at
    least 1 %.
    """
    # Here and not above: SciPy takes half a second to load.
    from wizloop.compare import steps
    from wizloop.history import history as series_of
    from wizloop.results import reading
    from wizloop.results.database import Database, location

    wanted = steps.load(intended) if intended is not None else ()
    with Database(location(database), writable=False) as opened:
        runs = [run for run in reading.runs(opened) if fnmatchcase(run.head.label, label if label is not None else "*")]
        runs = runs[-last:] if last is not None else runs
        points = [
            point
            for point in reading.points(opened, [run.id for run in runs])
            if fnmatchcase(point.name, name)
        ]
        place = opened.name
    # The model's figures are predictions of the board's, chosen or not.
    found = [of for of in series_of(runs, points, wanted, max_noise) if is_of(of.dut, of.board, board)]
    if not found:
        raise NothingMeasured(f"no stored figure matches, of {len(runs)} runs in {place}")
    console = output.console(output.PIPE_WIDTH)
    for line in report(found):
        console.print(line)
    if json is not None:
        output.write_json(json, {"figures": [_json(series) for series in found]})


def report(found: list[Series]) -> list[Text]:
    lines = []
    names = max(len(series.name) for series in found)
    for dut in dict.fromkeys(series.dut for series in found):
        lines.append(Text(dut, style="bold"))
        for series in found:
            if series.dut == dut:
                lines += _series(series, names)
    return lines


def _series(series: Series, names: int) -> list[Text]:
    now = number(series.values[-1]) if series.values else "-"
    steps = len(series.steps)
    said = f"{steps} step{'' if steps == 1 else 's'}" if steps else "no step"
    if series.void:
        said += f", {series.void} void"
    if series.noisy:
        said += f", {series.noisy} on a noisy host"
    count = f"{len(series.values)} run{'' if len(series.values) == 1 else 's'}"
    lines = [Text(f"  {series.name:<{names}} {series.path:<5} {now:>9} {series.unit:<9} {count:>9}  {said}")]
    for step in series.steps:
        lines += _step(step, series.unit)
    asides = []
    if series.trend is not None:
        t = series.trend
        word = "drifts by" if t.certain else "no certain drift:"
        asides.append(
            f"{word} {t.change_pct:+.1f} % ({t.low_pct:+.1f} to {t.high_pct:+.1f}) over the last {t.runs} runs"
        )
    gaps = series.gaps_pct
    if gaps:
        ends = f"{gaps[0]:+.1f} %" if len(gaps) == 1 else f"{gaps[0]:+.1f} % -> {gaps[-1]:+.1f} %"
        asides.append(f"gap to the model {ends}")
    if asides:
        lines += output.wrapped("; ".join(asides), output.width(), "    ", indent=4)
    return lines


def _step(step: Step, unit: str) -> list[Text]:
    before, after = told_apart(step.before, step.after)
    text = f"{_moment(step.at)}: {before} -> {after} {unit}"
    if step.change_pct is not None:
        text += f", {step.change_pct:{'+.2f' if abs(step.change_pct) >= 0.005 else '+.1g'}} %"
    text += ", slower" if step.slower else ", faster"
    if step.moved:
        text += f"; {'the model stepped with it: code' if step.moved == 'code' else 'the model did not: rack'}"
    if step.intended:
        text += f"; intended: {step.intended}"
    lines = output.wrapped(text, output.width(), "    ", indent=6)
    for line in lines:
        line.stylize("dim" if step.intended else "red" if step.slower else "green")
    return lines


def _moment(at: Moment) -> str:
    commit = f" {at.commit[:COMMIT_DIGITS]}{'+' if at.modified else ''}" if at.commit else ""
    return f"{at.started:%Y-%m-%d} run {at.run}{commit}"


def _json(series: Series) -> dict[str, Any]:
    document = asdict(series)
    document["gaps_pct"] = series.gaps_pct
    for moment in [*document["runs"], *(step["at"] for step in document["steps"])]:
        started: datetime = moment["started"]
        moment["started"] = started.isoformat()
    return document
