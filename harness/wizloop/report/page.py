"""The page: one HTML file that needs nothing but itself, and its JSON twin.

Plots are drawn by Plotly, whose code is part of the page and is run only once the page is there to read; small trends
and bars are SVG and need no code. A policy in the page's head forbids the browser to fetch anything.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from wizloop.budget import MEANINGS, SHORT_NAMES
from wizloop.compare.comparison import digits
from wizloop.errors import InfrastructureError
from wizloop.history import Series
from wizloop.report.condense import condensed
from wizloop.report.contents import COMMIT_DIGITS, GREEN, GREY, STEPPED, Contents, Figure, Gap, counted, step_said

HTML, JSON = "index.html", "report.json"
SPARK_POINTS, SPARK_WIDTH, SPARK_HEIGHT, SPARK_MARGIN = 120, 150.0, 28.0, 3.0
SPARK_SPAN_LEAST = 0.04  # of the value: noise of less than that looks calm
PLOT_POINTS = 1200
GAP_SCALE_LEAST_PCT = 10.0
_NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"


def write(folder: Path, contents: Contents, title: str, now: datetime | None = None) -> None:
    """`folder` is made if it is not there; each file is whole or as it was."""
    made = now or datetime.now(UTC)
    document = {"title": title, "made": made.isoformat(timespec="seconds"), **contents.to_json()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / JSON, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        _replace(folder / HTML, html(folder, contents, document, title, made))
    except OSError as error:
        raise InfrastructureError(f"cannot write the report into {folder}: {error.strerror}") from error


def html(folder: Path, contents: Contents, document: dict[str, Any], title: str, made: datetime) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("wizloop.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        quantity=quantity, signed=signed, duration=duration, spark=spark, link=lambda file: link(file, folder),
        file_name=lambda file: Path(file).name, counted=counted,
    )  # fmt: skip
    budgets = [figure for figure in contents.figures if figure.budget_pct]
    return environment.get_template("page.html.j2").render(
        title=title,
        made=made,
        contents=contents,
        commit_digits=COMMIT_DIGITS,
        by_dut=_by_dut(contents.figures),
        moved=sum(figure.light not in (GREEN, GREY) for figure in contents.figures),
        budgets=_by_dut(budgets),
        accounts=[(account, SHORT_NAMES[account], MEANINGS[account]) for account in SHORT_NAMES],
        bars=_gap_bars(contents.gaps),
        was=any(gap.before_pct is not None for gap in contents.gaps),
        gap_scale_pct=_gap_scale_pct(contents.gaps),
        step_said=step_said,
        stepped=STEPPED,
        style=_asset("page.css"),
        script=_asset("page.js"),
        plotly=_in_script(get_plotlyjs()) if any(figure.series for figure in contents.figures) else "",
        data=_json_in_script(_data(contents, document)),
        twin=JSON,
    )


# --- numbers, as people read them


def quantity(value: float | None) -> str:
    """Four digits, thousands apart."""
    if value is None:
        return "–"
    size = abs(value)
    decimals = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 3
    return f"{value:,.{decimals}f}".replace(",", _NARROW_SPACE).replace("-", "−")


def signed(pct: float | None) -> str:
    if pct is None:
        return "–"
    if pct == 0:
        return "0"
    return ("+" if pct > 0 else "−") + digits(abs(pct))


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def link(file: str, folder: Path) -> str:
    """From the page to a file, so that both can move together; a file of another drive or machine stays as it is."""
    relative = os.path.relpath(file, folder)
    return Path(relative).as_posix()


# --- pictures without code


@dataclass(frozen=True)
class Mark:
    x: float
    y: float
    kind: str  # a class of the style sheet


@dataclass(frozen=True)
class Spark:
    width: float
    height: float
    line: str  # of an SVG polyline
    marks: tuple[Mark, ...]
    said: str


def spark(series: Series) -> Spark:
    """A trend at a glance; steps are marked where they begin, the newest value at its end."""
    values = series.values
    low, high = min(values), max(values)
    middle, span = (low + high) / 2, max(high - low, SPARK_SPAN_LEAST * max(abs(low), abs(high)), 1e-12)
    last = max(1, len(values) - 1)

    def place(index: int) -> tuple[float, float]:
        x = SPARK_MARGIN + index / last * (SPARK_WIDTH - 2 * SPARK_MARGIN)
        y = SPARK_HEIGHT / 2 - (values[index] - middle) / span * (SPARK_HEIGHT - 2 * SPARK_MARGIN)
        return round(x, 1), round(y, 1)

    of_run = {at.run: index for index, at in enumerate(series.runs)}
    marks = [Mark(*place(of_run[step.at.run]), _kind(step)) for step in series.steps]
    said = f"{counted(len(values), 'run')}, from {quantity(low)} to {quantity(high)} {series.unit}"
    said += f", now {quantity(values[-1])}"
    if series.steps:
        said += f", {counted(len(series.steps), 'step')}"
    line = " ".join(f"{x:g},{y:g}" for x, y in map(place, condensed(values, SPARK_POINTS)))
    return Spark(SPARK_WIDTH, SPARK_HEIGHT, line, (*marks, Mark(*place(len(values) - 1), "now")), said)


def _kind(step: Any) -> str:
    return "intended" if step.intended else "slower" if step.slower else "faster"


@dataclass(frozen=True)
class GapBar:
    gap: Gap
    left_pct: float
    width_pct: float


def _gap_scale_pct(gaps: Sequence[Gap]) -> float:
    """The end of the axis: a multiple of 10 % beyond the widest gap."""
    widest = max((abs(gap.pct) for gap in gaps), default=0.0)
    return max(GAP_SCALE_LEAST_PCT, -(-widest // 10) * 10)


def _gap_bars(gaps: Sequence[Gap]) -> list[GapBar]:
    scale = _gap_scale_pct(gaps)
    bars = []
    for gap in gaps:
        share = 50 * gap.pct / scale
        bars.append(GapBar(gap, round(min(50.0, 50 + share), 2), round(max(abs(share), 0.4), 2)))
    return bars


# --- data for the script


def _data(contents: Contents, document: dict[str, Any]) -> dict[str, Any]:
    """What plots and their tables need, and no more: of each figure its series, of each run one line."""
    figures = []
    for figure, row in zip(contents.figures, document["figures"], strict=True):
        of = {"name": figure.name, "dut": figure.dut, "path": figure.path, "unit": figure.unit, "series": row["series"]}
        if figure.series is not None and figure.series.values:
            steps = {step.at.run for step in figure.series.steps}
            drawn = set(condensed(figure.series.values, PLOT_POINTS))
            begins = [place for place, at in enumerate(figure.series.runs) if at.run in steps]
            drawn.update(begins, (place - 1 for place in begins))
            of["drawn"] = sorted(drawn) if len(drawn) < len(figure.series.values) else None
        figures.append(of)
    runs = {
        run["id"]: [
            run["started"][:16].replace("T", " "),
            run["commit"][:COMMIT_DIGITS] + "+" * run["modified"],
            run["label"],
        ]
        for run in ({"id": moment["run"], **moment} for moment in document["runs"])
    }
    return {"runs": runs, "figures": figures}


def _by_dut(figures: Sequence[Figure]) -> dict[str, list[tuple[int, Figure]]]:
    """With the number of each, by which the script knows it."""
    grouped: dict[str, list[tuple[int, Figure]]] = {}
    for number, figure in enumerate(figures):
        grouped.setdefault(figure.dut, []).append((number, figure))
    return grouped


def _in_script(text: str) -> Markup:
    """For a script element: only the tag of one, or a comment with one in it, could end it; those stand in strings."""
    return Markup(re.sub(r"<(?=/?script|!--)", r"\\x3c", text, flags=re.IGNORECASE))


def _json_in_script(document: Any) -> Markup:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def _asset(name: str) -> Markup:
    return Markup(Path(__file__).with_name("page").joinpath(name).read_text(encoding="utf-8"))


def _replace(file: Path, text: str) -> None:
    beside = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
