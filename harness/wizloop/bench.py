"""The table of published figures: each one simulated, beside what the project's own driver does on the same board."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from wizloop.budget import percentages
from wizloop.errors import NothingMeasured, UsageError
from wizloop.repeat import command
from wizloop.simulator import (
    OWN_LIBRARY,
    PATHS,
    Board,
    PublishedFigure,
    Request,
    Run,
    Scenario,
    catalogue,
    check,
    near,
)
from wizloop.workers import run_all

# A prediction further off than this gets its reason printed.
EXPLAIN_ABOVE_PCT = 20.0


@dataclass(frozen=True)
class FigureRow:
    """One published figure beside its simulation; the fields of `bench --json`."""

    id: str
    board: str
    pattern: str
    path: str
    spi_hz: int
    protocol: str
    direction: str
    published: float
    simulated: float | None  # None: the run gave none, see failure
    unit: str
    error_pct: float | None
    basis: str
    budget_pct: dict[str, float]
    virtual_s: float
    wall_s: float
    fingerprint: str
    findings: list[dict[str, Any]]
    why: str
    decided: str
    failure: str
    repeat: str  # the command that repeats a failure


@dataclass(frozen=True)
class OwnDriverRow:
    """What the project's driver reaches where a figure was published, on the best of the board's paths."""

    board: str
    figure: str  # the id of the published figure that it is compared with
    protocol: str
    direction: str
    path: str | None  # None: no path gave a value
    value: float | None
    unit: str
    library_value: float | None  # that figure as simulated with the library
    speedup: float | None  # times as fast as that, whether the unit counts time or rate
    by_path: dict[str, float | None]
    failures: list[dict[str, str]]


@dataclass(frozen=True)
class Measured:
    """A run of the bench, for whoever stores figures: its name is the same in every bench."""

    name: str  # the id of the published figure; with "/wizloop" for the project's own driver
    unit: str
    request: Request
    run: Run
    scenario: Scenario


@dataclass(frozen=True)
class SupplyCurrent:
    board: str
    published_ma: float
    simulated_ma: float
    error_pct: float


@dataclass(frozen=True)
class Summary:
    fitted: int  # by a constant of their board file
    fitted_error_pct_max: float | None
    decided: list[str]  # figures that decided how the chip is modelled: neither fitted nor predicted
    predicted: int
    predicted_error_pct_median: float | None
    predicted_error_pct_max: float | None
    predicted_worst: str | None  # its id
    failed: int
    runs: int
    wall_s: float


@dataclass(frozen=True)
class Bench:
    boards: list[Board]
    figures: list[FigureRow]
    same_board: list[OwnDriverRow]
    supply_current: list[SupplyCurrent]
    summary: Summary

    @property
    def failed(self) -> bool:
        return any(row.failure for row in self.figures) or any(row.failures for row in self.same_board)

    def to_json(self) -> dict[str, Any]:
        return {
            "figures": [asdict(row) for row in self.figures],
            "same_board": [asdict(row) for row in self.same_board],
            "supply_current": [asdict(row) for row in self.supply_current],
            "summary": asdict(self.summary),
        }


def lower_is_better(unit: str) -> bool:
    return unit in ("ms", "us", "s")


def select(boards: Sequence[Board], path: str | None, only: str | None) -> list[tuple[Board, PublishedFigure]]:
    """The published figures asked for, in the order of the files."""
    if path is not None and path not in PATHS:
        raise UsageError(f"unknown path '{path}'{near(path, PATHS)}: a path is one of {', '.join(PATHS)}")
    every = [(board, figure) for board in boards for figure in board.figures]
    chosen = [(b, f) for b, f in every if path in (None, f.path) and only in (None, f.id)]
    if not chosen:
        ids = [figure.id for _, figure in every]
        asked = [f"path {path}"] if path else []
        asked += [f"id '{only}'{near(only, ids)}"] if only else []
        raise NothingMeasured(f"no published figure matches {' and '.join(asked) or 'these boards'}: {', '.join(ids)}")
    return chosen


def measure(
    boards: Sequence[Board],
    path: str | None = None,
    only: str | None = None,
    jobs: int | None = None,
    on_start: Callable[[int], None] = lambda total: None,
    on_done: Callable[[], None] = lambda: None,
    on_figure: Callable[[Measured], None] = lambda measured: None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Bench:
    """Runs everything and puts it into rows.

    on_start is told how many runs there will be, on_figure of each run as soon as its name is known.
    """
    started = clock()
    scenarios = catalogue()
    chosen = select(boards, path, only)
    published = [
        Request(figure.scenario, board.file, figure.path, parameters=figure.parameters) for board, figure in chosen
    ]
    for (board, _), request in zip(chosen, published, strict=True):
        check(request, board)

    # One own-driver comparison for each distinct load, with all the figures that the load was published for.
    loads: dict[tuple[str, str, tuple[tuple[str, str], ...], str], list[int]] = {}
    for index, (board, figure) in enumerate(chosen):
        load = (board.name, figure.scenario, tuple(sorted(figure.parameters.items())), figure.unit)
        loads.setdefault(load, []).append(index)
    own = [
        (indices, replace(published[indices[0]], path=own_path, library=OWN_LIBRARY))
        for indices in loads.values()
        for own_path in chosen[indices[0]][0].paths
    ]

    requests = published + [request for _, request in own]
    on_start(len(requests))
    ended: dict[int, Run] = {}

    def tell(indices: list[int]) -> None:
        """Of the own driver's runs of a load, once all runs of it have ended: they bear the name of its best figure."""
        ours = [len(published) + i for i, (group, _) in enumerate(own) if group is indices]
        if ended.keys() >= {*indices, *ours}:
            figures = [chosen[i][1] for i in indices]
            values = {f.id: _value_in(ended[i], f.unit, f.id) for i, f in zip(indices, figures, strict=True)}
            name = f"{_beaten(values, figures[0].unit)}/{OWN_LIBRARY}"
            for i in ours:
                scenario = scenarios[requests[i].scenario]
                on_figure(Measured(name, figures[0].unit, requests[i], ended[i], scenario))

    def run_ended(index: int, run: Run) -> None:
        ended[index] = run
        on_done()
        if index < len(published):
            figure = chosen[index][1]
            on_figure(Measured(figure.id, figure.unit, requests[index], run, scenarios[figure.scenario]))
            tell(next(indices for indices in loads.values() if index in indices))
        else:
            tell(own[index - len(published)][0])

    runs = run_all(requests, jobs, run_ended)
    runs, own_driver_runs = runs[: len(published)], runs[len(published) :]

    rows = [
        _figure_row(board, figure, scenarios[figure.scenario], request, run)
        for (board, figure), request, run in zip(chosen, published, runs, strict=True)
    ]
    own_runs = list(zip(own, own_driver_runs, strict=True))
    same_board = [
        _own_driver_row([rows[i] for i in indices], [(rq, run) for (group, rq), run in own_runs if group is indices])
        for indices in loads.values()
    ]
    return Bench(
        boards=[board for board in boards if any(board is b for b, _ in chosen)],
        figures=rows,
        same_board=same_board,
        supply_current=_supply_currents(chosen, runs),
        summary=_summary(rows, same_board, len(requests), clock() - started),
    )


