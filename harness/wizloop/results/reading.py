"""Reading runs back."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from wizloop.results import schema
from wizloop.results.database import Database
from wizloop.results.recording import FigureHead, FindingRow, RunHead, Sample

_AT_A_TIME = 500  # numbers in one IN (...): no database has a limit below


@dataclass(frozen=True)
class StoredRun:
    id: int
    head: RunHead
    started: datetime
    ended: datetime | None


@dataclass(frozen=True)
class StoredSample:
    number: int  # in the order of recording, over all runs: wall clocks are set back now and then
    taken: datetime | None  # None: not known, in a file
    sample: Sample


@dataclass(frozen=True)
class StoredFigure:
    run: int
    head: FigureHead
    samples: tuple[StoredSample, ...]  # in the order in which they were taken
    findings: tuple[FindingRow, ...]


def runs(database: Database) -> list[StoredRun]:
    """All of them, the oldest first."""
    table = schema.runs
    with database.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.started, table.c.id)).all()
    return [
        StoredRun(row.id, RunHead(row.label, row.commit, row.modified, row.host, row.command), row.started, row.ended)
        for row in rows
    ]


def figures(database: Database, of_runs: Sequence[int]) -> list[StoredFigure]:
    """All figures of these runs, in the order of the runs and of their recording."""
    found: dict[int, list[StoredFigure]] = {run: [] for run in of_runs}
    for start in range(0, len(of_runs), _AT_A_TIME):
        for figure in _figures(database, of_runs[start : start + _AT_A_TIME]):
            found[figure.run].append(figure)
    return [figure for of_run in found.values() for figure in of_run]


@dataclass(frozen=True)
class Point:
    """A figure of one run, its samples condensed."""

    run: int
    name: str
    dut: str
    board: str
    path: str
    unit: str
    clock: str
    predicted: float | None
    value: float | None  # the median; None: every sample was void
    samples: int  # of them that are no void
    void: int
    host_noise_pct: float | None = None  # the median; None: it was not measured


def points(database: Database, of_runs: Sequence[int] | None = None) -> list[Point]:
    """Of these runs, or of all, in the order of recording. For many runs: it reads no more than it returns."""
    table, samples = schema.figures, schema.samples
    heads = select(
        table.c.id, table.c.run_id, table.c.name, table.c.dut, table.c.board, table.c.path, table.c.unit, table.c.clock,
        table.c.predicted,
    ).order_by(table.c.id)  # fmt: skip
    measured = select(samples.c.figure_id, samples.c.value, samples.c.void, samples.c.host_noise_pct)
    found: dict[int, tuple[list[float], int]] = {}
    disturbed: dict[int, list[float]] = {}
    with database.reading() as connection:
        rows = connection.execute(heads).all()
        for figure, value, void, noise_pct in connection.execute(measured):
            values, voided = found.get(figure, ([], 0))
            if void or value is None:
                voided += 1
            else:
                values.append(value)
            found[figure] = (values, voided)
            if noise_pct is not None:
                disturbed.setdefault(figure, []).append(noise_pct)
    wanted = None if of_runs is None else set(of_runs)
    condensed = []
    for figure, run, name, dut, board, path, unit, clock, predicted in rows:
        if wanted is None or run in wanted:
            values, voided = found.get(figure, ([], 0))
            value = statistics.median(values) if values else None
            noise_pct = statistics.median(disturbed[figure]) if figure in disturbed else None
            of = (run, name, dut, board, path, unit, clock, predicted)
            condensed.append(Point(*of, value, len(values), voided, noise_pct))
    return condensed


def latest_on_model(database: Database, name: str, board: str, path: str, unit: str) -> float | None:
    """What the model gave last for this figure of this board; None: it never did."""
    table, samples = schema.figures, schema.samples
    query = (
        select(samples.c.value)
        .join(table)
        .where(table.c.name == name, table.c.board == board, table.c.path == path, table.c.unit == unit)
        .where(table.c.clock == schema.VIRTUAL, samples.c.void == "", samples.c.value.is_not(None))
        .order_by(samples.c.id.desc())
        .limit(1)
    )
    with database.reading() as connection:
        return connection.execute(query).scalar_one_or_none()


def _figures(database: Database, of_runs: Sequence[int]) -> list[StoredFigure]:
    table, samples, findings = schema.figures, schema.samples, schema.findings
    samples_of: dict[int, list[StoredSample]] = {}
    findings_of: dict[int, list[FindingRow]] = {}
    with database.reading() as connection:
        rows = connection.execute(select(table).where(table.c.run_id.in_(of_runs)).order_by(table.c.id)).all()
        query = select(samples).join(table).where(table.c.run_id.in_(of_runs)).order_by(samples.c.id)
        for row in connection.execute(query):
            sample = Sample(row.value, row.firmware_count, row.peer_count, row.void, row.host_noise_pct)
            samples_of.setdefault(row.figure_id, []).append(StoredSample(row.id, row.taken, sample))
        query = select(findings).join(table).where(table.c.run_id.in_(of_runs)).order_by(findings.c.id)
        for row in connection.execute(query):
            found = FindingRow(row.rule, row.severity, row.seen, row._mapping["count"], row.announced)
            findings_of.setdefault(row.figure_id, []).append(found)
    return [
        StoredFigure(
            row.run_id,
            FigureHead(
                name=row.name,
                dut=row.dut,
                board=row.board,
                path=row.path,
                unit=row.unit,
                clock=row.clock,
                scenario=row.scenario,
                metric=row.metric,
                library=row.library,
                parameters=json.loads(row.parameters),
                seed=int(row.seed),
                fingerprint=row.fingerprint,
                predicted=row.predicted,
                budget_ps=json.loads(row.budget_ps),
                captures=tuple(json.loads(row.captures)),
            ),
            tuple(samples_of.get(row.id, ())),
            tuple(findings_of.get(row.id, ())),
        )
        for row in rows
    ]
