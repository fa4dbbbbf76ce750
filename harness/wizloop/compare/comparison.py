"""Two sides, figure by figure, and the verdict on all of them.

result = compare(find("golden.json", opened), find("out.json", opened))
result.exit_code, result.sentence
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any

from wizloop.bench import lower_is_better
from wizloop.compare import gate, noise
from wizloop.compare.gate import BASE, NEW, State
from wizloop.compare.sides import Side
from wizloop.compare.steps import Step
from wizloop.errors import InfrastructureError, NothingMeasured
from wizloop.results.reading import StoredFigure, StoredSample
from wizloop.results.schema import VIRTUAL


class Kind(Enum):
    """What a row means for the whole, and so for the exit code. The first of these that occurs decides."""

    REGRESSED = 3
    FAILED = 1
    REFUSED = InfrastructureError.exit_code
    NOT_MEASURED = NothingMeasured.exit_code
    FINE = 0
    NEWCOMER = -1  # says nothing about a comparison


# What can be said of a row, with what that means.
STATES = {
    "worse": Kind.REGRESSED,
    "regressed": Kind.REGRESSED,
    "better": Kind.FAILED,  # exact and not announced: somebody has to look at it
    "failed": Kind.FAILED,
    "noisy host": Kind.REFUSED,
    "void": Kind.NOT_MEASURED,
    "missing": Kind.NOT_MEASURED,
    "not in turn": Kind.NOT_MEASURED,
    "too few samples": Kind.NOT_MEASURED,
    "unclear": Kind.NOT_MEASURED,
    "unconfirmed": Kind.NOT_MEASURED,
    "same": Kind.FINE,
    "pass": Kind.FINE,
    "improved": Kind.FINE,
    "intended": Kind.FINE,
    "new": Kind.NEWCOMER,
}


@dataclass(frozen=True)
class Prediction:
    """The model's figures beside those of the board."""

    base: float | None
    new: float | None
    gap_base_pct: float | None  # of the board's figure to the model's
    gap_new_pct: float | None
    moved: str  # "code", "rack", "model" or "nothing"; empty: not known

    @property
    def gap_trend_points(self) -> float | None:
        if self.gap_base_pct is None or self.gap_new_pct is None:
            return None
        return self.gap_new_pct - self.gap_base_pct


@dataclass(frozen=True)
class Row:
    name: str
    dut: str
    board: str
    path: str
    unit: str
    clock: str
    state: str  # one of STATES
    base: float | None  # the median, where there are samples
    new: float | None
    change_pct: float | None = None  # of the value
    slower_pct: float | None = None  # the same as a slowdown, whether the unit counts time or rate
    slower_low_pct: float | None = None
    slower_high_pct: float | None = None
    p_value: float | None = None
    pairs: int = 0
    other_events: bool = False  # the same exact figure, by another course of events
    host_noise_pct: float | None = None
    prediction: Prediction | None = None
    why: str = ""

    @property
    def kind(self) -> Kind:
        return STATES[self.state]


@dataclass(frozen=True)
class Limits:
    gate: gate.Limits = field(default_factory=gate.Limits)
    host_noise_pct_max: float = noise.NOISE_PCT_MAX
    in_turn_share_min: float = 0.8  # of the samples that could form pairs


@dataclass(frozen=True)
class Comparison:
    base: Side
    new: Side
    rows: tuple[Row, ...]
    unused_steps: tuple[Step, ...]

    @property
    def kind(self) -> Kind:
        kinds = {row.kind for row in self.rows} - {Kind.NEWCOMER}
        return next((kind for kind in Kind if kind in kinds), Kind.NOT_MEASURED)

    @property
    def exit_code(self) -> int:
        return self.kind.value

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        deciding = [row for row in self.rows if row.kind is self.kind]
        judged = sum(row.kind is not Kind.NEWCOMER for row in self.rows)
        if not judged:
            return "nothing measured: the two sides have no figure in common"
        if self.kind is Kind.FINE:
            notes = {state: sum(row.state == state for row in deciding) for state in ("improved", "intended")}
            aside = "".join(f", {count} {state}" for state, count in notes.items() if count)
            return f"pass: {_count(judged, 'figure')}, none slower{aside}"
        word = {
            Kind.REGRESSED: "regressed",
            Kind.FAILED: "changed, and nobody announced it",
            Kind.REFUSED: "refused",
            Kind.NOT_MEASURED: "not measured",
        }[self.kind]
        worst = max(deciding, key=lambda row: abs(row.slower_pct or 0.0))
        more = "" if len(deciding) == 1 else f", the largest move of {len(deciding)}"
        return f"{word}: {said_of(worst)}{more} (of {_count(judged, 'figure')})"

    def to_json(self) -> dict[str, Any]:
        return {
            "base": {"said": self.base.said, "commit": self.base.commit},
            "new": {"said": self.new.said, "commit": self.new.commit},
            "verdict": self.kind.name.lower(),
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "figures": [_row_json(row) for row in self.rows],
            "unused_steps": [asdict(step) for step in self.unused_steps],
        }


