"""The pytest plugin, tried on test files of its own."""

from xml.etree import ElementTree

import pytest
import wizloop.dut.figures
import wizloop.dut.stands  # noqa: F401, both stay loaded: pytester forgets what is imported within its runs
from wizloop.report import junit
from wizloop.results import reading
from wizloop.results.database import Database, location

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.simulator


@pytest.fixture
def run(simulator, pytester, monkeypatch):
    """Runs a test file with these options."""
    monkeypatch.delenv("WIZLOOP_DATABASE", raising=False)

    def run_file(body: str, *options: str, plugins: tuple[object, ...] = ()) -> pytest.RunResult:
        pytester.makepyfile(test_it="from wizloop.dut.plugin import announces, needs\n" + body)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options, plugins=plugins)

    return run_file


def test_a_body_runs_on_each_board_named(run):
    body = "def test_board(dut, dut_address): assert dut_address == 'model:' + dut.board"
    run(body).assert_outcomes(passed=1)
    boards = ["--dut", "model:w55rp20", "--dut", "model:teensy40-w5500", "--dut", "model:w55rp20"]
    run(body, *boards).assert_outcomes(passed=2)


def test_what_a_board_lacks_skips_with_the_reason(run):
    body = """
@needs("power", "moonlight")
def test_moon(dut): pass

@needs("dma")
def test_dma(dut): pass
"""
    result = run(body, "--why")
    result.assert_outcomes(passed=1, errors=1)  # a need that nobody knows is a mistake of the test
    result.stdout.fnmatch_lines(["*unknown need 'moonlight'*"])


def test_reasons_for_skips_are_listed(run):
    body = """
import dataclasses

def test_power(dut):
    dut.surroundings = dataclasses.replace(dut.surroundings, power=None)
    import pytest
    pytest.skip(f"{dut.name} has no {dut.why_not(frozenset({'power'}))}")
"""
    result = run(body, "--why")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*test_power*: model:w55rp20 has no power: nothing switches its power*"])


def test_each_body_gets_a_board_as_good_as_new(run):
    body = """
def test_one(dut): dut.ask("net", ip="10.0.0.1"); dut.start("link", wait_ms=60000)
def test_two(dut): assert dut.ask("net")["ip"] == "192.168.1.20" and dut.now() < 1
"""
    run(body).assert_outcomes(passed=2)


def test_findings_fail_unless_they_are_announced(run):
    body = """
def test_bare(dut): dut.ask("reset", pin="low"); dut.ask("reg", block="common", offset=57)

@announces("access-before-pll-lock", "on purpose")
@announces("wrong-version", "on purpose")
def test_announced(dut): test_bare(dut)
"""
    result = run(body)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*findings that nobody announced*", "*error access-before-pll-lock: SPI frame*"])


def test_a_failure_shows_the_boards_last_words_and_how_to_repeat_it(run):
    result = run("def test_bad(dut): dut.ask('brew')")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*VerbFailed: brew: err unknown-verb*", "*last words of model:w55rp20*", "*err unknown-verb*"]
    )
    result.stdout.fnmatch_lines(["wizloop test --dut model:w55rp20 -- 'test_it.py::test_bad?model:w55rp20?'"])


def test_a_wrong_address_is_an_error_that_says_what_was_expected(run):
    result = run("def test_it(dut): pass", "--dut", "carrier:pigeon")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: 'carrier:pigeon': unknown kind 'carrier', expected model:BOARD, *"])


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("model:nothing", "unknown board 'nothing': the boards are "),
        ("tcp:127.0.0.1:1", "cannot connect to tcp:127.0.0.1:1: Connection refused; expected the console of a board there"),
        ("serial:/dev/nowhere", "there is no serial port /dev/nowhere; there are "),
        ("nobody", "boards.toml has no board 'nobody': it has none"),
    ],
)
def test_a_board_that_is_not_there_is_told_once_in_words(run, pytester, named, why):
    (pytester.path / "boards.toml").write_text("")
    body = "def test_one(dut): pass\ndef test_two(dut): pass\ndef test_three(): pass"
    result = run(body, "--dut", named, "--dut-inventory", "boards.toml", "--junitxml", "junit.xml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*= not run =*", f"2 tests: *{why}*", "*= 1 passed,*2 not run in *"])
    text = result.stdout.str()
    assert text.count(why) == 1
    assert "retried" not in text  # there is no hope
    errors = list(ElementTree.parse(pytester.path / "junit.xml").iter("error"))
    assert len(errors) == 2
    assert all(why in error.text and "\n" not in error.text for error in errors)


