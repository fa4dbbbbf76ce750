"""`wizloop test`: the test bodies against boards."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wizloop.cli import output, surroundings
from wizloop.errors import InfrastructureError, NothingMeasured, UsageError

if TYPE_CHECKING:
    import pytest

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": False}


def bodies() -> Path:
    """The folder of the bodies: inside an installed package, or beside the sources it runs from."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "bodies"
    return installed if installed.is_dir() else package.parents[1] / "tests" / "dut"


def test(
    context: typer.Context,
    dut: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="model:BOARD, rtl:BOARD, serial:PORT[@BAUD], tcp:HOST:PORT, labgrid:PLACE, labgrid:any, "
            "labgrid:TAG=VALUE, or a board's name; repeatable.",
        ),
    ] = None,
    inventory: Annotated[Path | None, typer.Option(metavar="FILE", help="The boards there are.")] = None,
    dut_wait: Annotated[
        float | None,
        typer.Option(metavar="S", min=0, help="How long to wait for a place of labgrid that others have; default: 300 s."),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="List each skipped test with what its board lacks.")] = False,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Each test with its outcome.")] = None,
) -> None:
    """Run the test bodies on boards; what follows -- is for pytest, files of your own included."""
    import pytest

    for address in dut or []:
        must_exist(address, inventory)
    words = list(context.args)
    for address in dut or []:
        words += ["--dut", address]
    if inventory is not None:
        words += ["--dut-inventory", str(inventory)]
    if dut_wait is not None:
        words += ["--dut-wait", str(dut_wait)]
    if why:
        words.append("--why")
    if not _names_tests(context.args):
        words.append(str(bodies()))
    seen = Seen()
    with surroundings.ending_as_ctrl_c_does() as came:
        try:
            code = pytest.main(words, plugins=[seen])
        except KeyboardInterrupt:  # before pytest has a session, or at its end
            code = pytest.ExitCode.INTERRUPTED
    if json is not None:
        output.write_json(json, {"tests": [asdict(each) for each in seen.tests]})
    if came:
        raise typer.Exit(128 + came[0])
    _judge(int(code), seen)


def must_exist(dut: str, inventory: Path | None) -> None:
    """Refuses what is no board before a test is asked for one. Whether a real one answers is for the tests to see."""
    from wizloop import boards
    from wizloop.dut import inventory as inventories
    from wizloop.dut.address import ModelAddress, is_name, parse_address
    from wizloop.simulator import check_front

    if is_name(dut):
        inventories.load(inventory).find(dut)
        return
    address = parse_address(dut)
    if isinstance(address, ModelAddress):
        boards.find(address.board)
        check_front(address.front)


def _names_tests(words: list[str]) -> bool:
    """Whether some of pytest's words are tests. A folder behind an option may be the option's."""
    for before, word in zip(["", *words], words, strict=False):
        path = Path(word.partition("::")[0])
        if path.is_dir() and not before.startswith("-"):
            return True
        if path.suffix == ".py" and path.exists():
            return True
    return False


@dataclass(frozen=True)
class Outcome:
    id: str
    outcome: str  # "passed", "failed", "skipped"
    wall_s: float
    why: str  # of a failure or a skip, in one line; where the test is not at fault, in words
    infrastructure: bool  # not the test's fault
    infrastructure_retries: int  # how often it was repeated for that reason
    no_board: bool = False  # there is none of that name or address


class Seen:
    """What became of each test."""

    def __init__(self) -> None:
        self.tests: list[Outcome] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        from wizloop.dut.plugin import INFRASTRUCTURE, NO_BOARD, RETRIED

        if (report.when != "call" and report.passed) or report.outcome == RETRIED:
            return
        told = dict(report.user_properties)
        fault = str(told.get(INFRASTRUCTURE) or told.get(NO_BOARD) or "")
        why = "" if report.passed else _in_one_line(fault) or _reason(report.longrepr)
        retries = int(str(told.get("infrastructure_retries", 0)))
        self.tests.append(
            Outcome(
                report.nodeid, report.outcome, report.duration, why, INFRASTRUCTURE in told, retries, NO_BOARD in told
            )
        )

    def count(self, outcome: str) -> int:
        return sum(test.outcome == outcome for test in self.tests)


def _in_one_line(text: str) -> str:
    """All of it: a lost board's reason has a line for each means that was tried."""
    return "; ".join(line.strip() for line in text.splitlines())


def _reason(longrepr: object) -> str:
    if isinstance(longrepr, tuple):
        return str(longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", longrepr)).strip()
    return text.splitlines()[0] if text else ""


def _judge(code: int, seen: Seen) -> None:
    """pytest's exit codes, in those of this program."""
    import pytest

    if code == pytest.ExitCode.USAGE_ERROR:
        raise UsageError("pytest did not understand this: see above")
    if code == pytest.ExitCode.INTERNAL_ERROR:
        raise InfrastructureError("pytest failed: see above")
    if code == pytest.ExitCode.INTERRUPTED:
        raise typer.Exit(130)
    failed = [test for test in seen.tests if test.outcome == "failed"]
    if failed and all(test.infrastructure or test.no_board for test in failed):
        first, *others = dict.fromkeys(test.why for test in failed)
        why = first + (f"; and {len(others)} more, see above" if others else "")
        if all(test.no_board for test in failed):
            raise NothingMeasured(why)
        raise InfrastructureError(f"{len(failed)} test{'' if len(failed) == 1 else 's'} could not be run: {why}")
    if failed or code == pytest.ExitCode.TESTS_FAILED:
        raise typer.Exit(1)
    if not seen.count("passed"):
        raise NothingMeasured("no test has run" + (": all were skipped (--why)" if seen.tests else ""))
