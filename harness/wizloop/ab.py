"""Two boards, two firmwares of one board, or two of its paths: measured in turn and judged.

    result = run(Plan({BASE: Side("b1", path="byte"), NEW: Side("b1", path="burst")}), database, Stands(None, 1))
    result.comparison.sentence

Both sides are stored runs; each sample is on the disk when it is taken. A sample that the board could not give is void,
with the reason, and a board that nothing brings back ends it all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wizloop import boards
from wizloop.compare import comparison, interleave, noise, sides
from wizloop.compare.comparison import Comparison, Limits
from wizloop.compare.gate import BASE, NEW
from wizloop.compare.interleave import Target
from wizloop.compare.steps import Step
from wizloop.dut import controls, measure
from wizloop.dut.agent import VerbFailed
from wizloop.dut.device import Device
from wizloop.dut.peers import Peer
from wizloop.dut.stands import Stands
from wizloop.errors import InfrastructureError, NothingMeasured
from wizloop.results import recording
from wizloop.results.database import Database
from wizloop.results.recording import FigureHead, Sample
from wizloop.results.schema import REAL, VIRTUAL

FLASH_S = 600.0
LETTERS: Mapping[str, str] = {BASE: "A", NEW: "B"}


@dataclass(frozen=True)
class Side:
    dut: str  # an address, or the name of a board
    path: str = ""  # empty: the fastest that the board has
    flash: str = ""  # a command that puts its firmware onto the board; empty: it is there
    model: str = ""  # a stored run, or a file, with the model's figures; empty: the model is asked


@dataclass(frozen=True)
class Plan:
    sides: Mapping[str, Side]
    figures: Sequence[str] = tuple(measure.MEASUREMENTS)
    rounds: int = interleave.ROUNDS
    seed: int = 1
    label: str = "ab"
    steps: Sequence[Step] = ()
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Result:
    comparison: Comparison
    runs: tuple[int, int]


def run(
    plan: Plan,
    database: Database,
    stands: Stands,
    on_start: Callable[[int], None] = lambda total: None,
    on_sample: Callable[[], None] = lambda: None,
    host_noise_pct: Callable[[], float] = noise.measure_pct,
    say: Callable[[str], None] = lambda line: None,
) -> Result:
    bench = _Bench(plan, database, stands)
    heads = {side: bench.heads(side) for side in plan.sides}
    recorders = {}
    for side in plan.sides:
        label = f"{plan.label} {LETTERS[side]}"
        recorders[side] = recording.begin(database, recording.here(label), alone=True)
    exact = all(head.clock == VIRTUAL for of_side in heads.values() for head in of_side)
    rounds = 1 if exact else plan.rounds  # a second look at virtual time sees the same
    on_start(rounds * sum(len(of_side) for of_side in heads.values()))

    def take(side: str, head: FigureHead) -> Sample:
        sample = bench.take(side, head)
        on_sample()
        return sample

    targets = {side: Target(recorders[side], heads[side]) for side in plan.sides}
    with recording.told_when_interrupted(say, *recorders.values()):
        interleave.side_by_side(targets, take, rounds, plan.seed, (lambda: None) if exact else host_noise_pct)
    for recorder in recorders.values():
        recorder.end()
    runs = recorders[BASE].run, recorders[NEW].run
    before, after = (sides.across(sides.find(f"run:{number}", lambda: database)) for number in runs)
    return Result(comparison.compare(before, after, plan.steps, plan.limits), runs)


class _Bench:
    """The boards of both sides, with the firmware of one or the other on them."""

    def __init__(self, plan: Plan, database: Database, stands: Stands) -> None:
        self._plan = plan
        self._database = database
        self._stands = stands
        self._flashed: dict[str, str] = {}  # by board: whose firmware is on it
        self._models: dict[tuple[str, str, str], float | None] = {}

    def heads(self, side: str) -> list[FigureHead]:
        """What is measured on that side, once a look at its board has told whether it can be."""
        spec = self._plan.sides[side]
        device = self._board(side)
        try:
            if why := device.why_not(frozenset({"full", "host"})):
                raise NothingMeasured(f"{spec.dut} has no {why}")
            path = spec.path or device.paths[-1]
            if path not in device.paths:
                raise NothingMeasured(f"{spec.dut} has no {path} path, it has {', '.join(device.paths)}")
            clock, board = VIRTUAL if device.virtual else REAL, device.board
        finally:
            self._stands.give_back(spec.dut)
        return [self._head(spec, name, board, path, clock) for name in self._plan.figures]

    def _head(self, spec: Side, name: str, board: str, path: str, clock: str) -> FigureHead:
        what = measure.find(name)
        head = FigureHead(name, spec.dut, board, path, what.unit, clock, name, what.metric, "agent")
        return head if clock == VIRTUAL else replace(head, predicted=self._predicted(spec.model, head))

    def _predicted(self, word: str, head: FigureHead) -> float | None:
        """The model's figure: of the run that was named, or of the model as it is here."""
        if word:
            figures = sides.find(word, lambda: self._database).figures
            return comparison.median(figures.get((f"model:{head.board}", head.name, head.path, head.unit)))
        key = head.board, head.name, head.path
        if key not in self._models:
            self._models[key] = self._simulated(*key)
        return self._models[key]

    def _simulated(self, board: str, name: str, path: str) -> float | None:
        if board not in boards.names():
            return None
        sample = self._measured(f"model:{board}", self._stands.lend(f"model:{board}"), name, path)
        return None if recording.void_reason(sample) else sample.value

    def take(self, side: str, head: FigureHead) -> Sample:
        return self._measured(head.dut, self._board(side), head.name, head.path)

    def _measured(self, dut: str, device: Device, name: str, path: str) -> Sample:
        peer: Peer | None = None
        try:
            device.wait_for_link()
            peer = self._stands.peer_of(device)
            taken = measure.take(name, device, peer, path)
        except (VerbFailed, InfrastructureError) as error:
            device.suspect = True
            return Sample(None, void=str(error).splitlines()[0])
        finally:
            if peer is not None:
                peer.close()
            self._stands.give_back(dut)
        return Sample(taken.value, taken.firmware_count, taken.peer_count, taken.void)

    def _board(self, side: str) -> Device:
        """With the firmware of that side on it, and ready. The command that puts it there has the line for itself."""
        spec = self._plan.sides[side]
        if spec.flash and self._flashed.get(spec.dut) != side:
            self._stands.leave(spec.dut)
            controls.act(spec.flash, FLASH_S)
            self._flashed[spec.dut] = side
        return self._stands.lend(spec.dut)
