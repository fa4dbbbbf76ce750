"""How much this machine disturbs what it measures.

A fixed piece of work is timed many times in a row, for longer than a scheduler's time slice: where others want the
cores, the mean is far above the shortest time (twice that, on two cores with eight busy processes). Taken beside each
sample in real time, and stored with it; a figure from a machine noisier than NOISE_PCT_MAX gets no verdict.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable

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