def findings_json(run: Run) -> list[dict[str, Any]]:
    """Findings with the reason why they are accepted, by whom, and whether they are suppressed; null where nobody did."""
    return [
        {
            "rule": f.rule,
            "severity": f.severity,
            "section": f.section,
            "what": f.what,
            "seen": f.seen,
            "spi": f.spi,
            "socket_state": f.socket_state,
            "cause": f.cause,
            "cure": f.cure,
            "count": f.count,
            "at_s": f.at_ps / 1e12,
            "announced": f.announced.reason if f.announced else None,
            "announced_by": f.announced.by if f.announced else None,
            "suppressed": f.announced is not None and f.announced.suppressed,
        }
        for f in run.findings
    ]


def _figure_row(board: Board, figure: PublishedFigure, scenario: Scenario, request: Request, run: Run) -> FigureRow:
    simulated = _value_in(run, figure.unit, figure.id)
    return FigureRow(
        id=figure.id,
        board=board.name,
        pattern=board.library,
        path=figure.path,
        spi_hz=int(float(figure.parameters.get("board.sclk_hz", board.sclk_hz))),
        protocol=scenario.protocol,
        direction=scenario.direction,
        published=figure.published,
        simulated=simulated,
        unit=figure.unit,
        error_pct=None if simulated is None else 100 * (simulated / figure.published - 1),
        basis=board.basis_of(figure.id),
        budget_pct=percentages(run.budget_ps),
        virtual_s=run.virtual_ps / 1e12,
        wall_s=run.wall_s,
        fingerprint=run.fingerprint,
        findings=findings_json(run),
        why=figure.why,
        decided=figure.decided,
        failure=run.failure,
        repeat=command(request) if run.failure else "",
    )


