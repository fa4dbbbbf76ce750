"""Repeats a calibration: the value of each fitted constant at which the simulation meets its figure exactly."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from wizloop.errors import UsageError
from wizloop.simulator import Board, Request, check
from wizloop.workers import run_all

# Close enough: 0.01 % of the published value, far below what any of them was measured to.
TOLERANCE = 1e-4
RUNS_MAX = 60
# A constant that does not move its figure is not followed further than this times the value in the file.
REACH = 100


@dataclass(frozen=True)
class Solution:
    value: float
    error: float  # relative, at that value
    met: bool
    runs: int


@dataclass(frozen=True)
class FitRow:
    """One fitted constant; the fields of `fit --json`."""

    board: str
    constant: str
    figure: str
    published: float
    unit: str
    in_file: float
    error_in_file_pct: float
    exact: float
    error_exact_pct: float
    met: bool
    runs: int


def as_text(key: str, value: float) -> str:
    """A value as a person would put it into the board file; frequencies are whole."""
    return str(round(value)) if key.endswith("_hz") else f"{value:.6g}"


def search(start: float) -> Generator[float, float, Solution]:
    """Looks for the value whose error is 0: yields a value, is sent the relative error there.

    Secant steps outwards from `start` until the error changes its sign, then regula falsi between (the Illinois form,
    which halves the weight of an end that stays). Values are never negative. A simulation moves in small steps, so the
    search may end beside a jump, with the better of its two sides and not met.
    """
    seen: list[tuple[float, float]] = []

    def error_at(value: float) -> Generator[float, float, float]:
        error = yield value
        seen.append((value, error))
        return error

    def best() -> Solution:
        value, error = min(seen, key=lambda pair: abs(pair[1]))
        return Solution(value, error, abs(error) <= TOLERANCE, len(seen))

    def finished() -> bool:
        return best().met or len(seen) >= RUNS_MAX

    a, a_error = start, (yield from error_at(start))
    step = 0.05 * start or 1.0
    farthest = REACH * max(start, 10.0)
    b, b_error = start, a_error
    while (a_error > 0) == (b_error > 0):
        if finished() or (len(seen) > 1 and b in (0.0, farthest)):
            return best()
        a, a_error = b, b_error
        b = min(max(0.0, a + step), farthest)
        b_error = yield from error_at(b)
        # The next step goes a little beyond the root, so that the sign changes; at most ten times as far as this one.
        slope = (b_error - a_error) / (b - a)
        wanted = -1.2 * b_error / slope if slope else 2 * step
        step = max(-10 * abs(step), min(10 * abs(step), wanted))

    while abs(b - a) > 1e-6 * max(abs(a), abs(b)) and not finished():
        c = (a * b_error - b * a_error) / (b_error - a_error)
        c_error = yield from error_at(c)
        if (c_error > 0) != (b_error > 0):
            a, a_error = b, b_error
        else:
            a_error /= 2
        b, b_error = c, c_error
    return best()


def fit(
    boards: Sequence[Board],
    jobs: int | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> list[FitRow]:
    """Each fitted constant alone, the others as the file has them. The searches go on side by side."""
    constants = [(b, key, c) for b in boards for key, c in b.constants.items() if c.basis == "fit"]
    figures = []
    for board, key, constant in constants:
        figure = next((f for f in board.figures if f.id == constant.figure), None)
        if figure is None:
            raise UsageError(f"{board.file}: {key} is fitted to {constant.figure}, which is none of its figures")
        figures.append(figure)

    searches = [search(constant.value) for _, _, constant in constants]
    values = [next(s) for s in searches]
    first_errors: dict[int, float] = {}
    solutions: dict[int, Solution] = {}
    while len(solutions) < len(searches):
        active = [i for i in range(len(searches)) if i not in solutions]
        requests = []
        for i in active:
            board, key, _ = constants[i]
            parameters = {**figures[i].parameters, f"board.{key}": as_text(key, values[i])}
            request = Request(figures[i].scenario, board.file, figures[i].path, parameters=parameters)
            check(request, board)
            requests.append(request)
        for i, run in zip(active, run_all(requests, jobs, lambda *_: on_done()), strict=True):
            board, key, _ = constants[i]
            simulated = run.figure_in(figures[i].unit)
            if simulated is None:
                raise UsageError(
                    f"{board.name}: no {figures[i].unit} from {run.scenario} with {key} = {as_text(key, values[i])}"
                    + (f": {run.failure}" if run.failure else "")
                )
            error = simulated.value / figures[i].published - 1
            first_errors.setdefault(i, error)
            try:
                values[i] = searches[i].send(error)
            except StopIteration as stop:
                solutions[i] = stop.value

    return [
        FitRow(
            board=board.name,
            constant=key,
            figure=constant.figure,
            published=figures[i].published,
            unit=figures[i].unit,
            in_file=constant.value,
            error_in_file_pct=100 * first_errors[i],
            exact=float(as_text(key, solutions[i].value)),
            error_exact_pct=100 * solutions[i].error,
            met=solutions[i].met,
            runs=solutions[i].runs,
        )
        for i, (board, key, constant) in enumerate(constants)
    ]
