"""Measures two sides in turn on one board, so that what the rack does meanwhile happens to both.

    side_by_side({BASE: Target(base_run, head), NEW: Target(new_run, head)}, take)

`take` puts the firmware of a side onto the board, if it is not there, and measures once. Which side goes first changes
from round to round by seeded chance: whatever has a rhythm of its own favours neither.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from wizloop.compare import noise
from wizloop.compare.gate import BASE, NEW
from wizloop.results.recording import FigureHead, Recorder, Sample

# Finds a slowdown of 3 % in nine of ten cases on a board whose figures scatter by 3 %: tests/harness/gate_test.py.
ROUNDS = 60


@dataclass(frozen=True)
class Target:
    """The run and the figure that a side's samples go to."""

    recorder: Recorder
    head: FigureHead


def order(rounds: int, seed: int = 1) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(rounds):
        yield from (BASE, NEW) if chance.random() < 0.5 else (NEW, BASE)


def side_by_side(
    targets: Mapping[str, Target],
    take: Callable[[str], Sample],
    rounds: int = ROUNDS,
    seed: int = 1,
    host_noise_pct: Callable[[], float] = noise.measure_pct,
) -> None:
    """Each sample is stored as soon as it is taken, with the noise of this machine just before."""
    figures = {side: target.recorder.figure(target.head) for side, target in targets.items()}
    for side in order(rounds, seed):
        disturbed = host_noise_pct()
        targets[side].recorder.sample(figures[side], replace(take(side), host_noise_pct=disturbed))
