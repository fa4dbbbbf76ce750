"""Steps in a series that scatters: where the level of a figure changed for good, and how it drifts since.

    for step in steps(logarithms): step.index, step.change

The level is taken for constant between steps, and the steps are those that make the squared distance to it plus a
penalty for each step the least of all ways to cut the series (optimal partitioning: exact, not greedy). The penalty
grows with the scatter, which is measured on differences, so that the steps themselves do not count as scatter. One bad
night is no step: single values far from their surroundings are drawn in first, and a level lasts at least LEVEL_MIN
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

LEVEL_MIN = 3
SCATTER_LEAST = 0.0005  # values are counted in ticks: equal ones are no proof of a board without scatter
PENALTY = (
    7.0  # times scatter squared times log(count): neighbouring nights are alike, which asks for more than the usual 3
)
FAR_OFF = 4.0  # times the scatter
_NORMAL = 1.4826  # from the median absolute deviation to the standard deviation of a normal distribution


@dataclass(frozen=True)
class Step:
    index: int  # of the first value of the new level
    before: float  # the levels: medians
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class Trend:
    """By how much the last level drifts from its first value to its last, with a 95 % interval."""

    count: int
    change: float
    low: float
    high: float


def steps(values: Sequence[float], effect_min: float) -> list[Step]:
    """Of at least effect_min, in the unit of the values (logarithms make it a share)."""
    if len(values) < 2 * LEVEL_MIN:
        return []
    series = np.asarray(values, dtype=np.float64)
    scatter = _scatter(series)
    calm = _drawn_in(series, FAR_OFF * scatter)
    cuts = _cuts(calm, PENALTY * scatter**2 * np.log(len(series)))
    while True:
        levels = [float(np.median(calm[a:b])) for a, b in zip([0, *cuts], [*cuts, len(calm)], strict=True)]
        sizes = [abs(after - before) for before, after in zip(levels, levels[1:], strict=False)]
        if not sizes or min(sizes) >= effect_min:
            return [Step(*step) for step in zip(cuts, levels, levels[1:], strict=False)]
        del cuts[int(np.argmin(sizes))]


def trend(level: Sequence[float]) -> Trend | None:
    """By the median of all slopes (Theil and Sen); none for fewer values than a level has."""
    if len(level) < LEVEL_MIN:
        return None
    slope, _, low, high = stats.theilslopes(level, alpha=0.95)
    span = len(level) - 1
    return Trend(len(level), float(slope * span), float(low * span), float(high * span))


def _scatter(series: Floats) -> float:
    """The standard deviation within a level. Neighbours may be alike, so the widest of three distances counts."""
    widths = [float(np.median(np.abs(series[lag:] - series[:-lag]))) * _NORMAL / np.sqrt(2) for lag in (1, 2, 3)]
    return float(max([SCATTER_LEAST, *widths]))


def _drawn_in(series: Floats, reach: float) -> Floats:
    """Values further from the median of their five surroundings are moved to that distance."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(series, 2, mode="reflect"), 5)
    surroundings = np.median(windows, axis=1)
    return np.clip(series, surroundings - reach, surroundings + reach)


def _cuts(series: Floats, penalty: float) -> list[int]:
    count = len(series)
    sums = np.concatenate([[0.0], np.cumsum(series)])
    squares = np.concatenate([[0.0], np.cumsum(series**2)])
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    last = np.zeros(count + 1, dtype=int)
    for end in range(LEVEL_MIN, count + 1):
        start = np.arange(end - LEVEL_MIN + 1)
        within = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)
        cost = best[start] + within + penalty
        last[end] = int(np.argmin(cost))
        best[end] = cost[last[end]]
    cuts: list[int] = []
    end = count
    while end > 0 and last[end] > 0:
        end = int(last[end])
        cuts.insert(0, end)
    return cuts
