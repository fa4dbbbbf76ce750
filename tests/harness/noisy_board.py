"""A board on a rack whose figures scatter, drift and jump: seeded, so that a test of statistics can be repeated.

The shape is that of 5939 transfers of 2 MiB over loopback, timed on a shared 2-core machine under load 5: a long tail
on the slow side only (skewness of the logarithms +1.7, one sample in six beyond four robust deviations, none on the
fast side), ranks that correlate with their neighbours (0.4) and still do twenty samples on (0.2), quarters of the
session whose medians lie up to 15 % apart. The size is scaled to that of a board whose transfers take seconds:
deviation about 3 %, one sample in 30 far off.
"""

from __future__ import annotations

import numpy as np

SCATTER_PCT = 1.5  # Student's t with three degrees of freedom: heavy on both sides
WANDER_PCT, WANDER_KEEPS = 1.2, 0.8  # an autoregressive part: neighbours are alike
DRIFT_PCT = 3.0  # over a session: warming up, or a night that gets quieter
OUTLIERS, OUTLIER_PCT = 1 / 30, 15.0  # slower only, by an exponential amount
RESOLUTION_US = 100.0  # the agent counts whole ticks


class NoisyBoard:
    """Seconds of one transfer after the other."""

    def __init__(self, seed: int, session: int = 120) -> None:
        self._random = np.random.default_rng([seed, 0x77697A])
        self._session = session
        self._taken = 0
        self._wander = self._random.normal() * WANDER_PCT
        self._drift = self._random.uniform(-DRIFT_PCT, DRIFT_PCT)
        self._period = self._random.uniform(0.5, 2.0)

    def seconds(self, of: float) -> float:
        """What a transfer that should take so long takes now."""
        random = self._random
        self._wander = WANDER_KEEPS * self._wander + random.normal() * WANDER_PCT * np.sqrt(1 - WANDER_KEEPS**2)
        drift = self._drift * np.sin(self._period * np.pi * self._taken / self._session)
        slower_pct = self._wander + drift + random.standard_t(3) * SCATTER_PCT
        if random.random() < OUTLIERS:
            slower_pct += random.exponential(OUTLIER_PCT)
        self._taken += 1
        ticks = np.round(1e6 * of * np.exp(slower_pct / 100) / RESOLUTION_US)
        return float(max(ticks, 1.0) * RESOLUTION_US / 1e6)
