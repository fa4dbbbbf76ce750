"""Failures of the infrastructure are retried and counted, those of tests never."""

import datetime
from xml.etree import ElementTree

import pytest
import wizloop.dut.stands  # noqa: F401, stays loaded: pytester forgets what is imported within its runs
from fake_board import FakeBoard
from wizloop.cli.test import Seen, _judge
from wizloop.dut import host, ledger, locks, quarantine, recovery
from wizloop.dut.recovery import BoardLost
from wizloop.errors import InfrastructureError
from wizloop.report import junit

pytest_plugins = ["pytester"]

HEAD = """
from wizloop.dut.agent import NoAnswer

tries = []

def lost_until(attempt):
    tries.append(1)
    if len(tries) < attempt:
        raise NoAnswer(f"no answer in 5 s\\nfor the {len(tries)}. time")
"""


@pytest.fixture
def rack(pytester, monkeypatch):
    """A board that does as it is told, in an inventory; makes the run of a test file on it."""
    shared = host.Host()
    monkeypatch.setattr("wizloop.dut.stands.Host", lambda: shared)
    (pytester.path / "locks").mkdir()
    monkeypatch.setenv(locks.VARIABLE, str(pytester.path / "locks"))
    said = {"reset": "ok us=1", "path p=burst intn=0": "ok p=burst", "net": "ok ip=10.0.0.1"}
    board = FakeBoard(shared, lambda _, request: said.get(request.partition(" timeout_ms=")[0], "ok phycfgr=00"))
    said["hello"] = "ok agent=1 board=fake chip=W5500 caps=full,byte,burst"
    (pytester.path / "boards.toml").write_text(f'[[board]]\nname = "b1"\naddress = "serial:{board.device}"\n')

    def run(body, *options, dut="b1"):
        pytester.makepyfile(test_it=HEAD + body)
        seen = Seen()
        words = [
            "-p",
            "no:cacheprovider",
            "-p",
            "no:warnings",
            "--dut-inventory",
            "boards.toml",
            "--dut",
            dut,
            "--junitxml",
            "junit.xml",
        ]
        result = pytester.runpytest_inprocess(*words, *options, plugins=[seen])
        result.seen = seen
        return result

    run.address = f"serial:{board.device}"
    return run


def outcomes(pytester):
    return [line.outcome for line in ledger.read(pytester.path / ledger.NAME)]


def test_a_test_that_the_rack_has_failed_is_retried_and_counted(rack, pytester):
    result = rack("def test_it(dut): lost_until(2)")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*test_it.py R.*",
            "*infrastructure failures that were retried*",
            "test_it.py::test_it?b1?: no answer in 5 s",
            "*1 passed, 1 retried*",
        ]
    )
    assert outcomes(pytester) == ["infrastructure", "passed"]
    (flake,) = ledger.flakes(ledger.read(pytester.path / ledger.NAME))
    assert (flake.passed, flake.infrastructure) == (1, 1)
    (case,) = ElementTree.parse(pytester.path / "junit.xml").iter("testcase")
    properties = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert properties == {"infrastructure_retries": "1", "dut": "b1"}
    assert case.find("failure") is None and case.find("error") is None
    (seen,) = result.seen.tests
    assert (seen.outcome, seen.infrastructure_retries) == ("passed", 1)


def test_what_is_retried_for_one_reason_is_told_together(rack):
    body = """
import pytest

@pytest.mark.parametrize("n", [1, 2, 3])
def test_it(dut, n):
    tries.append(n)
    if tries.count(n) == 1:
        raise NoAnswer("no answer in 5 s")
"""
    rack(body).stdout.fnmatch_lines(["test_it.py::test_it?b1-1? and 2 more: no answer in 5 s", "*3 passed, 3 retried*"])


def test_a_test_that_fails_by_itself_is_never_retried(rack, pytester):
    result = rack("def test_it(dut): tries.append(1); assert len(tries) > 1")
    result.assert_outcomes(failed=1)
    assert "1 retried" not in result.stdout.str()
    assert outcomes(pytester) == ["failed"]


def test_a_test_that_fails_by_itself_after_a_retry_has_failed(rack, pytester):
    result = rack("def test_it(dut): lost_until(2); assert not 'good'")
    result.stdout.fnmatch_lines(["*1 failed, 1 retried*"])
    assert outcomes(pytester) == ["infrastructure", "failed"]


def test_what_fails_again_is_a_failure_of_the_infrastructure(rack, pytester):
    result = rack("def test_it(dut): lost_until(9)")
    result.stdout.fnmatch_lines(["test_it.py:8: no answer in 5 s", "for the 2. time", "*1 failed, 1 retried*"])
    assert "def test_it" not in result.stdout.str()  # nor any other frame
    assert outcomes(pytester) == ["infrastructure", "infrastructure"]
    (seen,) = result.seen.tests
    assert (seen.outcome, seen.infrastructure, seen.infrastructure_retries) == ("failed", True, 1)


def states(pytester):
    return [case.state for case in junit.read(pytester.path / "junit.xml").cases]


