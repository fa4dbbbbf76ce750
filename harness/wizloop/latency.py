"""What the course of round trips tells about firmware.

    said([493, 291, 89, 894, 695, 493], interval_ms=200)   # "1 s poll fallback: an interrupt is lost or not wired"

Firmware that misses its interrupt answers when it looks of its own accord, each second, say. A request that comes each
200 ms then waits 200 ms less each time, and a whole period more where that would be below zero: a saw-tooth.
"""

from __future__ import annotations

from collections.abc import Sequence

PERIODS_MS = (1000.0, 500.0, 2000.0, 100.0, 5000.0, 10_000.0)  # that people choose, the usual one first
STEPS_MIN = 4
TOLERANCE_PCT = 3.0  # of the period
LONGEST_SHARE_MIN = 0.5  # of the period: round trips that stay short wait for nothing


def fallback_ms(round_trips_ms: Sequence[float], interval_ms: float) -> float | None:
    """The period with which the board looks by itself; None: the round trips do not say so."""
    steps = list(zip(round_trips_ms, round_trips_ms[1:], strict=False))
    if len(steps) < STEPS_MIN:
        return None
    for period in PERIODS_MS:
        if not LONGEST_SHARE_MIN * period <= max(round_trips_ms) <= (1 + TOLERANCE_PCT / 100) * period:
            continue
        if interval_ms % period and all(_falls(before, after, interval_ms, period) for before, after in steps):
            return period
    return None


def _falls(before_ms: float, after_ms: float, interval_ms: float, period_ms: float) -> bool:
    off = (after_ms - before_ms + interval_ms) % period_ms
    return min(off, period_ms - off) <= TOLERANCE_PCT / 100 * period_ms


def said(round_trips_ms: Sequence[float], interval_ms: float) -> str:
    """The cause, for people; empty: nothing strikes the eye."""
    period = fallback_ms(round_trips_ms, interval_ms)
    return f"{period / 1000:g} s poll fallback: an interrupt is lost or not wired" if period else ""
