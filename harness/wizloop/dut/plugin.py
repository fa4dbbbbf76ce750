"""The pytest plugin: tests that are written once and run on any board.

    @needs("dma", "link_flap")
    def test_transfer_survives_a_pulled_cable(dut, peer): ...

    pytest tests/dut --dut model:w55rp20 --dut serial:/dev/ttyUSB0@1000000

Fixtures: `dut`, a device.Device in a known state; `peer`, who is at the far end of its cable; `chip`, what only the
model shows; `record_figure`, for what is measured; `bulk_bytes`, how much a long transfer moves. A test that needs what
a board does not have is skipped with the reason, and `--why` lists the reasons. A test on the model fails on any
finding that it did not announce with `announces(rule, why)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from _pytest.runner import runtestprotocol

from wizloop.dut.address import is_name, is_pool, is_virtual, parse_address
from wizloop.errors import InfrastructureError, NothingMeasured, WizloopError, debugging

if TYPE_CHECKING:
    from wizloop.dut.device import Device
    from wizloop.dut.model import ModelChip
    from wizloop.dut.peers import Peer
    from wizloop.dut.stands import Stands

RETRIED = "retried"  # the outcome of a report
NOT_RUN = "not run"  # the heading under which pytest counts tests that got no board
# Properties of a report, with the reason in words of whoever is at fault in place of the test.
INFRASTRUCTURE, NO_BOARD = "infrastructure", "no board"
NOT_RUN_FOR = "not_run"  # the property of a test that only those have failed, for the JUnit file: the reason
LEFT_OUT = "quarantine"  # the property of a test that is not run: why
HELD = "in quarantine"  # the property of a test that is run to verify it: the command that releases it
DEFAULT = "model:w55rp20"
BULK_BYTES = 10 << 20
WAIT_S_MAX = 7 * 24 * 3600
TAIL = 2000  # characters of a board's last words, in a failure

_stands: pytest.StashKey[Stands] = pytest.StashKey()
_figures: pytest.StashKey[Any] = pytest.StashKey()
_at_fault: pytest.StashKey[InfrastructureError] = pytest.StashKey()
_outcomes: list[tuple[str, str, str]] = []  # board, test, one of ledger.OUTCOMES
_crashed: set[str] = set()  # tests whose worker died


def needs(*what: str) -> pytest.MarkDecorator:
    """What a test cannot do without; the names are those of device.NEEDS."""
    return pytest.mark.needs(*what)


def announces(rule: str, why: str) -> pytest.MarkDecorator:
    """The firmware is known to break this rule in this test, which is accepted for the reason given."""
    return pytest.mark.announces(rule, why)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("wizloop", "wizloop: tests on boards")
    group.addoption(
        "--dut",
        action="append",
        metavar="ADDRESS",
        help="where tests run: model:BOARD, rtl:BOARD, serial:PORT[@BAUD], tcp:HOST:PORT, labgrid:PLACE, labgrid:any, or the "
        f"name of a board of the inventory (default: {DEFAULT}); may be repeated",
    )
    group.addoption(
        "--dut-inventory", metavar="FILE", help="the boards there are (default: as `wizloop board list` says)"
    )
    group.addoption(
        "--infrastructure-retries",
        type=int,
        default=1,
        metavar="N",
        help="how often a test is repeated that board, line or rack have failed (default: 1); others never are",
    )
    group.addoption(
        "--dut-wait", type=float, metavar="S", help="for a place of labgrid that others have (default: 300 s)"
    )
    group.addoption("--why", action="store_true", help="list each skipped test with what its board lacks")
    group.addoption("--verify-quarantine", action="store_true", help="run what is in quarantine, and nothing else")
    group.addoption("--dut-bytes", type=int, metavar="N", help=f"of a long transfer (default: {BULK_BYTES})")
    group.addoption("--dut-seed", type=int, default=1, metavar="N", help="of all random streams of the model")
    group.addoption("--record-figures", action="store_true", help="store what record_figure is given")
    group.addoption("--run-label", default="", metavar="TEXT", help="name the stored run")
    group.addoption("--database", metavar="URL", help="of stored runs; default: as `wizloop bench --record` has it")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*what): skip on boards that lack one of these")
    config.addinivalue_line("markers", "announces(rule, why): the firmware breaks this rule, which is accepted")
    wait = config.getoption("dut_wait")
    if wait is not None and not 0 <= wait <= WAIT_S_MAX:  # nor is "nan"
        raise pytest.UsageError(f"--dut-wait {wait}: expected seconds, from 0 to {WAIT_S_MAX} (a week)")
    if config.getoption("dut"):
        try:
            config.option.dut = _by_name(config)
        except WizloopError as error:
            raise pytest.UsageError(str(error)) from error


def _by_name(config: pytest.Config) -> list[str]:
    """The boards that --dut names, each once: one with an entry in the inventory is the board of that name, whichever of
    its addresses it was given by, for its quarantine, its ledger and its worker.
    """
    texts = list(dict.fromkeys(config.getoption("dut")))
    addresses = {text: parse_address(text) for text in texts if not is_name(text)}
    if all(is_virtual(text) for text in addresses):
        return texts
    from wizloop.dut import inventory

    file = config.getoption("dut_inventory")
    known = inventory.load(None if file is None else Path(file))
    return list(dict.fromkeys(known.name_of(text) for text in texts))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dut_address" in metafunc.fixturenames:
        addresses = metafunc.config.getoption("dut") or [DEFAULT]
        metafunc.parametrize("dut_address", addresses, scope="session")


def stands_of(config: pytest.Config) -> Stands:
    """The boards of this run of pytest."""
    from wizloop.dut.stands import Stands

    if _stands not in config.stash:
        wait = config.getoption("dut_wait")
        options = {} if wait is None else {"wait_s": wait}
        config.stash[_stands] = Stands(config.getoption("dut_inventory"), config.getoption("dut_seed"), **options)
    return config.stash[_stands]


def _address_of(item: pytest.Item) -> str | None:
    """On which board it runs."""
    address = getattr(getattr(item, "callspec", None), "params", {}).get("dut_address")
    return None if address is None else str(address)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    on_boards = [(item, address) for item in items if (address := _address_of(item)) is not None]
    if not on_boards:
        return
    try:
        quarantine = stands_of(config).quarantine()
    except WizloopError as error:
        raise pytest.UsageError(str(error)) from error
    verify = config.getoption("verify_quarantine")
    held = []
    for item, address in on_boards:
        entry = quarantine.of(address, item.nodeid)
        if entry is not None:
            held.append(item)
            if verify:
                item.user_properties.append((HELD, entry.release))
            else:
                item.user_properties.append((LEFT_OUT, str(entry)))
                item.add_marker(pytest.mark.skip(reason=str(entry)))
    if verify:
        config.hook.pytest_deselected(items=[item for item in items if item not in held])
        items[:] = held


def pytest_unconfigure(config: pytest.Config) -> None:
    if _stands in config.stash:
        config.stash[_stands].close()
        del config.stash[_stands]


@pytest.fixture
def dut(request: pytest.FixtureRequest, dut_address: str) -> Iterator[Device]:
    """A board in a known state, whatever the test before has left behind."""
    wanted = _needs_of(request.node)
    if not is_virtual(dut_address):
        request.node.user_properties.append(("dut", dut_address))
    device = stands_of(request.config).lend(dut_address)
    try:
        if is_pool(dut_address):
            request.node.user_properties[-1] = ("dut", device.name)
        if device.recovered:
            request.node.user_properties.append(("recovered", ", ".join(device.recovered)))
        if why := device.why_not(wanted):
            pytest.skip(f"{dut_address} has no {why}")
        yield device
    finally:
        stands_of(request.config).give_back(dut_address)


def _where(device: Device, address: str) -> str:
    """The address for people and records; of a pool, that of the board which it has become."""
    return device.name if is_pool(address) else address


def _needs_of(item: pytest.Item) -> frozenset[str]:
    from wizloop.dut.device import NEEDS

    wanted = frozenset(name for mark in item.iter_markers("needs") for name in mark.args)
    for name in wanted - NEEDS.keys():
        raise pytest.UsageError(f"{item.nodeid}: unknown need '{name}', expected {', '.join(NEEDS)}")
    return wanted


@pytest.fixture
def peer(request: pytest.FixtureRequest, dut: Device) -> Iterator[Peer]:
    """Who is at the far end of the board's cable."""
    if why := dut.why_not(frozenset({"host"})):
        pytest.skip(f"{dut.name} has no {why}")
    far_end = stands_of(request.config).peer_of(dut)
    yield far_end
    far_end.close()


