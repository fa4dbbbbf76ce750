"""The job that a rack runs from a timer: check the boards, test all of them at once, measure, compare, report.

    plan = Plan(duts=("b1", "tcp:rack1:7001"), out=Path("build/nightly"), bodies=Path("tests/dut"))
    nightly.run(plan, print)["exit_code"]

Each step is a process of its own with a deadline, and a board that hangs holds up no other. It ends with the night, however
that ends (night_keeper.py). All figures of a night are one stored run. A board that does not answer is told on the page, and the others are tested all the same.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement

from wizloop import boards
from wizloop.compare.noise import NOISE_PCT_MAX
from wizloop.dut import inventory, quarantine
from wizloop.dut.address import is_name
from wizloop.errors import InfrastructureError, NothingMeasured, UsageError
from wizloop.night_keeper import end
from wizloop.results import reading, recording
from wizloop.results.database import Database, location
from wizloop.results.schema import VIRTUAL

CHECK_DEADLINE_S = 120.0
HOST_DEADLINE_S = 600.0  # of what needs no board: simulating, and writing the report
POLL_S = 0.05
PUBLISHED = "published figures"  # beside the boards, where they could not be simulated
CHECK = "bringup_test.py::test_it_says_who_it_is"
FIGURES = "figures_test.py"
VERIFY = "--verify-quarantine"


@dataclass(frozen=True)
class Plan:
    duts: tuple[str, ...]
    out: Path
    bodies: Path  # the folder of the test bodies
    label: str = "nightly"
    base: str | None = None  # as for report
    intended: Path | None = None
    max_noise: float = NOISE_PCT_MAX
    inventory: Path | None = None
    database: str | None = None
    deadline_s: float = 3600.0  # of the tests of one board
    host_figures: bool = True
    pytest: tuple[str, ...] = ()  # more words for the tests


@dataclass
class Job:
    """A process of the night; its output goes into a log."""

    name: str
    words: list[str]
    log: Path
    junit: Path | None = None
    told: Path | None = None  # where a check says what is wrong
    code: int | None = None  # None: it has not ended by itself

    @property
    def command(self) -> str:
        return shlex.join(["wizloop", *self.words])

    def last_line(self) -> str:
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1].removeprefix("wizloop: ") if lines else "it said nothing"

    def last_test(self) -> str:
        """As pytest -v has it: each test on a line of its own, with its outcome once it has one."""
        lines = self.log.read_text(errors="replace")
        found = re.findall(r"^(\S+::.*?) (?:(?:PASSED|FAILED|SKIPPED|ERROR).*)?$", lines, re.M)
        return found[-1].strip() if found else "its start"

    @property
    def ran_nothing(self) -> bool:
        """Its words chose no test. One that has run and found no board ends with the same code."""
        if self.code != NothingMeasured.exit_code or self.junit is None:
            return False
        return not self.junit.exists() or ElementTree(file=self.junit).find(".//testcase") is None


def run(plan: Plan, say: Callable[[str], None]) -> dict[str, Any]:
    """What came of the night, by the names of its report; `exit_code` is that of the command line."""
    if not plan.duts and not plan.host_figures:
        raise NothingMeasured("no board to test: name one with --dut, or write an inventory with `wizloop board add`")
    if VERIFY in plan.pytest:
        plan = _verifying(plan, say)
    with _alone(plan.out), Database(location(plan.database)) as database, _begun(plan, database, say) as night:
        for old in [*plan.out.glob("*.xml"), *plan.out.glob("*.log")]:
            old.unlink()
        environment = {**os.environ, recording.JOINED: str(night.run)}
        held = _held(plan)
        checks = _check(plan, [dut for dut in plan.duts if dut not in held], environment, say)
        usable = [dut for dut, check in checks.items() if check.code == 0]
        if plan.host_figures:
            bench = _bench(plan)
            _work([bench], HOST_DEADLINE_S, environment, say)
            if bench.code not in (0, 1):  # a figure that failed is stored, and told as such
                checks[PUBLISHED] = bench
        tests = [_tests(plan, dut) for dut in usable]
        _work(tests, plan.deadline_s, environment, say)
        measured = {f.head.board for f in reading.figures(database, [night.run]) if f.head.clock != VIRTUAL}
        _work(
            [_prediction(plan, board) for board in sorted(measured & set(boards.names()))],
            plan.deadline_s,
            environment,
            say,
        )
        night.end()
        document = _report(plan, night.run, checks, tests, held, say)
        code = _exit_code(document, list(checks.values()), tests)
        _amend(plan.out / "report.json", exit_code=code)
    tested = {job.name: job for job in tests}
    return {
        **{name: document[name] for name in ("verdict", "headline", "sentences")},
        "exit_code": code,
        "run": night.run,
        "report": str(plan.out / "index.html"),
        "boards": [_board_json(dut, held.get(dut), checks.get(dut), tested.get(f"test {dut}")) for dut in plan.duts],
    }


def _board_json(dut: str, held: quarantine.Entry | None, check: Job | None, tests: Job | None) -> dict[str, Any]:
    """A code of null: it was left out, or not done in time."""
    return {
        "name": dut,
        "well": check is not None and check.code == 0,
        "why": "" if check is None or check.code == 0 else _why(check),
        "check_code": None if check is None else check.code,
        "tests_code": None if tests is None else tests.code,
        "quarantine": held and held.to_json(),
    }


def _quarantine(plan: Plan) -> quarantine.Quarantine:
    return quarantine.load(inventory.load(plan.inventory).file.with_name(quarantine.NAME))


def _held(plan: Plan) -> dict[str, quarantine.Entry]:
    """The boards that are in quarantine with all of their tests, unless these are to be verified."""
    if VERIFY in plan.pytest:
        return {}
    held = _quarantine(plan)
    return {dut: entry for dut in plan.duts if (entry := held.of_board(dut)) is not None}


def _verifying(plan: Plan, say: Callable[[str], None]) -> Plan:
    """Of the boards that have something in quarantine. It is no night that others are compared with: most is missing."""
    boards_of = {entry.board for entry in _quarantine(plan).entries}
    there = [dut for dut in plan.duts if boards_of & {"", dut}]
    for dut in plan.duts:
        if dut not in there:
            say(f"{dut}: nothing of it is in quarantine")
    return replace(plan, duts=tuple(there), label=f"{plan.label}-verify")


def _check(
    plan: Plan, duts: Sequence[str], environment: Mapping[str, str], say: Callable[[str], None]
) -> dict[str, Job]:
    checks = {}
    for dut in duts:
        place = plan.out / f"check-{_slug(dut)}"
        if is_name(dut):
            told = place.with_name(f"{place.name}.json")
            told.unlink(missing_ok=True)
            words = ["board", "check", dut, *_inventory(plan), "--json", str(told)]
        else:
            told, words = None, [*_test_words(plan, dut), "-q", str(plan.bodies / CHECK)]
        checks[dut] = Job(f"check {dut}", words, place.with_name(f"{place.name}.log"), told=told)
    _work(list(checks.values()), CHECK_DEADLINE_S, environment, say)
    return checks


def _tests(plan: Plan, dut: str) -> Job:
    name = f"dut-{_slug(dut)}"
    junit = plan.out / f"{name}.xml"
    words = [*_test_words(plan, dut), "-v", f"--junitxml={junit}", *_recorded(plan), *plan.pytest]
    return Job(f"test {dut}", words, plan.out / f"{name}.log", junit)


def _prediction(plan: Plan, board: str) -> Job:
    """What the model says about the figures that a board was measured for."""
    chosen = any(Path(word.partition("::")[0]).exists() for word in plan.pytest)
    bodies = [] if chosen else [str(plan.bodies / FIGURES)]
    words = [*_test_words(plan, f"model:{board}"), "-q", *_recorded(plan), *plan.pytest, *bodies]
    return Job(f"predict {board}", words, plan.out / f"predict-{_slug(board)}.log")


def _bench(plan: Plan) -> Job:
    words = ["bench", "--record", "--label", plan.label]
    words += ["--database", plan.database] if plan.database is not None else []
    return Job("bench", words, plan.out / "bench.log")


def _test_words(plan: Plan, dut: str) -> list[str]:
    return ["test", "--dut", dut, *_inventory(plan), "--"]


def _inventory(plan: Plan) -> list[str]:
    return ["--inventory", str(plan.inventory)] if plan.inventory is not None else []


def _recorded(plan: Plan) -> list[str]:
    if VERIFY in plan.pytest:
        return []
    database = [f"--database={plan.database}"] if plan.database is not None else []
    return ["--record-figures", f"--run-label={plan.label}", *database]


def _report(
    plan: Plan,
    run: int,
    checks: Mapping[str, Job],
    tests: Sequence[Job],
    held: Mapping[str, quarantine.Entry],
    say: Callable[[str], None],
) -> dict[str, Any]:
    words = ["report", "--run", str(run), "--out", str(plan.out), "--title", f"wizloop {plan.label}"]
    words += ["--max-noise", str(plan.max_noise)]
    for option, value in (("--base", plan.base), ("--intended", plan.intended), ("--database", plan.database)):
        words += [option, str(value)] if value is not None else []
    if checks or held:
        _write_boards(checks, tests, held, plan.out / "boards.xml")
        files = [plan.out / "boards.xml", *(job.junit for job in tests if not job.ran_nothing)]
        words += ["--merged", str(plan.out / "junit.xml"), *(f"--junit={file}" for file in files)]
    job = Job("report", words, plan.out / "report.log")
    _work([job], HOST_DEADLINE_S, os.environ, say)
    if job.code != 0:
        raise InfrastructureError(f"the report failed: {job.last_line()}")
    document: dict[str, Any] = json.loads((plan.out / "report.json").read_text(encoding="utf-8"))
    say(f"{document['verdict']}: {document['headline']}")
    for sentence in document["sentences"]:
        say(f"  {sentence['text']}")
    say(f"report: {plan.out / 'index.html'}")
    return document


def _amend(file: Path, **changes: Any) -> None:
    """The report does not know how the steps of the night ended."""
    document = {**json.loads(file.read_text(encoding="utf-8")), **changes}
    whole = file.with_suffix(".new")
    whole.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    whole.replace(file)


def _write_boards(
    checks: Mapping[str, Job], tests: Sequence[Job], held: Mapping[str, quarantine.Entry], file: Path
) -> None:
    """Of each board whether it is well or left out, and of those whose tests were not done where they stood."""
    suite = Element("testsuite", name="boards")
    for dut, job in checks.items():
        case = SubElement(suite, "testcase", classname="boards", name=dut, time="0")
        SubElement(SubElement(case, "properties"), "property", name="repeat", value=job.command)
        if job.code != 0:
            SubElement(case, "error", message=f"{'not simulated' if dut == PUBLISHED else 'it is not well'}: {_why(job)}")
    for job in tests:
        if job.code is None:
            case = SubElement(suite, "testcase", classname="boards", name=job.name, time="0")
            SubElement(SubElement(case, "properties"), "property", name="repeat", value=job.command)
            SubElement(case, "error", message=f"not done in time, and ended at {job.last_test()}")
    for dut, entry in held.items():
        case = SubElement(suite, "testcase", classname="boards", name=dut, time="0")
        properties = SubElement(case, "properties")
        SubElement(properties, "property", name="quarantine", value=str(entry))
        SubElement(properties, "property", name="left_out", value=dut)
        SubElement(case, "skipped", message=str(entry))
    ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _why(job: Job) -> str:
    if job.code is None:
        return "it hangs"
    said = job.last_line()
    if job.told is not None and job.told.exists():
        said = json.loads(job.told.read_text(encoding="utf-8"))["boards"][0]["said"]
    return "".join(letter for letter in said if letter.isprintable())


def _exit_code(document: Mapping[str, Any], checks: Sequence[Job], tests: Sequence[Job]) -> int:
    """A test that failed outranks a figure that got slower, and that a board that cannot be reached."""
    at_fault = {"boards"} | {
        job.junit.stem for job in tests if job.junit is not None and job.code in (None, InfrastructureError.exit_code)
    }
    if any(failure["where"] not in at_fault and not failure["not_run"] for failure in document["failures"]):
        return 1
    if any(sentence["light"] == "red" and sentence["place"] == "figures" for sentence in document["sentences"]):
        return 3
    unwell = {job.code for job in checks} - {0}
    if unwell - {NothingMeasured.exit_code} or any(job.code in (None, InfrastructureError.exit_code) for job in tests):
        return InfrastructureError.exit_code
    if unwell:  # a place that no coordinator has
        return NothingMeasured.exit_code
    if tests and all(job.ran_nothing for job in tests):
        return NothingMeasured.exit_code
    code: int = document["exit_code"]
    return code


# --- processes


def _work(jobs: Sequence[Job], deadline_s: float, environment: Mapping[str, str], say: Callable[[str], None]) -> None:
    """All at once. Who is not done by the deadline is ended, with all that it started."""
    running: dict[int, tuple[Job, subprocess.Popen[bytes]]] = {}
    until = time.monotonic() + deadline_s
    try:
        for number, job in enumerate(jobs):
            with job.log.open("wb") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "wizloop.night_keeper", str(os.getpid()), *job.words],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=dict(environment),
                    start_new_session=True,
                    close_fds=False,  # the lock of the folder is held until the last of them has ended
                )
            running[number] = job, process
        while running and time.monotonic() < until:
            for number, (job, process) in list(running.items()):
                if process.poll() is not None:
                    del running[number]
                    job.code = process.returncode
                    say(f"{job.name}: " + ("ok" if job.code == 0 else f"exit code {job.code}, {job.last_line()}"))
            time.sleep(POLL_S)
        for job, _ in running.values():
            say(f"{job.name}: not done after {deadline_s:g} s, ended")
    finally:
        for _, process in running.values():
            end(process.pid, process)


@contextmanager
def _begun(plan: Plan, database: Database, say: Callable[[str], None]) -> Iterator[recording.Recorder]:
    night = recording.begin(database, recording.here(plan.label))
    with recording.told_when_interrupted(say, night):
        yield night


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / ".lock").open("w")
    except OSError as error:
        raise UsageError(f"--out: cannot write {folder}: {error.strerror}") from error
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InfrastructureError(f"another nightly run is at work in {folder}") from None
        os.set_inheritable(lock.fileno(), True)
        yield


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")
