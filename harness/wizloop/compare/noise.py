"""How much this machine disturbs what it measures.

A fixed piece of work is timed many times in a row, for longer than a scheduler's time slice: where others want the
cores, the mean is far above the shortest time (twice that, on two cores with eight busy processes). Taken beside each
sample in real time, and stored with it; a figure from a machine noisier than NOISE_PCT_MAX gets no verdict.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Iterable

NOISE_PCT_MAX = 20.0

TIMES = 100
_BLOCK = bytes(1 << 18)  # a fraction of a millisecond


def _work() -> None:
    hashlib.sha256(_BLOCK).digest()


def measure_pct(clock: Callable[[], float] = time.perf_counter, work: Callable[[], None] = _work) -> float:
    """By how much the mean exceeds the shortest time."""
    taken = []
    for _ in range(TIMES):
        started = clock()
        work()
        taken.append(clock() - started)
    least = min(taken)
    return 100 * (statistics.fmean(taken) / least - 1) if least > 0 else 0.0


def typical_pct(measured: Iterable[float | None]) -> float | None:
    """Of samples, each with what was measured beside it; None: beside none of them."""
    known = [pct for pct in measured if pct is not None]
    return statistics.median(known) if known else None


def too_much(pct: float | None, pct_max: float) -> str:
    """Why a figure with that noise gets no verdict; empty: it is quiet enough, or nobody measured."""
    if pct is None or pct <= pct_max:
        return ""
    return f"the host's own noise is {pct:.0f} %, above {pct_max:g} %"