def _value_in(run: Run, unit: str, figure_id: str) -> float | None:
    """The run's value in the published unit; none if the run is void."""
    found = run.figure_in(unit)
    if found is None and run.figures:
        units = ", ".join(f.unit for f in run.figures)
        raise UsageError(f"{run.board}.toml, figure {figure_id}: unit '{unit}', but {run.scenario} gives {units}")
    return found.value if found else None


def _own_driver_row(of_library: list[FigureRow], own: list[tuple[Request, Run]]) -> OwnDriverRow:
    unit = of_library[0].unit
    best = min if lower_is_better(unit) else max
    beaten = _beaten({row.id: row.simulated for row in of_library}, unit)
    reference = next(row for row in of_library if row.id == beaten)
    by_path = {run.path: None if run.failure else _value_in(run, unit, reference.id) for _, run in own}
    reached = {path: value for path, value in by_path.items() if value is not None}
    path = best(reached, key=lambda p: reached[p]) if reached else None
    speedup = None
    if path is not None and reference.simulated and reached[path]:
        ratio = reached[path] / reference.simulated
        speedup = 1 / ratio if lower_is_better(unit) else ratio
    return OwnDriverRow(
        board=reference.board,
        figure=reference.id,
        protocol=reference.protocol,
        direction=reference.direction,
        path=path,
        value=None if path is None else reached[path],
        unit=unit,
        library_value=reference.simulated,
        speedup=speedup,
        by_path=by_path,
        failures=[{"failure": run.failure, "repeat": command(request)} for request, run in own if run.failure],
    )


def _beaten(by_id: dict[str, float | None], unit: str) -> str:
    """The best of the figures of one load, which the own driver is compared with."""
    values = {figure: value for figure, value in by_id.items() if value is not None}
    best = min if lower_is_better(unit) else max
    return best(values, key=lambda figure: values[figure]) if values else next(iter(by_id))


def _supply_currents(chosen: list[tuple[Board, PublishedFigure]], runs: list[Run]) -> list[SupplyCurrent]:
    """Of each board that publishes one: the current during its first figure. The PHY state alone decides it."""
    currents: dict[str, SupplyCurrent] = {}
    for (board, _), run in zip(chosen, runs, strict=True):
        published = board.supply_current_ma
        if published is not None and board.name not in currents:
            simulated = run.supply_current_ma
            error = 100 * (simulated / published - 1)
            currents[board.name] = SupplyCurrent(board.name, published, simulated, error)
    return list(currents.values())


def _summary(rows: list[FigureRow], own: list[OwnDriverRow], runs: int, wall_s: float) -> Summary:
    errors = {row.id: abs(row.error_pct) for row in rows if row.error_pct is not None}
    fitted = [errors[row.id] for row in rows if row.basis == "fit" and not row.decided and row.id in errors]
    predicted = {row.id: errors[row.id] for row in rows if row.basis == "predicted" and row.id in errors}
    worst = max(predicted, key=lambda figure: predicted[figure], default=None)
    return Summary(
        fitted=len(fitted),
        fitted_error_pct_max=max(fitted, default=None),
        decided=[row.id for row in rows if row.decided],
        predicted=len(predicted),
        predicted_error_pct_median=statistics.median(predicted.values()) if predicted else None,
        predicted_error_pct_max=None if worst is None else predicted[worst],
        predicted_worst=worst,
        failed=sum(bool(row.failure) for row in rows) + sum(len(row.failures) for row in own),
        runs=runs,
        wall_s=wall_s,
    )
