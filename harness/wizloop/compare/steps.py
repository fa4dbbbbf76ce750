"""Intended steps: moves of a figure that somebody wanted, and why. A TOML file, reviewed with the code that brings them.

[[step]]
figure = "SEED008*"          # * and ? stand for any characters
path = "dma"                 # optional, as are board and dut
change_pct = [-8, -5]        # of the value in its unit: what moves further is no intended step
commit = "1a2b3c4"           # optional: only this commit as the new side
reason = "every RECV waits for the link check"
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from wizloop.errors import UsageError
from wizloop.simulator import near


@dataclass(frozen=True)
class Step:
    figure: str
    board: str
    path: str
    dut: str
    change_pct_least: float
    change_pct_most: float
    commit: str
    reason: str

    def covers(self, name: str, board: str, path: str, dut: str, change_pct: float, commit: str) -> bool:
        patterns = ((self.figure, name), (self.board, board), (self.path, path), (self.dut, dut))
        return (
            all(fnmatchcase(value, pattern) for pattern, value in patterns)
            and self.change_pct_least <= change_pct <= self.change_pct_most
            and commit.startswith(self.commit)
        )

    def __str__(self) -> str:
        where = [f"{key} {value}" for key in _PATTERNS if (value := getattr(self, key)) != "*"]
        span = f"{self.change_pct_least:+g} to {self.change_pct_most:+g} %"
        of = f" of {self.commit}" if self.commit else ""
        return f"{' '.join([self.figure, *where])}, {span}{of}: {self.reason}"


_PATTERNS = ("board", "path", "dut")
_KEYS = ("figure", *_PATTERNS, "change_pct", "commit", "reason")


def load(file: Path) -> tuple[Step, ...]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--intended: cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not TOML: {error}") from error
    steps = document.get("step", [])
    for key in document:
        if key != "step":
            raise UsageError(f"{file}: unknown key '{key}'{near(key, ['step'])}, expected [[step]]")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise UsageError(f"{file}: step is no list, expected [[step]] before each one")
    return tuple(_step(step, f"{file}: step {number}") for number, step in enumerate(steps, 1))


def _step(raw: dict[str, Any], where: str) -> Step:
    for key in raw:
        if key not in _KEYS:
            raise UsageError(f"{where}: unknown key '{key}'{near(key, _KEYS)}, expected {', '.join(_KEYS)}")
    words = {key: raw.get(key, "*" if key in _PATTERNS else "") for key in _KEYS if key != "change_pct"}
    for key, word in words.items():
        if not isinstance(word, str) or (not word.strip() and key != "commit"):
            raise UsageError(f"{where}: {key} is {word!r}, expected some words")
    span = raw.get("change_pct")
    if (
        not isinstance(span, list)
        or len(span) != 2
        or not all(type(end) in (int, float) and math.isfinite(end) for end in span)
        or span[0] > span[1]
    ):
        raise UsageError(f"{where}: change_pct is {span!r}, expected the least and the most, such as [-8, -5]")
    return Step(change_pct_least=float(span[0]), change_pct_most=float(span[1]), **words)