def test_results_tell_a_test_that_the_rack_has_failed_from_one_that_failed_by_itself(rack, pytester):
    body = """
import pytest
from wizloop.errors import NothingMeasured

@pytest.fixture
def late(dut):
    yield
    raise AssertionError("left something behind")

def test_lost(dut): raise NoAnswer("no answer in 5 s")
def test_lost_and_wrong(dut, late): raise NoAnswer("no answer in 5 s")
def test_wrong(dut): assert not "good"
def test_no_board(dut): raise NothingMeasured("there is no such place")
"""
    rack(body, "--infrastructure-retries=0")
    assert states(pytester) == ["not run", "not run", "failed", "failed", "not run"]
    assert outcomes(pytester) == ["infrastructure", "infrastructure", "failed", "failed", "infrastructure"]
    (lost, *_) = junit.read(pytester.path / "junit.xml").cases
    assert (lost.message, lost.board) == ("no answer in 5 s", "b1")


def test_a_set_up_that_is_cut_short_by_the_rack_hides_no_fault_of_its_tear_down(rack, pytester):
    body = """
import pytest

@pytest.fixture
def kept(dut):
    yield
    raise AssertionError("left something behind")

@pytest.fixture
def lost(kept): raise NoAnswer("no answer in 5 s")

def test_it(lost): pass
"""
    rack(body, "--infrastructure-retries=0")
    assert states(pytester) == ["failed"]


@pytest.mark.parametrize(("retries", "state"), [(0, "*1 failed in*"), (3, "*1 passed, 3 retried*")])
def test_how_often_is_an_option(rack, pytester, retries, state):
    rack("def test_it(dut): lost_until(4)", f"--infrastructure-retries={retries}").stdout.fnmatch_lines([state])
    assert outcomes(pytester)[:-1] == ["infrastructure"] * retries


def test_other_tests_of_the_session_are_as_they_were(rack):
    result = rack("def test_one(dut): lost_until(2)\ndef test_two(dut): pass\ndef test_no_board(): assert 1")
    result.stdout.fnmatch_lines(["*3 passed, 1 retried*"])


@pytest.fixture
def losses(monkeypatch):
    """The board is lost so many times before it is made ready."""
    left = []
    make_ready = recovery.make_ready

    def lose(device):
        if left:
            left.pop()
            raise BoardLost(f"{device.name} is lost\n  resync: no answer\n  DTR reset: no answer")
        return make_ready(device)

    monkeypatch.setattr(recovery, "make_ready", lose)
    return left


def test_a_lost_board_gets_one_more_chance(rack, pytester, losses):
    losses.extend([1])
    result = rack("def test_one(dut): pass\ndef test_two(dut): pass")
    result.stdout.fnmatch_lines(["*2 passed, 1 retried*"])
    assert outcomes(pytester) == ["infrastructure", "passed", "passed"]
    assert quarantine.load(pytester.path / quarantine.NAME).entries == ()


def test_a_board_that_is_lost_again_goes_into_quarantine_and_fails_the_rest_at_once(rack, pytester, losses):
    losses.extend([1, 1])
    result = rack("def test_one(dut): pass\ndef test_two(dut): pass")
    result.stdout.fnmatch_lines(["2 tests: b1 is lost", "*1 retried, 2 not run*"])
    assert outcomes(pytester) == ["infrastructure"] * 3
    assert {test.why for test in result.seen.tests} == {"b1 is lost; resync: no answer; DTR reset: no answer"}
    with pytest.raises(InfrastructureError, match="^2 tests could not be run: b1 is lost; resync: no answer; DTR reset: no"):
        _judge(result.ret, result.seen)
    (entry,) = quarantine.load(pytester.path / quarantine.NAME).entries
    assert (entry.board, entry.owner) == ("b1", quarantine.SELF)


def test_a_board_that_is_lost_by_its_address_goes_into_quarantine_by_its_name(rack, pytester, losses):
    losses.extend([1, 1])
    result = rack("def test_it(dut): pass", dut=rack.address)
    result.stdout.fnmatch_lines(["1 test: b1 is lost"])
    assert outcomes(pytester) == ["infrastructure"] * 2
    assert [entry.board for entry in quarantine.load(pytester.path / quarantine.NAME).entries] == ["b1"]
    rack("def test_it(dut): pass", dut=rack.address).assert_outcomes(skipped=1)


def test_a_board_is_left_out_by_whatever_name_its_port_is_given(rack, pytester):
    (pytester.path / "another-name").symlink_to(rack.address.removeprefix("serial:"))
    quarantine.add_board(pytester.path / quarantine.NAME, "b1", "its socket is worn out", datetime.date(2026, 11, 30))
    for dut in ("b1", rack.address, f"{rack.address}@115200", "serial:another-name"):
        result = rack("def test_it(dut): pass", "--why", dut=dut)
        result.assert_outcomes(skipped=1)
        result.stdout.fnmatch_lines(["*b1 is in quarantine since 2026-11-30 (wizloop): its socket is worn out"])


def test_a_board_of_several_addresses_is_tested_once(rack, pytester):
    result = rack("def test_it(dut): pass", "--dut", "b1", dut=rack.address)
    result.assert_outcomes(passed=1)
    assert [line.test for line in ledger.read(pytester.path / ledger.NAME)] == ["test_it.py::test_it[b1]"]
