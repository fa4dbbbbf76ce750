"""`wizloop report`: one page about a stored run and about test results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from wizloop import boards, repeat
from wizloop.cli import compare, output
from wizloop.cli.recording import DatabaseOption
from wizloop.errors import NothingMeasured, UsageError, WizloopError
from wizloop.simulator import Request

if TYPE_CHECKING:
    from wizloop.compare.comparison import Comparison
    from wizloop.compare.sides import Side
    from wizloop.history import Series
    from wizloop.report.contents import Published
    from wizloop.results.database import Database
    from wizloop.results.reading import Point, StoredFigure, StoredRun


def report(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write index.html and report.json.")] = Path(
        "report"
    ),
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="The stored run: a number or label; default: the newest.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="What to compare with, as for `compare`; default: the newest run before, of the same label, that has "
            "figures of the model; of these each from the newest that measured it."
        ),
    ] = None,
    junit: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Test results in JUnit XML; repeatable.")
    ] = None,
    merged: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of --junit into one file.")] = None,
    last: Annotated[int, typer.Option(min=1, metavar="N", help="Trends over the last N runs.")] = 1000,
    intended: Annotated[Path | None, typer.Option(metavar="FILE", help="Steps that are wanted, in TOML.")] = None,
    max_noise: compare.MaxNoiseOption = 20.0,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Of the page.")] = "wizloop report",
    database: DatabaseOption = None,
) -> None:
    """Write one page that needs no network, and the same as JSON: verdict, failures, figures, budgets, predictions.

    The verdict is on the page and, as `exit_code`, in report.json; this command exits with 0 once both are written.
    """
    # Here and not above: SciPy takes half a second to load.
    from wizloop.report import contents, page
    from wizloop.report import junit as results

    files = junit or []
    if merged is not None and not files:
        raise UsageError("--merged gathers the files of --junit: give those too")
    parts = [results.read(file) for file in files]
    if merged is not None:
        results.merge(parts, merged)
    stored = _stored(run, base, last, intended, max_noise, database, optional=bool(parts))
    gathered = contents.gather(
        stored.run, stored.figures, stored.comparison, stored.series, parts, _published(), _command, max_noise
    )
    page.write(out, gathered, title)
    console = output.console(output.PIPE_WIDTH)
    console.print(Text(f"{gathered.light}: {gathered.headline}", style=STYLES[gathered.light]))
    for failure in gathered.failures[:FAILURES_SHOWN]:
        console.print(Text(f"  {failure.name} ({failure.where}): {failure.message}"))
        for command in failure.repeat[:1]:
            console.print(Text(f"    again: {command}"))
    if len(gathered.failures) > FAILURES_SHOWN:
        console.print(Text(f"  and {len(gathered.failures) - FAILURES_SHOWN} more failures, on the page"))
    console.print(Text(f"report: {out / page.HTML}"))


FAILURES_SHOWN = 10
STYLES = {"red": "red", "yellow": "yellow", "green": "green", "grey": ""}


@dataclass(frozen=True)
class Stored:
    run: StoredRun | None
    figures: list[StoredFigure]
    comparison: Comparison | None
    series: list[Series]


def _stored(
    word: str | None,
    base: str | None,
    last: int,
    intended: Path | None,
    max_noise: float,
    database: str | None,
    optional: bool,
) -> Stored:
    """What the database knows of the run; nothing, where tests alone are reported and nobody named one."""
    from wizloop.compare import comparison, sides, steps
    from wizloop.history import history
    from wizloop.results import reading
    from wizloop.results.database import Database, location

    url = location(database)
    if optional and (database, word, base) == (None, None, None) and not Path(url.database or "").exists():
        return Stored(None, [], None, [])
    wanted = steps.load(intended) if intended is not None else ()
    with Database(url, writable=False) as opened:
        runs = reading.runs(opened)
        chosen = _chosen(runs, word, opened.name)
        earlier = runs[: runs.index(chosen)]
        points = reading.points(opened)
        new = sides.find(f"run:{chosen.id}", lambda: opened)
        against = sides.find(base, lambda: opened) if base else _before(chosen, new, earlier, points, opened)
        compared = None
        if against is not None:
            limits = comparison.Limits(host_noise_pct_max=max_noise)
            compared = comparison.compare(against, new, wanted, limits)
        shown = [*earlier, chosen][-last:]
        ids = {run.id for run in shown}
        series = history(shown, [point for point in points if point.run in ids], wanted, max_noise)
        return Stored(chosen, reading.figures(opened, [chosen.id]), compared, series)


def _chosen(runs: list[StoredRun], word: str | None, place: str) -> StoredRun:
    meant = [run for run in runs if word is None or word in (str(run.id), run.head.label)]
    if not meant:
        said = "no run is stored" if word is None else f"no stored run has the number or label '{word}'"
        raise NothingMeasured(f"{said} in {place}")
    return meant[-1]


def _before(
    run: StoredRun, new: Side, earlier: list[StoredRun], points: list[Point], opened: Database
) -> Side | None:
    """What an ended run of the same label has left.

    A night that gave no exact figures, or not all, hides nothing from the next: each is compared with the newest that
    there is. What is missing is told of one run, so that it is told once.
    """
    from wizloop.compare import sides
    from wizloop.results import reading
    from wizloop.results.schema import VIRTUAL

    alike = [other.id for other in earlier if other.head.label == run.head.label and other.ended is not None]
    if not alike:
        return None
    order = {number: place for place, number in enumerate(alike)}
    exact = [p for p in points if p.run in order and p.clock == VIRTUAL and p.value is not None]
    wanted = {key for key, figure in new.figures.items() if figure.head.clock == VIRTUAL}
    newest = max((order[p.run] for p in exact), default=len(alike) - 1) if wanted else len(alike) - 1
    base = sides.find(f"run:{alike[newest]}", lambda: opened)
    source = {}
    for p in sorted(exact, key=lambda p: order[p.run]):
        source[p.dut, p.name, p.path, p.unit] = p.run
    older = {key: source[key] for key in wanted & source.keys() if source[key] != alike[newest]}
    if not older:
        return base
    stored = reading.figures(opened, sorted(set(older.values())))
    found = {(figure.run, sides.key_of(figure.head)): figure for figure in stored}
    figures = {**base.figures, **{key: found[source_run, key] for key, source_run in older.items()}}
    said = f"{base.said}; {len(older)} of its figures from earlier runs"
    return sides.Side(said, base.commit, figures)


def _published() -> dict[tuple[str, str], Published]:
    """By board and figure; nothing where the simulator is not built: stored runs can be reported without it."""
    from wizloop.report.contents import Published

    try:
        loaded = boards.load(None)
    except WizloopError:
        return {}
    return {
        (board.name, figure.id): Published(figure.published, figure.unit, board.basis_of(figure.id))
        for board in loaded
        for figure in board.figures
    }


def _command(figure: StoredFigure) -> str:
    """Measures a figure of the model again. A board whose file is gone keeps its name."""
    head = figure.head
    try:
        file = boards.find(head.board)
    except WizloopError:
        file = Path(f"{head.board}.toml")
    return repeat.command(Request(head.scenario, file, head.path, head.library, head.seed, dict(head.parameters)))
