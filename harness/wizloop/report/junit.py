"""Test results from JUnit XML, as ctest and pytest leave it; several files become one.

    parts = [read(Path("build/ctest-release.xml")), read(Path("build/pytest.xml"))]
    merge(parts, Path("build/junit.xml"))

The name of a part is that of its file, and says how its tests are repeated: `ctest-PRESET` by ctest, others by
pytest; a test that records the property `repeat` says it itself, `capture` names a file that it left, `figure` is what
it has measured, in words; `quarantine` says why somebody has left it out, and `left_out` which board as a whole;
`not_run` says why it could not be run, where board, line or rack are at fault, and `dut` on which board. A file that is
missing or broken is a part that failed: whoever should have left it did not come to its end.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from wizloop.errors import InfrastructureError

PASSED, FAILED, SKIPPED, NOT_RUN = "passed", "failed", "skipped", "not run"
DETAIL_LINES_MAX = 120  # the end of a long output is where it went wrong
DETAIL_LETTERS_MAX = 20_000

_PART = re.compile(r"ctest-(?P<preset>[\w.-]+)")
_GTEST_SKIP = re.compile(r"^(?:.*: )?Skipped\n(?P<reason>.+)$", re.MULTILINE)
_RUN_COMMAND = re.compile(r"^\s*(?:repeat with:\s*)?(?P<command>(?:\S*/)?wizloop run .+?)\s*$", re.MULTILINE)
_CAPTURE = re.compile(r"""[^\s'"=:,()]+\.(?:pcapng|pcap|spi|vcd|trace)\b""")


@dataclass(frozen=True)
class Case:
    name: str
    group: str  # executable or file
    state: str  # PASSED, FAILED, SKIPPED or NOT_RUN: it is not the test that is at fault
    time_s: float
    message: str = ""  # why it failed or was skipped, in one line
    detail: str = ""
    repeat: tuple[str, ...] = ()  # commands, for a shell in the root of the repository
    captures: tuple[str, ...] = ()  # files that exist
    measured: tuple[str, ...] = ()  # in words, such as a coverage
    quarantine: str = ""  # by whom, since when and why it was left out
    left_out: str = ""  # the board, if all of it was
    board: str = ""  # that it could not be run on


@dataclass(frozen=True)
class Part:
    name: str
    cases: tuple[Case, ...]
    source: tuple[Element, ...]  # as they were read

    def count(self, state: str) -> int:
        return sum(case.state == state for case in self.cases)

    @property
    def time_s(self) -> float:
        """Of all tests, one after the other."""
        return sum(case.time_s for case in self.cases)


def read(file: Path, root: Path = Path()) -> Part:
    """Paths in it are meant from `root`."""
    try:
        tree = ElementTree.parse(file)
    except FileNotFoundError:
        return _broken(file, f"left no results: {file} is missing")
    except (ElementTree.ParseError, OSError, ValueError) as error:
        return _broken(file, f"left results that cannot be read: {file}: {error}")
    # pytest leaves a test that was interrupted without a name or an outcome.
    source = tuple(case for case in tree.iter("testcase") if case.get("name"))
    if not source:
        return _broken(file, f"left results without any test: {file}")
    return Part(file.stem, tuple(_case(element, file.stem, root) for element in source), source)


def merge(parts: Sequence[Part], file: Path) -> None:
    """All of them in one file, a suite for each part."""
    root = Element("testsuites", name="wizloop")
    for part in parts:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=part.name,
            tests=str(len(part.cases)),
            failures=str(part.count(FAILED)),
            errors=str(part.count(NOT_RUN)),
            skipped=str(part.count(SKIPPED)),
            time=f"{part.time_s:.3f}",
        )
        suite.extend(part.source)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise InfrastructureError(f"cannot write {file}: {error.strerror}") from error


def _broken(file: Path, why: str) -> Part:
    element = Element("testcase", name=file.stem, classname=file.stem, time="0")
    ElementTree.SubElement(element, "error", message=why)
    return Part(file.stem, (Case(file.stem, file.stem, FAILED, 0.0, why),), (element,))


