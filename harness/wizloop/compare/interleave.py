"""Measures two sides in turn, so that what the rack does meanwhile happens to both.

    side_by_side({BASE: Target(base_run, heads), NEW: Target(new_run, heads)}, take)

`take` puts the firmware of a side onto the board, if it is not there, and measures a figure once. Which side goes first
changes from round to round by seeded chance: whatever has a rhythm of its own favours neither.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wizloop.compare import noise
from wizloop.compare.gate import BASE, NEW
from wizloop.results.recording import FigureHead, Recorder, Sample

# Finds a slowdown of 3 % in nine of ten cases on a board whose figures scatter by 3 %: tests/harness/gate_test.py.
ROUNDS = 60


@dataclass(frozen=True)
class Target:
    """The run that a side's samples go to, and the figures that are taken in each of its turns."""

    recorder: Recorder
    heads: Sequence[FigureHead]


def order(rounds: int, seed: int = 1) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(rounds):
        yield from (BASE, NEW) if chance.random() < 0.5 else (NEW, BASE)


def side_by_side(
    targets: Mapping[str, Target],
    take: Callable[[str, FigureHead], Sample],
    rounds: int = ROUNDS,
    seed: int = 1,
    host_noise_pct: Callable[[], float | None] = noise.measure_pct,
) -> None:
    """Each sample is stored as soon as it is taken, with the noise of this machine just before."""
    figures = {
        side: [(head, target.recorder.figure(head)) for head in target.heads] for side, target in targets.items()
    }
    for side in order(rounds, seed):
        for head, figure in figures[side]:
            disturbed = host_noise_pct()
            targets[side].recorder.sample(figure, replace(take(side, head), host_noise_pct=disturbed))
