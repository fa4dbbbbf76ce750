"""`wizloop compare`: whether a commit moved a figure, and whether that was code or rack."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.text import Text

from wizloop.cli import output
from wizloop.cli.recording import DatabaseOption
from wizloop.cli.tables import number
from wizloop.errors import NothingMeasured

if TYPE_CHECKING:
    from wizloop.compare.comparison import Comparison, Row
    from wizloop.compare.sides import Side
    from wizloop.results.database import Database

SIDE = "a stored run: its number, label or commit; or a file of bench --json"

MinEffectOption = Annotated[
    float, typer.Option(min=0.0, max=100.0, metavar="PCT", help="Smaller moves of samples are nobody's concern.")
]
MaxNoiseOption = Annotated[
    float, typer.Option(min=0.0, metavar="PCT", help="Judge no samples from a host noisier than that.")
]

BoardOption = Annotated[
    str | None,
    typer.Option(help="Only figures of this board, by its name, address or profile, as they are shown; * is any text."),
]


def compare(
    base: Annotated[str, typer.Argument(help=f"What to compare with, {SIDE}.")],
    new: Annotated[str, typer.Argument(help="What to judge, likewise.")],
    only: Annotated[str | None, typer.Option(metavar="ID", help="Only figures of this name; * is any text.")] = None,
    board: BoardOption = None,
    every: Annotated[bool, typer.Option("--all", help="Show exact figures that did not move, too.")] = False,
    across: Annotated[
        bool, typer.Option("--across", help="By name alone, whatever board and path; as `ab` does.")
    ] = False,
    intended: Annotated[Path | None, typer.Option(metavar="FILE", help="Steps that are wanted, in TOML.")] = None,
    min_effect: MinEffectOption = 1.0,
    max_noise: MaxNoiseOption = 20.0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the comparison as JSON too.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Compare the figures of two runs: exactly those in virtual time, by statistics those of boards.

    Exit code 0: nothing got slower; 3: something did; 1: an exact figure changed that nobody announced, or failed;
    4: not measured, or not well enough; 5: the host was too noisy.
    """
    # Here and not above: SciPy takes half a second to load.
    from wizloop.compare import comparison, gate, sides, steps

    wanted = steps.load(intended) if intended is not None else ()
    before, after = (_chosen(side, only, board) for side in _sides(base, new, database))
    if not before.figures and not after.figures:
        asked = [f"{word} {value}" for word, value in (("name", only), ("board", board)) if value is not None]
        raise NothingMeasured("no figure of either side" + (f" has the {' and '.join(asked)}" if asked else ""))
    if across:
        before, after = sides.across(before), sides.across(after)
    limits = comparison.Limits(gate.Limits(effect_pct_min=min_effect), host_noise_pct_max=max_noise)
    show(comparison.compare(before, after, wanted, limits), every, json)


def show(result: Comparison, every: bool, json: Path | None) -> NoReturn:
    """Says it, and ends with its exit code."""
    console = output.console(output.PIPE_WIDTH)
    for line in report(result, every):
        console.print(line)
    if json is not None:
        output.write_json(json, result.to_json())
    raise typer.Exit(result.exit_code)


def _sides(base: str, new: str, database: str | None) -> list[Side]:
    from wizloop.compare.sides import find
    from wizloop.results.database import Database, location

    opened: list[Database] = []

    def once() -> Database:
        if not opened:
            opened.append(Database(location(database), writable=False))
        return opened[0]

    try:
        return [find(word, once) for word in (base, new)]
    finally:
        for of_both in opened:
            of_both.close()


def _chosen(side: Side, only: str | None, board: str | None) -> Side:
    from wizloop.compare.sides import Side

    figures = {
        key: figure
        for key, figure in side.figures.items()
        if fnmatchcase(figure.head.name, only or "*") and is_of(figure.head.dut, figure.head.board, board)
    }
    return Side(side.said, side.commit, figures)


