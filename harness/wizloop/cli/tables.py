"""The bench table as lines of text, one line a figure where there is room, else two."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from wizloop.bench import EXPLAIN_ABOVE_PCT, Bench, FigureRow, OwnDriverRow, Summary
from wizloop.budget import MEANINGS, SHORT_NAMES
from wizloop.simulator import Board

LEGEND = (
    "From clock to idle: percent of the measured time; a row adds up to 100.0.",
    *(f"  {SHORT_NAMES[account]:6}  {meaning}" for account, meaning in MEANINGS.items()),
)
NARROWEST = 80
TEXT_WIDTH_MAX = 120  # sentences stay readable however wide the terminal is


@dataclass(frozen=True)
class Column:
    heading: str
    right: bool = False


FIGURE_COLUMNS = {
    "id": Column("id"),
    "board": Column("board"),
    "pattern": Column("library"),
    "path": Column("path"),
    "mhz": Column("MHz", right=True),
    "what": Column("what"),
    "published": Column("published", right=True),
    "simulated": Column("simulated", right=True),
    "unit": Column("unit"),
    "error": Column("error", right=True),
    "basis": Column("basis"),
}
# The heading of each board says the rest.
NARROW_COLUMNS = [name for name in FIGURE_COLUMNS if name not in ("board", "pattern")]
BUDGET_COLUMNS = {account: Column(short, right=True) for account, short in SHORT_NAMES.items()}


def number(value: float) -> str:
    """Four digits or more, never an exponent."""
    size = abs(value)
    decimals = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 4
    return f"{value:.{decimals}f}"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f}%"


def render(bench: Bench, columns: int) -> tuple[list[Text], int]:
    """The lines and the width that the longest of them needs."""
    cells = [_cells(row) for row in bench.figures]
    widths = {
        name: max([len(column.heading), *(len(line[name]) for line in cells)])
        for name, column in {**FIGURE_COLUMNS, **BUDGET_COLUMNS}.items()
    }
    one_line = sum(widths.values()) + 2 * len(FIGURE_COLUMNS) + len(BUDGET_COLUMNS) - 1
    roomy = columns >= one_line
    text_width = max(NARROWEST, min(columns, TEXT_WIDTH_MAX))

    lines = [*(Text(line, style="dim") for line in LEGEND), Text()]
    for board in bench.boards:
        rows = [(row, line) for row, line in zip(bench.figures, cells, strict=True) if row.board == board.name]
        lines += [*_board_heading(board, text_width), *_headings(widths, roomy)]
        for row, line in rows:
            lines += _figure_lines(row, line, widths, roomy)
        lines += _under_board(bench, board, [row for row, _ in rows], text_width)
        lines.append(Text())
    lines += _summary(bench.summary)
    return lines, max(line.cell_len for line in lines)


def _cells(row: FigureRow) -> dict[str, str]:
    measured = any(row.budget_pct.values())
    return {
        "id": row.id,
        "board": row.board,
        "pattern": row.pattern,
        "path": row.path,
        "mhz": f"{row.spi_hz / 1e6:.4g}",
        "what": f"{row.protocol} {row.direction}",
        "published": f"{row.published:g}",
        "simulated": "-" if row.simulated is None else number(row.simulated),
        "unit": row.unit,
        "error": percent(row.error_pct),
        "basis": row.basis,
        **{account: f"{row.budget_pct[account]:.1f}" if measured else "-" for account in BUDGET_COLUMNS},
    }


def _board_heading(board: Board, text_width: int) -> Iterator[Text]:
    for line in _wrapped(f"{board.name}  {board.title}: {board.mcu}, library {board.library}", text_width, indent=0):
        line.highlight_words([board.name], "bold")
        yield line


def _headings(widths: dict[str, int], roomy: bool) -> Iterator[Text]:
    columns = {**FIGURE_COLUMNS, **BUDGET_COLUMNS}
    headings = {name: column.heading for name, column in columns.items()}
    for line in _laid_out(headings, widths, roomy):
        line.stylize("dim")
        yield line


def _figure_lines(row: FigureRow, cells: dict[str, str], widths: dict[str, int], roomy: bool) -> Iterator[Text]:
    first, *rest = _laid_out(cells, widths, roomy)
    if row.failure:
        first.stylize("red")
    elif row.error_pct is not None and abs(row.error_pct) > EXPLAIN_ABOVE_PCT:
        first.stylize("yellow")
    for line in rest:
        line.stylize("dim")
    yield first
    yield from rest


def _laid_out(cells: dict[str, str], widths: dict[str, int], roomy: bool) -> list[Text]:
    def line(columns: dict[str, Column], gap: str) -> str:
        padded = [
            cells[name].rjust(widths[name]) if column.right else cells[name].ljust(widths[name])
            for name, column in columns.items()
        ]
        return gap.join(padded)

    if roomy:
        return [Text(line(FIGURE_COLUMNS, "  ") + "  " + line(BUDGET_COLUMNS, " "))]
    narrow = {name: FIGURE_COLUMNS[name] for name in NARROW_COLUMNS}
    return [Text(line(narrow, " ").rstrip()), Text(" " * (widths["id"] + 1) + line(BUDGET_COLUMNS, " "))]


def _under_board(bench: Bench, board: Board, rows: Sequence[FigureRow], text_width: int) -> Iterator[Text]:
    own = [row for row in bench.same_board if row.board == board.name]
    yield Text("  same board, wizloop driver, best of " + ", ".join(board.paths))
    for ours in own:
        yield from _wrapped(_own_driver_sentence(ours), text_width)
    for ours in own:
        for failed in ours.failures:
            yield from _failure(f"{ours.figure}, wizloop driver", failed["failure"], failed["repeat"], text_width)
    for row in rows:
        if row.failure:
            yield from _failure(row.id, row.failure, row.repeat, text_width)
    for row in rows:
        if row.error_pct is not None and abs(row.error_pct) > EXPLAIN_ABOVE_PCT:
            reason = row.why or "the board file gives no reason"
            yield from _wrapped(f"{row.id} is off by {percent(row.error_pct)}: {reason}", text_width, indent=2)
    for row in rows:
        if row.decided:
            yield from _wrapped(f"{row.id} is no prediction: {row.decided}", text_width, indent=2)
    for current in bench.supply_current:
        if current.board == board.name:
            yield Text(
                f"  module current: published {current.published_ma:g} mA, simulated {number(current.simulated_ma)} mA"
                f" ({percent(current.error_pct)})"
            )
    announced = {f["rule"]: f["announced"] for row in rows for f in row.findings if f["announced"] is not None}
    for rule, reason in sorted(announced.items()):
        yield from _wrapped(f"announced finding {rule}: {reason}", text_width, indent=2)


def _own_driver_sentence(row: OwnDriverRow) -> str:
    start = f"{row.protocol} {row.direction} as {row.figure}: "
    if row.value is None:
        return start + "no value"
    speed = ""
    if row.speedup is not None and row.library_value is not None:
        speed = f", {row.speedup:.2f} times as fast as the library ({number(row.library_value)})"
    return f"{start}{number(row.value)} {row.unit} over {row.path}{speed}"


def _failure(what: str, failure: str, repeat: str, text_width: int) -> Iterator[Text]:
    for line in _wrapped(f"{what} failed: {failure}", text_width, indent=2):
        line.stylize("red")
        yield line
    yield Text(f"    repeat with: {repeat}")  # whole, for copying


def _wrapped(sentence: str, text_width: int, indent: int = 4) -> Iterator[Text]:
    margin = " " * indent
    for line in textwrap.wrap(sentence, text_width, initial_indent=margin, subsequent_indent=margin + "  "):
        yield Text(line)


def _figures(count: int) -> str:
    return f"{count} figure" + ("" if count == 1 else "s")


def _summary(summary: Summary) -> Iterator[Text]:
    if summary.fitted_error_pct_max is not None:
        yield Text(f"fitted:      {_figures(summary.fitted)}, each within {summary.fitted_error_pct_max:.1f} %")
    if summary.predicted_error_pct_max is not None:
        yield Text(
            f"predictions: {_figures(summary.predicted)}, median error {summary.predicted_error_pct_median:.1f} %, "
            f"worst {summary.predicted_error_pct_max:.1f} % ({summary.predicted_worst})"
        )
    if summary.failed:
        yield Text(f"failed:      {summary.failed} of {summary.runs} runs", style="red")
    yield Text(f"wall time:   {summary.wall_s:.1f} s for {summary.runs} runs")
