"""The flake ledger: what each test came to on each board of the inventory, night after night.

    ledger.append(file, [Line("2026-11-30T21:00:00+00:00", "b1", "tests/dut/...", "failed", "0f4645b")])
    for flake in ledger.flakes(ledger.read(file)): ...

It is `ledger.jsonl` beside the inventory, one line for each outcome. A test that passes and fails on one board at one
commit is flaky: board, cable or test, but not the code. Failures of the infrastructure are counted by themselves.
"""

from __future__ import annotations

import fcntl
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from wizloop.errors import InfrastructureError

NAME = "ledger.jsonl"
OUTCOMES = ("passed", "failed", "infrastructure")


@dataclass(frozen=True)
class Line:
    at: str
    board: str
    test: str
    outcome: str  # one of OUTCOMES
    commit: str


@dataclass(frozen=True)
class Flake:
    board: str
    test: str
    passed: int
    failed: int  # at commits at which it passed too
    infrastructure: int  # at any


def append(file: Path, lines: Iterable[Line]) -> None:
    """All of them at once, beside any number of processes that do the same."""
    text = "".join(json.dumps(asdict(line), ensure_ascii=False) + "\n" for line in lines)
    if not text:
        return
    try:
        with file.open("a", encoding="utf-8") as out:
            fcntl.flock(out, fcntl.LOCK_EX)
            out.write(text)
    except OSError as error:
        raise InfrastructureError(f"cannot write {file}: {error.strerror}") from error


def read(file: Path) -> list[Line]:
    """What can be read of it: a line that a crash has cut short is nobody's."""
    if not file.exists():
        return []
    lines = []
    for text in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = Line(**json.loads(text))
        except (ValueError, TypeError):
            continue
        if line.outcome in OUTCOMES:
            lines.append(line)
    return lines


def flakes(lines: Iterable[Line]) -> list[Flake]:
    """The worst first."""
    counts: dict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(int))
    )
    for line in lines:
        counts[line.board, line.test][line.commit][line.outcome] += 1
    found = []
    for (board, test), commits in counts.items():
        passed = sum(of["passed"] for of in commits.values())
        failed = sum(of["failed"] for of in commits.values() if of["passed"])
        infrastructure = sum(of["infrastructure"] for of in commits.values())
        if failed or infrastructure:
            found.append(Flake(board, test, passed, failed, infrastructure))
    return sorted(found, key=lambda flake: (-flake.failed, -flake.infrastructure, flake.board, flake.test))
