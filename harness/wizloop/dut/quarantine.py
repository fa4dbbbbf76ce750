"""Boards and tests that are known to be bad: left out, with owner, reason and date, until somebody has looked.

    [[quarantine]]
    board = "b3"                      # the board, or
    test = "*udp_test.py::test_a_burst*"   # the tests (with `board`: on it alone)
    owner = "ann"
    reason = "RJ45 socket is worn out"
    since = 2026-11-30

The file is `quarantine.toml` beside the inventory. A board that recovery.make_ready() gives up gets an entry by itself.
`pytest --verify-quarantine` runs what is in quarantine, and says what can go: by `wizloop board release`.
"""

from __future__ import annotations

import datetime
import fcntl
import json
import re
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from wizloop.errors import InfrastructureError, UsageError

NAME = "quarantine.toml"
SELF = "wizloop"  # the owner of what it put there by itself
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

    @property
    def release(self) -> str:
        """The command that takes it out."""
        words = [*([self.board] if self.board else []), *(["--test", self.test] if self.test else [])]
        return shlex.join(["wizloop", "board", "release", *words])

    @property
    def said(self) -> str:
        """Behind the name of what it holds."""
        return f"in quarantine since {self.since} ({self.owner}): {self.reason}"

    @property
    def what(self) -> str:
        return " on ".join(part for part in (self.test, self.board) if part)

    def __str__(self) -> str:
        return f"{self.what} is {self.said}"

    def to_json(self) -> dict[str, str]:
        return {**asdict(self), "since": self.since.isoformat()}


@dataclass(frozen=True)
class Quarantine:
    file: Path
    entries: tuple[Entry, ...]

    def of(self, board: str, test: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.holds(board, test)), None)

    def of_board(self, board: str) -> Entry | None:
        """Whether it is left out with all tests."""
        return next((entry for entry in self.entries if entry.board == board and not entry.test), None)


def load(file: Path) -> Quarantine:
    """A file that is not there holds nothing."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Quarantine(file, ())
    except (OSError, UnicodeDecodeError) as error:
        raise InfrastructureError(f"cannot read {file}: {error}") from error
    return _parse(text, file)


def _parse(text: str, file: Path) -> Quarantine:
    try:
        raw = tomllib.loads(text)
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


def add(file: Path, entry: Entry) -> None:
    """Puts a board, tests, or tests on a board into quarantine."""
    keys = {"board": entry.board, "test": entry.test, "owner": entry.owner, "reason": entry.reason}
    lines = [f"{key} = {json.dumps(text, ensure_ascii=False)}\n" for key, text in keys.items() if text]
    block = "\n[[quarantine]]\n" + "".join(lines) + f"since = {entry.since.isoformat()}\n"
    _edit(file, lambda text: text + block)


def add_board(file: Path, board: str, reason: str, today: datetime.date) -> Entry:
    """One that was given up."""
    entry = Entry(board, "", SELF, " ".join(reason.split()), today)
    add(file, entry)
    return entry


def release(file: Path, board: str = "", test: str = "", owner: str = "") -> list[Entry]:
    """Takes out what is there for just this board and just this pattern of tests; of that owner, if one is given."""
    released: list[Entry] = []

    def without(text: str) -> str:
        head, *blocks = re.split(r"^(?=[ \t]*\[\[quarantine\]\])", text, flags=re.M)
        entries = _parse(text, file).entries
        if len(entries) != len(blocks):
            raise UsageError(f"{file}: not a [[quarantine]] on a line of its own before each entry, so edit it by hand")
        for entry, block in zip(entries, blocks, strict=True):
            if (entry.board, entry.test) == (board, test) and owner in ("", entry.owner):
                released.append(entry)
            else:
                head += block
        return head

    if file.exists():
        _edit(file, without)
    return released


def _edit(file: Path, change: Callable[[str], str]) -> None:
    """Alone, whoever else does the same."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a+", encoding="utf-8") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            held.seek(0)
            before = held.read()
            after = change(before)
            if after != before:
                held.truncate(0)
                held.write(after)
    except OSError as error:
        raise InfrastructureError(f"cannot write {file}: {error.strerror}") from error