def is_of(dut: str, profile: str, board: str | None) -> bool:
    """Whether that is what --board means: one board of a rack, or all of a kind and their model."""
    return board is None or any(fnmatchcase(name, board) for name in (dut, profile))


def report(result: Comparison, every: bool) -> list[Text]:
    """By device: what moved or could not be judged, and how many exact figures did not move."""
    lines = [Text(f"base  {result.base.said}"), Text(f"new   {result.new.said}")]
    name = max((len(row.name) for row in result.rows), default=0)
    for dut in dict.fromkeys(row.dut for row in result.rows):
        of_dut = [row for row in result.rows if row.dut == dut]
        shown = [row for row in of_dut if every or row.state != "same"]
        same = len(of_dut) - len(shown)
        aside = f"  {same} of {len(of_dut)} figures are the same" if same else ""
        lines.append(Text.assemble((dut, "bold"), aside))
        for row in shown:
            lines += _row(row, name)
    for step in result.unused_steps:
        lines += output.wrapped(f"never needed: {step}", output.width(), indent=2)
    style = {0: "green", 1: "red", 3: "red"}.get(result.exit_code, "yellow")
    for line in output.wrapped(f"verdict: {result.sentence}", output.width(), indent=2):
        line.stylize(style)
        lines.append(line)
    return lines


STYLES = {"worse": "red", "regressed": "red", "failed": "red", "better": "yellow", "improved": "green", "same": "dim"}


def _row(row: Row, name: int) -> list[Text]:
    before, after = told_apart(row.base, row.new)
    change = "" if row.change_pct is None else f"{row.change_pct:+.2f}%"
    if row.change_pct and abs(row.change_pct) < 0.005:
        change = f"{row.change_pct:+.1g}%"
    line = f"  {row.name:<{name}} {row.path:<5} {before:>9} {after:>9} {row.unit:<9} {change:>8} {row.state}"
    lines = [Text(line.rstrip(), style=STYLES.get(row.state, ""))]
    asides = []
    if row.slower_low_pct is not None and row.slower_high_pct is not None and row.p_value is not None:
        asides.append(
            f"slower by {row.slower_pct:+.1f} % ({row.slower_low_pct:+.1f} to {row.slower_high_pct:+.1f}), "
            f"{row.pairs} pairs, p {'< 0.001' if row.p_value < 0.001 else f'= {row.p_value:.3f}'}"
        )
    if row.host_noise_pct is not None:
        asides.append(f"host noise {row.host_noise_pct:.0f} %")
    if row.other_events:
        asides.append("by another course of events")
    if row.why:
        asides.append(row.why)
    if asides:
        lines += output.wrapped("; ".join(asides), output.width(), "    ", indent=4)
    lines += _prediction(row)
    return lines


def _prediction(row: Row) -> list[Text]:
    from wizloop.compare.comparison import MOVED

    if row.prediction is None:
        return []
    told = row.prediction
    text = f"model {' -> '.join(told_apart(told.base, told.new))} {row.unit}"
    gaps = [gap for gap in (told.gap_base_pct, told.gap_new_pct) if gap is not None]
    if gaps:
        text += "; gap " + " -> ".join(f"{gap:+.1f} %" for gap in gaps)
    if told.gap_trend_points is not None:
        text += f" ({told.gap_trend_points:+.1f} points)"
    if told.moved:
        text += f"; {MOVED[told.moved]}"
    return output.wrapped(text, output.width(), "    ", indent=4)


def told_apart(before: float | None, after: float | None) -> tuple[str, str]:
    """Both in four digits, or in as many as they need to differ."""
    shown = tuple("-" if value is None else number(value) for value in (before, after))
    if before is None or after is None or before == after or shown[0] != shown[1]:
        return shown[0], shown[1]
    for significant in range(6, 17):
        shown = (f"{before:.{significant}g}", f"{after:.{significant}g}")
        if shown[0] != shown[1]:
            break
    return shown[0], shown[1]