def _case(element: Element, part: str, root: Path) -> Case:
    name = element.get("name", "")
    group = name.partition(".")[0] if _PART.fullmatch(part) else element.get("classname", "")
    time_s = float(element.get("time") or 0)
    measured = tuple(_properties(element, "figure"))
    fault = next((found for kind in ("failure", "error") if (found := element.find(kind)) is not None), None)
    printed = element.findtext("system-out") or ""
    if fault is not None or element.get("status") == "fail":
        told = (fault.text or "") if fault is not None else ""
        detail = "\n".join(text for text in (told.strip(), printed.strip()) if text)
        message = _message(fault, detail)
        told = _properties(element, "repeat") or [_repeat(name, element.get("classname", ""), part, root)]
        repeat = (*told, *_commands_in(detail))
        captures = _captures(element, detail, root)
        if why := _properties(element, "not_run"):
            board = "".join(_properties(element, "dut")[:1])
            return Case(name, group, NOT_RUN, time_s, why[0], _end_of(detail), repeat, captures, measured, board=board)
        return Case(name, group, FAILED, time_s, message, _end_of(detail), repeat, captures, measured)
    skip = element.find("skipped")
    held, board = ("".join(_properties(element, name)) for name in ("quarantine", "left_out"))
    if skip is not None or element.get("status") in ("notrun", "disabled"):
        return Case(name, group, SKIPPED, time_s, _skip_reason(skip, printed), quarantine=held, left_out=board)
    return Case(name, group, PASSED, time_s, measured=measured)


def _message(fault: Element | None, detail: str) -> str:
    """The first line that says something: of the attribute, else where GoogleTest or Python says what failed."""
    said = (fault.get("message") or "").strip() if fault is not None else ""
    if said and said != "Failed":
        return said.splitlines()[0]
    lines = [line.strip() for line in detail.splitlines() if line.strip()]
    marked = next((place for place, line in enumerate(lines) if line.endswith(": Failure")), None)
    if marked is not None and marked + 1 < len(lines):
        return " ".join(lines[marked + 1 : marked + 4])[:300]
    return lines[-1][:300] if lines else "failed, and said nothing"


def _skip_reason(skip: Element | None, printed: str) -> str:
    said = (skip.get("message") or "") if skip is not None else ""
    if not said or said.startswith("SKIP_"):
        found = _GTEST_SKIP.search(printed)
        said = found["reason"] if found else said
    return said.strip() or "no reason given"


def _repeat(name: str, classname: str, part: str, root: Path) -> str:
    ctest = _PART.fullmatch(part)
    if ctest:
        pattern = f"^{re.escape(name)}$".replace(r"\-", "-").replace(r"\ ", " ")
        return shlex.join(["ctest", "--preset", ctest["preset"], "--output-on-failure", "-R", pattern])
    words = classname.split(".") if classname else []
    node = _node([*words, name], len(words), root) or _node(name.split("."), name.count(".") + 1, root)
    return shlex.join([".venv/bin/python", "-m", "pytest", *([node] if node else ["-k", name])])


def _node(words: list[str], most: int, root: Path) -> str:
    """Of words, of which at most so many name a file, and the others classes and a test in it; empty: no such file."""
    for length in range(most, 0, -1):
        file = "/".join(words[:length]) + ".py"
        if (root / file).is_file():
            return "::".join([file, *words[length:]])
    return ""


def _commands_in(detail: str) -> list[str]:
    """What the test itself says how to repeat: a single run."""
    return list(dict.fromkeys(found["command"] for found in _RUN_COMMAND.finditer(detail)))[:3]


def _captures(element: Element, detail: str, root: Path) -> tuple[str, ...]:
    """Recorded by the test as the property `capture`, or named in its output; those that are still there."""
    named = [*_properties(element, "capture"), *_CAPTURE.findall(detail)]
    there = [root / name for name in dict.fromkeys(named) if name and (root / name).is_file()]
    return tuple(str(file.resolve()) for file in there)


def _properties(element: Element, name: str) -> list[str]:
    return [p.get("value") or "" for p in element.iter("property") if p.get("name") == name]


def _end_of(detail: str) -> str:
    lines = detail.splitlines()
    kept = "\n".join(lines[-DETAIL_LINES_MAX:])[-DETAIL_LETTERS_MAX:]
    return kept if len(kept) >= len(detail) else f"[...]\n{kept}"