@pytest.fixture
def chip(dut: Device) -> ModelChip:
    """The chip inside the model."""
    if dut.chip is None:
        pytest.skip(f"{dut.name} has no {dut.why_not(frozenset({'chip'}))}")
    return dut.chip


@pytest.fixture
def bulk_bytes(request: pytest.FixtureRequest) -> int:
    """How much a long transfer moves."""
    chosen = request.config.getoption("dut_bytes")
    return BULK_BYTES if chosen is None else int(chosen)


RecordFigure = Callable[..., None]


@pytest.fixture
def record_figure(request: pytest.FixtureRequest, dut: Device, dut_address: str) -> RecordFigure:
    """Keeps a figure: in the JUnit file always, in the results database with --record-figures.

    record_figure("tcp_xmit", 17.9, "Mbit/s", path="dma", firmware_count=sent, peer_count=received)
    """
    from wizloop.dut.figures import Figures

    config = request.config
    if _figures not in config.stash:
        config.stash[_figures] = Figures.of(config)
    figures = config.stash[_figures]

    def record(name: str, value: float, unit: str, **more: Any) -> None:
        request.node.user_properties.append((f"{name} [{unit}]", value))
        figures.add(dut, _where(dut, dut_address), name, value, unit, **more)

    return record


# A test that the infrastructure has failed is repeated: on a board that is made ready anew, its line opened again. Each
# failure that is repeated is an outcome of its own, in the summary and in the flake ledger. The test's own never is.


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    address, left = _address_of(item), item.config.getoption("infrastructure_retries")
    if address is None or is_virtual(address) or left <= 0:  # the model would do the same again
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    known, retried = len(item.user_properties), 0
    while True:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        failed = [report for report in reports if report.failed]
        at_fault = [report for report in failed if INFRASTRUCTURE in dict(report.user_properties)]
        if not failed or failed != at_fault or retried == left or not _once_more(item, address):
            break
        retried += 1
        report = failed[0]
        report.outcome = RETRIED  # type: ignore[assignment]  # one that pytest does not know, and passes on
        report.when = "call"  # for who takes a teardown for the end of a test
        item.ihook.pytest_runtest_logreport(report=report)
        del item.user_properties[known:]
        item.user_properties.append(("infrastructure_retries", retried))
        known = len(item.user_properties) - 1
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _once_more(item: pytest.Item, address: str) -> bool:
    """Whether there is hope: a board that was lost gets one more chance in a session, and one that never was there none."""
    from wizloop.dut.recovery import BoardLost

    stands = stands_of(item.config)
    if isinstance(item.stash[_at_fault], BoardLost):
        return stands.try_again(address)
    if stands.has_given_up(address):
        return False
    stands.leave(address)
    return True