def said_of(row: Row) -> str:
    """SEED008, dma on serial:/dev/board: 5.1 % slower (4.4 to 5.9); the model moved with it: code"""
    parts = [f"{row.name}, {row.path} on {row.dut}: {row.state}"]
    if row.slower_pct is not None:
        size, word = abs(row.slower_pct), "slower" if row.slower_pct > 0 else "faster"
        parts[0] = f"{row.name}, {row.path} on {row.dut}: {digits(size)} % {word}"
        if row.slower_low_pct is not None and row.slower_high_pct is not None:
            ends = sorted((row.slower_low_pct, row.slower_high_pct), key=abs)
            sign = 1 if row.slower_pct > 0 else -1
            parts[0] += f" ({sign * ends[0]:.1f} to {sign * ends[1]:.1f})"
        if row.kind not in (Kind.REGRESSED, Kind.FAILED):
            parts[0] += f", {row.state}"
    if row.prediction is not None and row.prediction.moved:
        parts.append(MOVED[row.prediction.moved])
    elif row.clock == VIRTUAL and row.change_pct:
        parts.append("in virtual time, so it is code")
    if row.why:
        parts.append(row.why)
    return "; ".join(parts)


# What it means that board and model moved, or only one of them.
MOVED = {
    "code": "the model moved with it: code",
    "rack": "the model did not move: rack, or code that the model does not run",
    "model": "the model alone moved",
    "nothing": "neither board nor model moved",
}


def digits(percentage: float) -> str:
    """One decimal, or as many as a small change needs."""
    return f"{percentage:.1f}" if percentage >= 0.05 or percentage == 0 else f"{percentage:.1g}"


def compare(base: Side, new: Side, steps: Sequence[Step] = (), limits: Limits = Limits()) -> Comparison:
    """Every figure of either side, in the order of the base, newcomers last."""
    used: set[Step] = set()
    rows = []
    for key in [*base.figures, *(key for key in new.figures if key not in base.figures)]:
        row = _row(base.figures.get(key), new.figures.get(key), base, new, limits)
        step = _step_for(row, steps, new.commit)
        if step is not None:
            used.add(step)
            row = replace(row, state="intended", why=step.reason)
        rows.append(row)
    return Comparison(base, new, tuple(rows), tuple(step for step in steps if step not in used))


def _step_for(row: Row, steps: Sequence[Step], commit: str) -> Step | None:
    if row.change_pct is None or row.state not in ("worse", "better", "regressed", "improved", "unconfirmed"):
        return None
    covering = (s for s in steps if s.covers(row.name, row.board, row.path, row.dut, row.change_pct or 0.0, commit))
    return next(covering, None)


def _row(base: StoredFigure | None, new: StoredFigure | None, base_side: Side, new_side: Side, limits: Limits) -> Row:
    head = (base or new).head  # type: ignore[union-attr]
    of: dict[str, Any] = {
        "name": head.name,
        "dut": _both(base, new, "dut"),
        "board": _both(base, new, "board"),
        "path": _both(base, new, "path"),
        "unit": head.unit,
        "clock": head.clock,
        "base": median(base),
        "new": median(new),
    }
    if base is None or (of["base"] is None and of["new"] is not None):
        return Row(**of, state="new", why="" if base is None else f"base had none: {_why_void(base)}")
    if new is None:
        return Row(**of, state="missing", why="the new side has no such figure")
    if head.clock == VIRTUAL:
        return _exact(of, base, new)
    return _with_prediction(_sampled(of, base, new, limits), *_predictions(base, new, base_side, new_side))


def _both(base: StoredFigure | None, new: StoredFigure | None, what: str) -> str:
    """b1, or b1 -> b2 where the sides differ on purpose."""
    return " -> ".join(dict.fromkeys(str(getattr(figure.head, what)) for figure in (base, new) if figure is not None))


def _exact(of: dict[str, Any], base: StoredFigure, new: StoredFigure) -> Row:
    before, after = of["base"], of["new"]
    if after is None:
        return Row(**of, state="void" if before is None else "failed", why=_why_void(new))
    prints = base.head.fingerprint, new.head.fingerprint
    if before == after:
        return Row(**of, state="same", change_pct=0.0, other_events=all(prints) and prints[0] != prints[1])
    if not before or not after or (before < 0) != (after < 0):
        return Row(**of, state="worse" if (after > before) == lower_is_better(of["unit"]) else "better")
    slower = 100 * ((after / before if lower_is_better(of["unit"]) else before / after) - 1)
    state = "worse" if slower > 0 else "better"
    return Row(**of, state=state, change_pct=100 * (after / before - 1), slower_pct=slower)


