"""What the words BASE and NEW mean: a stored run, by number, label or commit, or a file of `wizloop bench --json`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wizloop.errors import InfrastructureError, UsageError
from wizloop.results import reading
from wizloop.results.database import Database
from wizloop.results.reading import StoredFigure, StoredRun, StoredSample
from wizloop.results.recording import FigureHead, Sample, void_reason
from wizloop.results.schema import VIRTUAL
from wizloop.simulator import OWN_LIBRARY, near

COMMIT_DIGITS_MIN = 4
COMMIT_DIGITS_SHOWN = 9

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Side:
    said: str  # what it is, for people
    commit: str  # empty: not known
    figures: dict[Key, StoredFigure]


def key_of(head: FigureHead) -> Key:
    """What makes figures of two runs comparable."""
    return (head.dut, head.name, head.path, head.unit)


def find(word: str, database: Callable[[], Database]) -> Side:
    """The database is opened only if the word is no file."""
    kind, colon, rest = word.partition(":")
    if colon and kind in ("run", "label", "commit") and rest:
        return _stored(word, {kind: rest}, database())
    if Path(word).is_file():
        return _file(Path(word))
    if word.endswith(".json"):
        raise UsageError(f"there is no file {word}")
    kinds = {"label": word}
    if word.isascii() and word.isdigit():
        kinds["run"] = word
    if _is_commit(word):
        kinds["commit"] = word
    return _stored(word, kinds, database())


def across(side: Side) -> Side:
    """Its figures by name alone, whatever board and path they are of, so that two boards or paths can be compared."""
    figures: dict[Key, StoredFigure] = {}
    for figure in side.figures.values():
        key = ("", figure.head.name, "", figure.head.unit)
        if key in figures:
            both = (f"{head.path} on {head.dut}" for head in (figures[key].head, figure.head))
            raise UsageError(
                f"{side.said} has {figure.head.name} twice, {' and '.join(both)}: choose with --only or --board"
            )
        figures[key] = figure
    return replace(side, figures=figures)


def _is_commit(word: str) -> bool:
    return re.fullmatch(rf"[0-9a-f]{{{COMMIT_DIGITS_MIN},64}}", word) is not None


def _stored(word: str, kinds: dict[str, str], database: Database) -> Side:
    """The newest run of a label; of a commit, all runs that it alone made, each figure from the newest that has it."""
    every = reading.runs(database)
    meant: dict[str, list[StoredRun]] = {}
    if "run" in kinds:
        meant["run"] = [run for run in every if str(run.id) == kinds["run"].lstrip("0")]
    if "label" in kinds:
        meant["label"] = [run for run in every if run.head.label == kinds["label"]][-1:]
    if "commit" in kinds:
        prefix = kinds["commit"]
        if not _is_commit(prefix):
            raise UsageError(f"'{prefix}' is no commit, expected at least {COMMIT_DIGITS_MIN} hexadecimal digits")
        meant["commit"] = [run for run in every if run.head.commit.startswith(prefix)]
        commits = sorted({run.head.commit for run in meant["commit"]})
        if len(commits) > 1:
            raise UsageError(f"commit {prefix} is ambiguous: {', '.join(commit[:12] for commit in commits[:5])}")
        clean = [run for run in meant["commit"] if not run.head.modified]
        if meant["commit"] and not clean:
            raise UsageError(
                f"commit {prefix} was measured only with changes that are in no commit: "
                f"name run {meant['commit'][-1].id}"
            )
        meant["commit"] = clean
    meant = {kind: runs for kind, runs in meant.items() if runs}
    if not meant:
        labels = sorted({run.head.label for run in every if run.head.label})
        raise UsageError(
            f"no file and no stored run is '{word}'{near(word, labels)}, expected the number, label or commit of a run in "
            f"{database.name}, or a file of `wizloop bench --json`"
        )
    if len(meant) > 1:
        raise UsageError(f"'{word}' is ambiguous, expected one of " + ", ".join(f"{kind}:{word}" for kind in meant))
    ((kind, runs),) = meant.items()
    figures = {key_of(figure.head): figure for figure in reading.figures(database, [run.id for run in runs])}
    return Side(_named(kind, runs), runs[-1].head.commit, figures)


def _named(kind: str, runs: list[StoredRun]) -> str:
    """run 12 (nightly), 1a2b3c4d5+, 2026-11-30 19:45 UTC; + marks changes that are in no commit."""
    last = runs[-1]
    label = f" ({last.head.label})" if last.head.label else ""
    commit = last.head.commit[:COMMIT_DIGITS_SHOWN] + ("+" if last.head.modified else "")
    number = f"run {last.id}{label}" if len(runs) == 1 else f"runs {', '.join(str(run.id) for run in runs[-5:])}"
    unended = ["not ended"] if last.ended is None else []  # still going on, or cut short
    return ", ".join([number, *([commit] if commit else []), f"{last.started:%Y-%m-%d %H:%M} UTC", *unended])


def _file(file: Path) -> Side:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InfrastructureError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{file}: not JSON: {error}") from error
    try:
        stored = [_published(row) for row in document["figures"]]
        stored += [figure for row in document.get("same_board", []) for figure in _own_driver(row)]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{file}: not what `wizloop bench --json` writes ({type(error).__name__}: {error})") from error
    return Side(str(file), "", {key_of(figure.head): figure for figure in stored})


def _published(row: dict[str, Any]) -> StoredFigure:
    return _exact(row, row["id"], row["path"], row["simulated"], row.get("fingerprint", ""), row.get("failure", ""))


def _own_driver(row: dict[str, Any]) -> list[StoredFigure]:
    name = f"{row['figure']}/{OWN_LIBRARY}"
    return [_exact(row, name, path, value, "", "") for path, value in row["by_path"].items()]


def _exact(
    row: dict[str, Any], name: str, path: str, value: float | None, fingerprint: str, failure: str
) -> StoredFigure:
    words = (name, row["board"], path, row["unit"], fingerprint, failure)
    if not all(isinstance(word, str) for word in words) or not (
        value is None or (type(value) in (int, float) and math.isfinite(value))
    ):
        raise ValueError(f"figure {name!r} is {value!r} {row['unit']!r}")
    head = FigureHead(
        name=name,
        dut=f"model:{row['board']}",
        board=row["board"],
        path=path,
        unit=row["unit"],
        clock=VIRTUAL,
        scenario="",
        metric="",
        library="",
        fingerprint=fingerprint,
    )
    sample = Sample(value, void=failure)
    return StoredFigure(0, head, (StoredSample(0, None, Sample(value, void=void_reason(sample))),), ())
