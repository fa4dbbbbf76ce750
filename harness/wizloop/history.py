"""Every figure over the runs that are stored: its steps, its drift since the last one, and its distance to the model.

    for series in history(reading.runs(database), reading.points(database)): series.steps, series.trend

In virtual time each change is a step. In real time the medians of runs scatter, and `changepoints` finds the steps,
among the runs that a host quiet enough has measured;
whether the model stepped with the board says whether it was code or rack.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from wizloop import changepoints
from wizloop.bench import lower_is_better
from wizloop.compare import noise
from wizloop.compare import steps as intended
from wizloop.results.reading import Point, StoredRun
from wizloop.results.schema import VIRTUAL

EFFECT_PCT_MIN = 1.0
MODEL_MOVES_PCT = 0.1


@dataclass(frozen=True)
class Moment:
    """A run, as far as a step needs it."""

    run: int
    label: str
    commit: str
    modified: bool
    started: datetime


@dataclass(frozen=True)
class Step:
    at: Moment  # the first run of the new level
    before: float
    after: float
    change_pct: float | None  # None: from zero
    slower: bool
    moved: str  # "code" or "rack"; empty: no prediction
    intended: str  # the reason; empty: nobody wanted it


@dataclass(frozen=True)
class Trend:
    """Drift of the last level, from its first run to its last, with a 95 % interval."""

    runs: int
    change_pct: float
    low_pct: float
    high_pct: float

    @property
    def certain(self) -> bool:
        return self.low_pct > 0 or self.high_pct < 0


@dataclass(frozen=True)
class Series:
    name: str
    dut: str
    board: str
    path: str
    unit: str
    clock: str
    runs: tuple[Moment, ...]
    values: tuple[float, ...]
    predicted: tuple[float | None, ...]
    void: int  # runs that gave no value
    noisy: int  # runs whose value is not among these, as the host was too noisy
    steps: tuple[Step, ...]
    trend: Trend | None  # None: exact, or too few runs

    @property
    def gaps_pct(self) -> list[float]:
        """Distance to the model of each run that has a prediction."""
        both = zip(self.values, self.predicted, strict=True)
        return [100 * (value / model - 1) for value, model in both if model]


def history(
    runs: Sequence[StoredRun],
    points: Iterable[Point],
    wanted: Sequence[intended.Step] = (),
    host_noise_pct_max: float = noise.NOISE_PCT_MAX,
) -> list[Series]:
    """The series in the order in which they first appear; their values in the order of the runs."""
    order = {run.id: place for place, run in enumerate(runs)}
    of_figure: dict[tuple[str, str, str, str], list[Point]] = {}
    for point in points:
        of_figure.setdefault((point.dut, point.name, point.path, point.unit), []).append(point)
    models = {
        (point.run, point.name, point.board, point.path, point.unit): point.value
        for found in of_figure.values()
        for point in found
        if point.clock == VIRTUAL
    }
    moments = {run.id: Moment(run.id, run.head.label, run.head.commit, run.head.modified, run.started) for run in runs}
    series = []
    for found in of_figure.values():
        found.sort(key=lambda point: order[point.run])
        series.append(_series(found, moments, models, wanted, host_noise_pct_max))
    return series


def _series(
    found: list[Point],
    moments: dict[int, Moment],
    models: dict[tuple[int, str, str, str, str], float | None],
    wanted: Sequence[intended.Step],
    host_noise_pct_max: float,
) -> Series:
    first = found[0]
    quiet = [point for point in found if not noise.too_much(point.host_noise_pct, host_noise_pct_max)]
    valid = [(point, point.value) for point in quiet if point.value is not None]
    values = [value for _, value in valid]
    predicted: list[float | None] = [None] * len(valid)
    if first.clock != VIRTUAL:
        twins = [(p.run, p.name, p.board, p.path, p.unit) for p, _ in valid]
        predicted = [
            models.get(twin) if p.predicted is None else p.predicted for (p, _), twin in zip(valid, twins, strict=True)
        ]
    at = [moments[point.run] for point, _ in valid]
    cuts = _exact_cuts(values) if first.clock == VIRTUAL else _cuts(values)
    steps = []
    starts = [0, *(index for index, _, _ in cuts), len(values)]
    for place, (index, before, after) in enumerate(cuts):
        change = 100 * (after / before - 1) if before else None
        slower = (after > before) == lower_is_better(first.unit)
        moved = ""
        if first.clock != VIRTUAL and change is not None:
            level_before, level_after = predicted[starts[place] : index], predicted[index : starts[place + 2]]
            moved = _moved(_level(level_before), _level(level_after), change)
        steps.append(Step(at[index], before, after, change, slower, moved, _reason(first, change, at[index], wanted)))
    level = values[cuts[-1][0] :] if cuts else values
    return Series(
        name=first.name,
        dut=first.dut,
        board=first.board,
        path=first.path,
        unit=first.unit,
        clock=first.clock,
        runs=tuple(at),
        values=tuple(values),
        predicted=tuple(predicted),
        void=len(quiet) - len(valid),
        noisy=len(found) - len(quiet),
        steps=tuple(steps),
        trend=None if first.clock == VIRTUAL else _trend(level),
    )


def _exact_cuts(values: Sequence[float]) -> list[tuple[int, float, float]]:
    return [(i, values[i - 1], values[i]) for i in range(1, len(values)) if values[i] != values[i - 1]]


def _cuts(values: Sequence[float]) -> list[tuple[int, float, float]]:
    if any(value <= 0 for value in values):
        return []
    effect = math.log1p(EFFECT_PCT_MIN / 100)
    found = changepoints.steps([math.log(value) for value in values], effect)
    return [(step.index, math.exp(step.before), math.exp(step.after)) for step in found]


def _trend(level: Sequence[float]) -> Trend | None:
    if any(value <= 0 for value in level):
        return None
    drift = changepoints.trend([math.log(value) for value in level])
    if drift is None:
        return None
    return Trend(drift.count, *(100 * math.expm1(change) for change in (drift.change, drift.low, drift.high)))


def _level(predicted: Sequence[float | None]) -> float | None:
    known = [value for value in predicted if value is not None]
    return statistics.median(known) if known else None


def _moved(before: float | None, after: float | None, change_pct: float) -> str:
    """Code, if the model stepped in the same direction between the same two levels."""
    if not before or not after:
        return ""
    model_pct = 100 * (after / before - 1)
    return "code" if abs(model_pct) >= MODEL_MOVES_PCT and (model_pct > 0) == (change_pct > 0) else "rack"


def _reason(figure: Point, change_pct: float | None, at: Moment, wanted: Sequence[intended.Step]) -> str:
    if change_pct is None:
        return ""
    of = (figure.name, figure.board, figure.path, figure.dut, change_pct, at.commit)
    return next((step.reason for step in wanted if step.covers(*of)), "")
