"""The flake ledger, and `wizloop board flakes`."""

import json

from fake_board import FakeBoard
from wizloop.dut import host, ledger, locks
from wizloop.dut.ledger import Flake, Line

pytest_plugins = ["pytester"]

AT = "2026-11-30T21:00:00+00:00"


def line(outcome, commit="c1", board="b1", test="t"):
    return Line(AT, board, test, outcome, commit)


def test_a_test_that_passes_and_fails_at_one_commit_is_flaky():
    lines = [line("passed"), line("failed"), line("failed", board="b2"), line("passed", "c2", board="b2")]
    assert ledger.flakes(lines) == [Flake("b1", "t", passed=1, failed=1, infrastructure=0)]


def test_failures_of_the_infrastructure_are_counted_by_themselves_and_the_worst_come_first():
    lines = [line("infrastructure"), line("passed"), *[line("passed", test="u"), line("failed", test="u")] * 2]
    assert ledger.flakes(lines) == [Flake("b1", "u", 2, 2, 0), Flake("b1", "t", 1, 0, 1)]


def test_what_a_crash_has_cut_short_costs_its_line_only(tmp_path):
    file = tmp_path / "ledger.jsonl"
    assert ledger.read(file) == []
    ledger.append(file, [])
    assert not file.exists()
    ledger.append(file, [line("passed")])
    with file.open("a") as out:
        out.write('{"at": "x", "bo\n{"at": 1}\n')
    ledger.append(file, [line("failed")])
    assert ledger.read(file) == [line("passed"), line("failed")]


def test_flakes_are_listed(wizloop, tmp_path):
    (tmp_path / "boards.toml").write_text("")
    ledger.append(tmp_path / ledger.NAME, [line("passed"), line("failed"), line("passed", test="u")])
    out = tmp_path / "out.json"
    code, said, _ = wizloop("board", "flakes", "--inventory", tmp_path / "boards.toml", "--json", out)
    assert code == 0
    assert said.splitlines() == [
        "b1  t  passed 1, failed 1, infrastructure 0",
        f"1 of 2 tests, by {tmp_path / ledger.NAME}",
    ]
    assert json.loads(out.read_text())["flakes"][0]["failed"] == 1


def test_tests_that_a_lost_board_has_failed_do_not_hide_those_that_are_flaky(wizloop, tmp_path):
    (tmp_path / "boards.toml").write_text("")
    lost = [line("infrastructure", test=f"t{n}") for n in range(21)] * 2
    few = [line("infrastructure", board="b2", test="v")]
    ledger.append(tmp_path / ledger.NAME, [*lost, *few, line("passed", test="u"), line("failed", test="u")])
    assert wizloop("board", "flakes", "--inventory", tmp_path / "boards.toml")[1].splitlines() == [
        "b1  u  passed 1, failed 1, infrastructure 0",
        "b2  v  passed 0, failed 0, infrastructure 1",
        "b1  21 tests  infrastructure 42",
        f"23 of 23 tests, by {tmp_path / ledger.NAME}",
    ]


def test_outcomes_on_boards_of_the_inventory_are_kept(pytester, monkeypatch):
    shared = host.Host()
    monkeypatch.setattr("wizloop.dut.stands.Host", lambda: shared)
    (pytester.path / "locks").mkdir()
    monkeypatch.setenv(locks.VARIABLE, str(pytester.path / "locks"))
    said = {
        "reset": "ok us=1",
        "path p=burst intn=0": "ok p=burst",
        "net": "ok ip=10.0.0.1",
        "brew": "err unknown-verb",
    }
    board = FakeBoard(shared, lambda _, request: said.get(request.partition(" timeout_ms=")[0], "ok phycfgr=00"))
    monkeypatch.setitem(said, "hello", "ok agent=1 board=fake chip=W5500 caps=full,byte,burst")
    (pytester.path / "boards.toml").write_text(f'[[board]]\nname = "b1"\naddress = "serial:{board.device}"\n')
    pytester.makepyfile(
        test_it="""
import pytest
def test_good(dut): assert dut.board == "fake"
def test_bad(dut): dut.ask("brew")
def test_skipped(dut): pytest.skip("not today")
"""
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--dut-inventory", "boards.toml", "--dut", "b1")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    kept = ledger.read(pytester.path / ledger.NAME)
    assert [(each.board, each.test, each.outcome) for each in kept] == [
        ("b1", "test_it.py::test_good[b1]", "passed"),
        ("b1", "test_it.py::test_bad[b1]", "failed"),
    ]