def test_tracebacks_are_for_who_asks(run, monkeypatch):
    monkeypatch.setenv("WIZLOOP_DEBUG", "1")
    errors = []

    class Reports:
        def pytest_runtest_logreport(self, report):
            errors.append(str(report.longrepr))

    run("def test_it(dut): pass", "--dut", "model:nothing", plugins=(Reports(),))
    assert "boards.py:" in errors[0]


def test_the_length_of_long_transfers_is_an_option(run):
    body = "def test_it(bulk_bytes): assert bulk_bytes == {}"
    run(body.format(10 << 20)).assert_outcomes(passed=1)
    run(body.format(500), "--dut-bytes", "500").assert_outcomes(passed=1)


FIGURE = """
def test_it(dut, record_figure):
    record_figure("tcp_xmit", 17.9, "Mbit/s", path="dma", firmware_count=10, peer_count=10)
    record_figure("tcp_recv", 1.0, "Mbit/s", path="byte", firmware_count=10, peer_count=9)
"""


def test_figures_are_properties_of_the_junit_file(run, pytester):
    run(FIGURE, "--junitxml", "junit.xml").assert_outcomes(passed=1)
    assert 'name="tcp_xmit [Mbit/s]" value="17.9"' in (pytester.path / "junit.xml").read_text()


def test_figures_are_stored_as_one_run(run, memory):
    url = str(memory / "runs.db")
    run(FIGURE, "--record-figures", "--run-label", "tonight", "--database", url).assert_outcomes(passed=1)
    with Database(location(url)) as database:
        (stored,) = reading.runs(database)
        first, second = reading.figures(database, [stored.id])
    assert stored.head.label == "tonight"
    assert stored.ended is not None
    assert (first.head.name, first.head.dut, first.head.clock) == ("tcp_xmit", "model:w55rp20", "virtual")
    assert first.head.fingerprint
    assert first.samples[0].sample.value == 17.9
    assert second.samples[0].sample.void == "the firmware counts 10, the peer 9"


def test_a_boards_figure_stands_beside_what_the_model_gave_last(run, memory):
    url = str(memory / "runs.db")
    on_a_board = """
def test_it(dut, record_figure):
    dut.line.virtual = False  # as if its time were real
    record_figure("tcp_xmit", 16.0, "Mbit/s", path="dma")
    record_figure("tcp_recv", 16.0, "Mbit/s", path="dma")
    dut.line.virtual = True
"""
    for body in (FIGURE, on_a_board):
        run(body, "--record-figures", "--database", url).assert_outcomes(passed=1)
    with Database(location(url)) as database:
        _, second = reading.runs(database)
        xmit, recv = reading.figures(database, [second.id])
    assert (xmit.head.clock, xmit.head.predicted) == ("real", 17.9)
    assert recv.head.predicted is None  # the model's was void, and of another path


def test_nothing_is_stored_unless_asked_for(run, memory):
    run(FIGURE, "--database", str(memory / "runs.db")).assert_outcomes(passed=1)
    assert list(memory.iterdir()) == []


HELD = """
[[quarantine]]
test = "*::test_bad*"
owner = "ann"
reason = "known to be bad"
since = 2026-11-30
"""
TWO = """
def test_good(dut): pass
def test_bad(dut): assert not "yet"
"""