def _why_not_run(report: pytest.TestReport) -> str:
    """Why the test got no board; empty: it got one, or its own fixtures failed."""
    told = dict(report.user_properties)
    return str(told.get(INFRASTRUCTURE) or told.get(NO_BOARD) or "") if report.failed and report.when == "setup" else ""


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Tests without a board are a kind of their own, told once for each reason and not once for each test."""
    if report.outcome == RETRIED:
        return RETRIED, "R", "RETRIED"
    return (NOT_RUN, "E", "ERROR") if _why_not_run(report) else None


# Findings of the model fail the test in which they were earned.


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    outcome = yield
    device = cast("Device | None", pyfuncitem.funcargs.get("dut"))
    if device is not None and device.chip is not None:
        announced = {mark.args[0] for mark in pyfuncitem.iter_markers("announces")}
        unannounced = [found for found in device.chip.findings if found.rule in set(device.chip.failing) - announced]
        assert not unannounced, "findings that nobody announced:\n" + "\n".join(
            f"  {found.severity} {found.rule}: {found.seen} (`wizloop explain {found.rule}`)" for found in unannounced
        )
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    address = _address_of(item)
    if report.failed and address is not None:  # the JUnit file has properties of the item, those of its last phase
        item.user_properties.append(("repeat", f"wizloop test --dut {address} -- '{item.nodeid}'"))
    device = getattr(item, "funcargs", {}).get("dut")
    if report.failed and device is not None:
        device.suspect = True
        address = getattr(item, "funcargs", {})["dut_address"]
        report.sections.append((f"last words of {_where(device, address)}", device.line.log.text(TAIL)))
        report.sections.append(("to repeat", f"wizloop test --dut {address} -- '{item.nodeid}'"))
    at_fault = call.excinfo is not None and isinstance(call.excinfo.value, InfrastructureError | NothingMeasured)
    if report.failed and not at_fault:  # a fault before it is no excuse for what the test got wrong by itself
        for properties in (item.user_properties, report.user_properties):
            properties[:] = [told for told in properties if told[0] != NOT_RUN_FOR]
    if report.failed and call.excinfo is not None and at_fault:
        fault = cast("InfrastructureError | NothingMeasured", call.excinfo.value)
        if isinstance(fault, InfrastructureError):
            report.user_properties.append((INFRASTRUCTURE, str(fault)))
            item.stash[_at_fault] = fault
        else:
            report.user_properties.append((NO_BOARD, str(fault)))
        if address is not None:
            for properties in (item.user_properties, report.user_properties):  # of a call, and of the phases after it
                properties.append((NOT_RUN_FOR, str(fault)))
        if address is not None and not debugging():
            report.longrepr = _in_words(item, call.excinfo, str(fault))
    return report


def _in_words(item: pytest.Item, caught: pytest.ExceptionInfo[BaseException], fault: str) -> str:
    """What is wrong, and the line of the test that met it, if it had begun: frames of the harness help nobody there."""
    met = [entry for entry in caught.traceback if entry.path == item.path]
    return f"{item.path.name}:{met[-1].lineno + 1}: {fault}" if met else fault


def _show_not_run(terminalreporter: Any) -> None:
    """Each reason why tests got no board, once."""
    terminalreporter.section(NOT_RUN)
    for why, tests in Counter(_why_not_run(report) for report in terminalreporter.getreports(NOT_RUN)).items():
        terminalreporter.line(f"{tests} test{'' if tests == 1 else 's'}: {why}")


def _show_verified(terminalreporter: Any) -> None:
    """Of each entry of the quarantine whether all of its tests have passed."""
    terminalreporter.section("quarantine")
    came_to: dict[str, dict[str, bool]] = {}
    for kind in ("passed", "failed", "error"):
        for report in terminalreporter.getreports(kind):
            if command := dict(report.user_properties).get(HELD):
                came_to.setdefault(command, {})[report.nodeid] = kind == "passed"
    for command, tests in came_to.items():
        bad = [nodeid for nodeid, passed in tests.items() if not passed]
        for nodeid in bad:
            terminalreporter.line(f"{nodeid} is still bad")
        said = f"no, {len(bad)} of {len(tests)} are still bad" if bad else f"yes, all {len(tests)} have passed"
        terminalreporter.line(f"{command}: {said}")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if config.getoption("verify_quarantine"):
        _show_verified(terminalreporter)
    if terminalreporter.getreports(NOT_RUN):
        _show_not_run(terminalreporter)
    retried = terminalreporter.getreports(RETRIED)
    if retried:
        terminalreporter.section("infrastructure failures that were retried")
        of_reason: dict[str, list[str]] = {}
        for report in retried:
            of_reason.setdefault(str(dict(report.user_properties)[INFRASTRUCTURE]).splitlines()[0], []).append(report.nodeid)
        for why, (first, *others) in of_reason.items():
            terminalreporter.line(f"{first}{f' and {len(others)} more' if others else ''}: {why}")
    recovered = [
        (report.nodeid, value)
        for reports in terminalreporter.stats.values()
        for report in reports
        for key, value in getattr(report, "user_properties", [])
        if key == "recovered" and report.when == "call"
    ]
    if recovered:
        terminalreporter.section("boards that had to be brought back")
        for nodeid, rungs in recovered:
            terminalreporter.line(f"before {nodeid}: {rungs}")
    if config.getoption("why"):
        skipped = terminalreporter.getreports("skipped")
        if skipped:
            terminalreporter.section("why tests were skipped")
        for report in skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            terminalreporter.line(f"{report.nodeid}: {reason.removeprefix('Skipped: ')}")


# What becomes of tests on boards of the inventory goes into its flake ledger, once: with workers by their controller.


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    properties = dict(report.user_properties)
    if "dut" not in properties or report.skipped or (report.passed and report.when != "call"):
        return
    at_fault = {INFRASTRUCTURE, NO_BOARD} & properties.keys()
    outcome = "passed" if report.passed else "infrastructure" if at_fault else "failed"
    _outcomes.append((str(properties["dut"]), report.nodeid, outcome))


# Figures of all workers of one session are one stored run.


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """pytest-xdist: two workers never on one board."""
    addresses = [address for address in config.getoption("dut") or [] if not is_virtual(address)]
    boards = [address for address in addresses if not is_pool(address)]
    if not addresses or config.getoption("dist") != "load":
        return None
    from wizloop.dut.scheduling import BoardScheduling

    return BoardScheduling(config, log, boards)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport) -> None:
    """pytest-xdist: a worker died, and another one runs its test again. On a board that is no fault of the test, once."""
    if is_virtual(crashitem.partition("[")[2]):
        return
    report.user_properties.append((INFRASTRUCTURE, "its worker died"))
    if crashitem not in _crashed:
        report.outcome, report.when = RETRIED, "call"  # type: ignore[assignment]
    _crashed.add(crashitem)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist, in the controller, for each of its workers."""
    if node.config.getoption("record_figures"):
        from wizloop.dut.figures import WORKER_RUN, Figures

        if _figures not in node.config.stash:
            node.config.stash[_figures] = Figures.of(node.config)
        node.workerinput[WORKER_RUN] = node.config.stash[_figures].begin()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _outcomes and not hasattr(session.config, "workerinput"):
        stands_of(session.config).write_ledger(_outcomes)
    _outcomes.clear()
    _crashed.clear()
    if _figures in session.config.stash:
        session.config.stash[_figures].end()