def _sampled(of: dict[str, Any], base: StoredFigure, new: StoredFigure, limits: Limits) -> Row:
    of["host_noise_pct"] = noise.typical_pct(s.sample.host_noise_pct for s in base.samples + new.samples)
    for side, figure in ((BASE, base), (NEW, new)):
        voided = [stored for stored in figure.samples if stored.sample.void]
        if len(voided) > limits.gate.void_share_max * len(figure.samples) or not figure.samples:
            return Row(**of, state="void", why=f"{side}: {_why_void(figure)}")
    if why := noise.too_much(of["host_noise_pct"], limits.host_noise_pct_max):
        return Row(**of, state="noisy host", why=why)

    taken = sorted([(s.number, BASE, s) for s in base.samples] + [(s.number, NEW, s) for s in new.samples])
    valid = [(side, s.sample.value) for _, side, s in taken if not s.sample.void and s.sample.value is not None]
    if any(value <= 0 for _, value in valid):
        return Row(**of, state="void", why="a value that is not above zero")
    in_turn = gate.pairs(valid)
    possible = min(sum(side == BASE for side, _ in valid), sum(side == NEW for side, _ in valid))
    if possible >= limits.gate.pairs_min and len(in_turn) < limits.in_turn_share_min * possible:
        why = "the sides were not measured in turn, so that rack and code cannot be told apart"
        return Row(**of, state="not in turn", why=why, pairs=len(in_turn))
    slow_is_high = lower_is_better(of["unit"])
    verdict = gate.judge(in_turn, slow_is_high, limits.gate)
    if verdict.slower_pct is None:
        why = f"{_count(verdict.pairs, 'pair')}, expected at least {limits.gate.pairs_min}"
        return Row(**of, state=verdict.state.value, pairs=verdict.pairs, why=why)
    ratio = 1 + verdict.slower_pct / 100
    return Row(
        **of,
        state=verdict.state.value,
        change_pct=100 * ((ratio if slow_is_high else 1 / ratio) - 1),
        slower_pct=verdict.slower_pct,
        slower_low_pct=verdict.low_pct,
        slower_high_pct=verdict.high_pct,
        p_value=verdict.p_value,
        pairs=verdict.pairs,
        why=_WHY.get(verdict.state, "").format(limits=limits.gate),
    )


_WHY = {
    State.UNCONFIRMED: "fewer than {limits.confirm_pairs_min} pairs cannot confirm it: measure more",
    State.UNCLEAR: "so much scatter does not exclude a slowdown of {limits.resolution_pct_max:g} %: measure more",
}

MODEL_MOVES_PCT = 0.1  # the model is exact; below, its move cannot be what a board shows


def _with_prediction(row: Row, before: float | None, after: float | None) -> Row:
    if before is None and after is None:
        return row
    moved = ""
    judged = row.state in (State.PASS.value, State.REGRESSED.value, State.IMPROVED.value)
    if judged and before and after:
        board = row.state != State.PASS.value
        model = abs(100 * (after / before - 1)) >= MODEL_MOVES_PCT
        together = model and (after > before) == ((row.change_pct or 0.0) > 0)
        moved = "code" if board and together else "rack" if board else "model" if model else "nothing"
    prediction = Prediction(before, after, _gap(row.base, before), _gap(row.new, after), moved)
    return replace(row, prediction=prediction)


def _gap(measured: float | None, predicted: float | None) -> float | None:
    return 100 * (measured / predicted - 1) if measured is not None and predicted else None


def _predictions(
    base: StoredFigure, new: StoredFigure, base_side: Side, new_side: Side
) -> tuple[float | None, float | None]:
    """What the model says: stored with the figure, or as a figure of the same run."""

    def of(figure: StoredFigure, side: Side) -> float | None:
        if figure.head.predicted is not None:
            return figure.head.predicted
        twin = (f"model:{figure.head.board}", figure.head.name, figure.head.path, figure.head.unit)
        return median(side.figures.get(twin))

    return of(base, base_side), of(new, new_side)


def median(figure: StoredFigure | None) -> float | None:
    """Of its samples that are no void; None: it has none."""
    valid = _values(figure.samples) if figure else []
    return statistics.median(valid) if valid else None


def _values(samples: Sequence[StoredSample]) -> list[float]:
    return [s.sample.value for s in samples if s.sample.value is not None and not s.sample.void]


def _why_void(figure: StoredFigure) -> str:
    voided = [stored.sample.void for stored in figure.samples if stored.sample.void]
    if not figure.samples:
        return "no samples"
    share = "" if len(figure.samples) == 1 else f"{len(voided)} of {_count(len(figure.samples), 'sample')}: "
    return share + (voided[0] if voided else "no value")


def _row_json(row: Row) -> dict[str, Any]:
    document = asdict(row)
    if row.prediction is not None:
        document["prediction"]["gap_trend_points"] = row.prediction.gap_trend_points
    return document


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
