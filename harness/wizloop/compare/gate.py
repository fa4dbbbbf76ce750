"""The verdict on one figure in real time: two sides, measured in turn on one board.

    verdict = judge(pairs([("base", 17.9), ("new", 17.1), ...]), lower_is_better=False)

What a rack does to a figure, it does to both sides: the board warms up, the host gets busy. So the samples are taken in
turn (base, new, new, base ...) and neighbours form a pair; the slowdown of a pair is the logarithm of its ratio, and
what drifts slowly drops out. Four things must come together for an alarm:

1. the median slowdown reaches `effect_pct_min`: what is smaller is nobody's concern;
2. its bootstrap interval leaves out zero. Blocks of neighbours are drawn, since neighbouring pairs are not independent;
3. the Mann-Whitney U test tells the two sides apart, after the level of their surroundings is taken off;
4. all that holds for the second half of the pairs alone, too: the confirmation.

A pass says how large a slowdown it can exclude; where that is no better than `resolution_pct_max`, there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy import stats

BASE, NEW = "base", "new"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """When a move counts. The defaults are those that the gate's own test holds up."""

    effect_pct_min: float = 1.0
    alpha: float = 0.01  # of interval and test, on all pairs
    confirm_alpha: float = 0.05  # the same on the second half
    pairs_min: int = 10  # below, nothing is said
    confirm_pairs_min: int = 20  # below, a suspicion stays one
    resolution_pct_max: float = 5.0
    void_share_max: float = 0.1  # of a side's samples


class State(Enum):
    PASS = "pass"
    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCONFIRMED = "unconfirmed"  # too few pairs to confirm a suspicion
    UNCLEAR = "unclear"  # too noisy to exclude a slowdown that matters
    TOO_FEW = "too few samples"


@dataclass(frozen=True)
class Verdict:
    state: State
    pairs: int
    slower_pct: float | None = None  # median; negative: faster
    low_pct: float | None = None  # the interval around it
    high_pct: float | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class _Estimate:
    slower: float  # logarithms of ratios
    low: float
    high: float
    p_value: float

    def moved(self, alpha: float, effect: float) -> bool:
        return abs(self.slower) >= effect and (self.low > 0 or self.high < 0) and self.p_value < alpha


def pairs(samples: Iterable[tuple[str, float]]) -> list[tuple[float, float]]:
    """(base, new) of neighbours of different sides, from all samples in the order in which they were taken."""
    found: list[tuple[float, float]] = []
    waiting: tuple[str, float] | None = None
    for side, value in samples:
        if waiting is None or waiting[0] == side:
            waiting = (side, value)
        else:
            found.append((value, waiting[1]) if side == BASE else (waiting[1], value))
            waiting = None
    return found


def judge(in_turn: Sequence[tuple[float, float]], lower_is_better: bool, limits: Limits = Limits()) -> Verdict:
    """Of pairs (base, new) in the order in which they were taken; all values above zero."""
    count = len(in_turn)
    if count < limits.pairs_min:
        return Verdict(State.TOO_FEW, count)
    logs = np.log(np.asarray(in_turn, dtype=np.float64))
    if not lower_is_better:
        logs = -logs
    whole = _estimate(logs, limits.alpha)

    def verdict(state: State) -> Verdict:
        return Verdict(state, count, _pct(whole.slower), _pct(whole.low), _pct(whole.high), whole.p_value)

    effect = math.log1p(limits.effect_pct_min / 100)
    if whole.moved(limits.alpha, effect):
        if count < limits.confirm_pairs_min:
            return verdict(State.UNCONFIRMED)
        second = _estimate(logs[count // 2 :], limits.confirm_alpha)
        if second.moved(limits.confirm_alpha, effect) and (second.slower > 0) == (whole.slower > 0):
            return verdict(State.REGRESSED if whole.slower > 0 else State.IMPROVED)
    return verdict(State.PASS if _pct(whole.high) <= limits.resolution_pct_max else State.UNCLEAR)


def _estimate(logs: Floats, alpha: float) -> _Estimate:
    slowdowns = logs[:, 1] - logs[:, 0]
    low, high = np.quantile(_resampled_medians(slowdowns), [alpha / 2, 1 - alpha / 2])
    level = _level(logs.mean(axis=1))
    p_value = stats.mannwhitneyu(logs[:, 0] - level, logs[:, 1] - level).pvalue
    return _Estimate(float(np.median(slowdowns)), float(low), float(high), float(p_value))


RESAMPLES = 1000


def _resampled_medians(values: Floats) -> Floats:
    """Moving blocks, as scipy.stats.bootstrap has none; the seed is fixed, so that a verdict can be repeated."""
    count = len(values)
    block = max(1, round(count ** (1 / 3)))
    random = np.random.default_rng(count)
    starts = random.integers(0, count - block + 1, size=(RESAMPLES, -(-count // block)))
    drawn = (starts[:, :, None] + np.arange(block)).reshape(RESAMPLES, -1)[:, :count]
    medians: Floats = np.median(values[drawn], axis=1)
    return medians


LEVEL_REACH = 5  # pairs to each side


def _level(values: Floats) -> Floats:
    """What both sides have in common at each pair: the median of its surroundings."""
    padded = np.pad(values, LEVEL_REACH, mode="reflect")
    level: Floats = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * LEVEL_REACH + 1), axis=1)
    return level


def _pct(log_ratio: float) -> float:
    return 100 * math.expm1(log_ratio)