def test_what_is_in_quarantine_is_left_out_with_its_reason(run, pytester):
    (pytester.path / "boards.toml").write_text("")
    (pytester.path / "quarantine.toml").write_text(HELD)
    result = run(TWO, "--dut-inventory", "boards.toml", "--why", "--junitxml=out.xml")
    result.assert_outcomes(passed=1, skipped=1)
    held = {case.name.partition("[")[0]: case.quarantine for case in junit.read(pytester.path / "out.xml").cases}
    assert held == {"test_good": "", "test_bad": "*::test_bad* is in quarantine since 2026-11-30 (ann): known to be bad"}
    result.stdout.fnmatch_lines(["*test_bad*is in quarantine since 2026-11-30 (ann): known to be bad"])


def test_quarantine_is_verified_by_running_it_alone(run, pytester):
    (pytester.path / "boards.toml").write_text("")
    (pytester.path / "quarantine.toml").write_text(HELD)
    options = ["--dut-inventory", "boards.toml", "--verify-quarantine"]
    result = run(TWO, *options)
    result.assert_outcomes(failed=1, deselected=1)
    release = "wizloop board release --test '?::test_bad?'"
    result.stdout.fnmatch_lines(["*test_bad?model:w55rp20? is still bad", f"{release}: no, 1 of 1 are still bad"])
    result = run(TWO.replace("not ", ""), *options)
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines([f"{release}: yes, all 1 have passed"])


def test_a_wrong_inventory_is_a_mistake_of_the_user(run, pytester):
    (pytester.path / "boards.toml").write_text("[[board]]\nname = 'b1'\n")
    result = run(TWO, "--dut-inventory", "boards.toml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*boards.toml: board b1: address = None, expected*"])


WHERE = """
import os, pytest

@pytest.mark.parametrize("i", range(6))
def test_it(dut_address, i):
    with open("where", "a") as out:
        out.write(f"{dut_address} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


def test_two_workers_never_share_a_board(simulator, pytester):
    """What stands for boards here is never opened: it is about who would."""
    pytester.makepyfile(test_it=WHERE)
    boards = ["--dut", "serial:/dev/a", "--dut", "serial:/dev/b"]
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "3", *boards).assert_outcomes(passed=12)
    lines = set((pytester.path / "where").read_text().splitlines())
    assert len(lines) == 2


def test_a_board_of_two_addresses_has_one_worker(simulator, pytester):
    pytester.makepyfile(test_it=WHERE)
    (pytester.path / "boards.toml").write_text('[[board]]\nname = "b1"\naddress = "tcp:127.0.0.1:1"\n')
    boards = ["--dut", "b1", "--dut", "tcp:127.0.0.1:1", "--dut", "tcp:127.0.0.1:2", "--dut-inventory", "boards.toml"]
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "3", *boards).assert_outcomes(passed=12)
    lines = set((pytester.path / "where").read_text().splitlines())
    assert sorted(line.split()[0] for line in lines) == ["b1", "tcp:127.0.0.1:2"]


def test_the_figures_of_all_workers_are_one_run(simulator, pytester, memory, monkeypatch):
    monkeypatch.delenv("WIZLOOP_DATABASE", raising=False)
    url = str(memory / "runs.db")
    pytester.makepyfile(test_one=FIGURE, test_two=FIGURE.replace("tcp_", "udp_"))
    options = ["-n", "2", "--record-figures", "--database", url]
    pytester.runpytest_subprocess("-p", "no:cacheprovider", *options).assert_outcomes(passed=2)
    with Database(location(url)) as database:
        (stored,) = reading.runs(database)
        names = {figure.head.name for figure in reading.figures(database, [stored.id])}
    assert names == {"tcp_xmit", "tcp_recv", "udp_xmit", "udp_recv"}
    assert stored.ended is not None
