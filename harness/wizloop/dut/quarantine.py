"""Boards and tests that are known to be bad: left out, with owner, reason and date, until somebody has looked.

    [[quarantine]]
    board = "b3"                      # the board, or
    test = "*udp_test.py::test_a_burst*"   # the tests (with `board`: on it alone)
    owner = "ann"
    reason = "RJ45 socket is worn out"
    since = 2026-11-30

The file is `quarantine.toml` beside the inventory. A board that recovery.make_ready() gives up gets an entry by itself.
`pytest --verify-quarantine` runs exactly what is in quarantine, and says what can be released.
"""

from __future__ import annotations

import datetime
import json
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from wizloop.errors import InfrastructureError, UsageError

NAME = "quarantine.toml"
KEYS = ("board", "test", "owner", "reason", "since")


@dataclass(frozen=True)
class Entry:
    board: str  # empty: any
    test: str  # a pattern; empty: all
    owner: str
    reason: str
    since: datetime.date

    def holds(self, board: str, test: str) -> bool:
        return self.board in ("", board) and (not self.test or fnmatchcase(test, self.test))

    def __str__(self) -> str:
        what = " on ".join(part for part in (self.test, self.board) if part)
        return f"{what} is in quarantine since {self.since} ({self.owner}): {self.reason}"


@dataclass(frozen=True)
class Quarantine:
    file: Path
    entries: tuple[Entry, ...]

    def of(self, board: str, test: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.holds(board, test)), None)


def load(file: Path) -> Quarantine:
    """A file that is not there holds nothing."""
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Quarantine(file, ())
    except (OSError, UnicodeDecodeError) as error:
        raise InfrastructureError(f"cannot read {file}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}") from error
    tables = raw.pop("quarantine", [])
    if raw or not isinstance(tables, list):
        raise UsageError(f"{file}: only [[quarantine]] tables are expected")
    return Quarantine(file, tuple(_entry(table, f"{file}: entry {number}") for number, table in enumerate(tables, 1)))


def _entry(raw: Any, where: str) -> Entry:
    if not isinstance(raw, dict) or not raw.keys() <= set(KEYS):
        raise UsageError(f"{where}: expected {', '.join(KEYS)}")
    for key in ("board", "test", "owner", "reason"):
        if not isinstance(raw.get(key, ""), str):
            raise UsageError(f"{where}: {key} = {raw[key]!r}, expected text")
    for key in ("owner", "reason"):
        if not raw.get(key):
            raise UsageError(f"{where}: {key} is missing: who looks after it, and what is wrong?")
    since = raw.get("since")
    if not isinstance(since, datetime.date):
        raise UsageError(f"{where}: since = {since!r}, expected a date such as 2026-11-30")
    if not raw.get("board") and not raw.get("test"):
        raise UsageError(f"{where}: expected a board, a test or both")
    return Entry(raw.get("board", ""), raw.get("test", ""), raw["owner"], raw["reason"], since)


def add_board(file: Path, board: str, reason: str, today: datetime.date) -> Entry:
    """Puts a board into quarantine."""
    entry = Entry(board, "", "wizloop", " ".join(reason.split()), today)
    text = (
        f"\n[[quarantine]]\nboard = {json.dumps(board)}\nowner = {json.dumps(entry.owner)}\n"
        f"reason = {json.dumps(entry.reason, ensure_ascii=False)}\nsince = {today.isoformat()}\n"
    )
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise InfrastructureError(f"cannot write {file}: {error.strerror}") from error
    return entry
