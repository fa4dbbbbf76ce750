"""Writing runs. Every figure, sample and finding is committed by the call that records it."""

from __future__ import annotations

import json
import math
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from wizloop.errors import InfrastructureError, UsageError
from wizloop.results import schema
from wizloop.results.database import Database

GIT_DEADLINE_S = 20
JOINED = "WIZLOOP_RUN"  # in the environment: the run, of whoever started this process, that it adds to


@dataclass(frozen=True)
class RunHead:
    """Where a run comes from."""

    label: str
    commit: str
    modified: bool
    host: str
    command: str


@dataclass(frozen=True)
class FigureHead:
    """What is measured. Name, device, path and unit are the same in all runs, and so make runs comparable."""

    name: str
    dut: str
    board: str
    path: str
    unit: str
    clock: str  # schema.VIRTUAL or schema.REAL
    scenario: str
    metric: str
    library: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    fingerprint: str = ""
    predicted: float | None = None
    budget_ps: Mapping[str, int] = field(default_factory=dict)  # where the time went; empty where it is real
    captures: Sequence[str] = ()  # files that the run left


@dataclass(frozen=True)
class Sample:
    """One measurement, with what each end counted; `void` is the reason why it is none."""

    value: float | None
    firmware_count: int | None = None
    peer_count: int | None = None
    void: str = ""
    host_noise_pct: float | None = None  # where time is real: of compare.noise


@dataclass(frozen=True)
class FindingRow:
    rule: str
    severity: str
    seen: str
    count: int
    announced: str | None


def here(label: str = "") -> RunHead:
    """The head of a run that this process makes: the commit is that of the current folder."""
    if not label.isprintable():
        raise UsageError(f"--label {ascii(label)} is not text, expected printable UTF-8")
    commit = _git("rev-parse", "--verify", "HEAD").strip()
    modified = bool(commit) and bool(_git("status", "--porcelain", "--untracked-files=no"))
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]).encode(errors="replace").decode()
    return RunHead(label, commit, modified, platform.node(), command)


def _git(*words: str) -> str:
    """What git says here; nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, timeout=GIT_DEADLINE_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def begin(database: Database, head: RunHead, alone: bool = False) -> Recorder:
    """A new run; or that which this process was told to join, whose end is not its business, unless it is to be alone."""
    joined = os.environ.get(JOINED)
    if joined and not alone:
        return _join(database, joined)
    values = {
        "label": head.label,
        "commit": head.commit,
        "modified": head.modified,
        "host": head.host,
        "command": head.command,
        "started": _now(),
    }
    with database.writing() as connection:
        run = connection.execute(insert(schema.runs).values(values).returning(schema.runs.c.id)).scalar_one()
    return Recorder(database, run)


@contextmanager
def told_when_interrupted(say: Callable[[str], None], *begun: Recorder) -> Iterator[None]:
    """Whoever ends the work early, by Ctrl-C or a signal, is told what of it is stored."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        numbers = " and ".join(str(recorder.run) for recorder in begun)
        what = f"run {numbers} is" if len(begun) == 1 else f"runs {numbers} are"
        say(f"interrupted; {what} stored" + ("" if all(recorder.ended for recorder in begun) else " as not ended"))
        raise


def _join(database: Database, number: str) -> Recorder:
    if not number.isascii() or not number.isdigit():
        raise UsageError(f"{JOINED} is {number!r}, expected the number of a stored run")
    with database.reading() as connection:
        there = connection.execute(select(schema.runs.c.id).where(schema.runs.c.id == int(number))).all()
    if not there:
        raise UsageError(f"{JOINED}: there is no run {number} in {database.name}")
    return Recorder(database, int(number), own=False)


class Recorder:
    """Adds to one run, beside any number of other processes that do the same."""

    def __init__(self, database: Database, run: int, own: bool = True) -> None:
        self.database = database
        self.run = run
        self.ended = False
        self._own = own

    def figure(self, head: FigureHead) -> int:
        """The number under which samples come; the same for all who measure the same in this run."""
        with self.database.writing() as connection:
            return self._figure(connection, head)

    def sample(self, figure: int, sample: Sample) -> None:
        with self.database.writing() as connection:
            _add_sample(connection, figure, sample)

    def whole(self, head: FigureHead, sample: Sample, findings: Iterable[FindingRow] = ()) -> None:
        """A figure with its only sample and what was found meanwhile: all of it or nothing."""
        with self.database.writing() as connection:
            figure = self._figure(connection, head)
            _add_sample(connection, figure, sample)
            rows = [{"figure_id": figure, **asdict(finding)} for finding in findings]
            if rows:
                connection.execute(insert(schema.findings), rows)

    def _figure(self, connection: Connection, head: FigureHead) -> int:
        table = schema.figures
        key = {"run_id": self.run, "name": head.name, "dut": head.dut, "path": head.path, "unit": head.unit}
        values = {
            **key,
            "board": head.board,
            "clock": head.clock,
            "scenario": head.scenario,
            "metric": head.metric,
            "library": head.library,
            "parameters": json.dumps(dict(head.parameters), sort_keys=True),
            "seed": str(head.seed),
            "fingerprint": head.fingerprint,
            "predicted": head.predicted,
            "budget_ps": json.dumps(dict(head.budget_ps)),
            "captures": json.dumps(list(head.captures)),
        }
        on_conflict = sqlite if connection.dialect.name == "sqlite" else postgresql
        connection.execute(on_conflict.insert(table).values(values).on_conflict_do_nothing())
        same = [table.c[name] == value for name, value in key.items()]
        number: int = connection.execute(select(table.c.id).where(*same)).scalar_one()
        return number

    def end(self) -> None:
        """A run without an end was cut short; what it recorded counts all the same."""
        self.ended = True
        if not self._own:
            return
        with self.database.writing() as connection:
            ended = connection.execute(
                update(schema.runs).where(schema.runs.c.id == self.run).values(ended=_now()).returning(schema.runs.c.id)
            ).all()
        if not ended:
            raise InfrastructureError(f"database {self.database.name}: run {self.run} is gone")


def void_reason(sample: Sample) -> str:
    """Why a sample is no measurement: it says so, it has no value, or the two ends do not agree."""
    if sample.void:
        return sample.void
    if sample.value is None or not math.isfinite(sample.value):
        return "no value"
    if (sample.firmware_count is None) != (sample.peer_count is None):
        return "only one end counted"
    if sample.firmware_count != sample.peer_count:
        return f"the firmware counts {sample.firmware_count}, the peer {sample.peer_count}"
    return ""


def _add_sample(connection: Connection, figure: int, sample: Sample) -> None:
    finite = sample.value is not None and math.isfinite(sample.value)
    values = {
        "figure_id": figure,
        "taken": _now(),
        "value": sample.value if finite else None,
        "firmware_count": sample.firmware_count,
        "peer_count": sample.peer_count,
        "host_noise_pct": sample.host_noise_pct,
        "void": void_reason(sample),
    }
    connection.execute(insert(schema.samples).values(values))


def _now() -> datetime:
    return datetime.now(UTC)
