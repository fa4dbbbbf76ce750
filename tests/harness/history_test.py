"""Figures over many runs: steps that are found and none that are not there, drifts, gaps to the model, and how it is
shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from conftest import REPOSITORY, commands_of
from wizloop import changepoints
from wizloop.compare.steps import Step as IntendedStep
from wizloop.history import history
from wizloop.results import reading
from wizloop.results.database import Database, location
from wizloop.results.reading import Point, StoredRun
from wizloop.results.recording import FigureHead, RunHead, Sample, begin
from wizloop.results.schema import REAL, VIRTUAL

EFFECT = np.log1p(0.01)


def nights(seed: int, count: int = 60, step_pct: float = 0.0, at: int = 0) -> list[float]:
    """Logarithms of nightly medians: they scatter by 1 %, each a little like the one before, one in 30 is a bad night."""
    random = np.random.default_rng([seed, 0x6E6967])
    wander, values = random.normal() * 0.007, []
    for night in range(count):
        wander = 0.5 * wander + random.normal() * 0.007 * np.sqrt(0.75)
        value = wander + random.standard_t(4) * 0.005
        if random.random() < 1 / 30:
            value += random.exponential(0.08)
        values.append(float(value + (np.log1p(step_pct / 100) if night >= at else 0.0)))
    return values


# --- steps


def test_of_200_series_without_a_step_at_most_two_show_one():
    assert sum(bool(changepoints.steps(nights(seed), EFFECT)) for seed in range(200)) <= 2


@pytest.mark.parametrize(("step_pct", "found_of_100"), [(3.0, 90), (5.0, 99), (10.0, 100)])
def test_injected_steps_are_found_where_they_are(step_pct, found_of_100):
    found = 0
    for seed in range(100):
        at = 15 + seed % 30
        steps = changepoints.steps(nights(1000 + seed, step_pct=step_pct, at=at), EFFECT)
        found += any(abs(step.index - at) <= 2 and step.change > 0 for step in steps)
    assert found >= found_of_100


def test_scatter_measured_without_regard_to_neighbours_would_be_convicted(monkeypatch):
    monkeypatch.setattr(changepoints, "PENALTY", 1.0)
    assert sum(bool(changepoints.steps(nights(seed), EFFECT)) for seed in range(200)) > 2


def test_several_steps_come_with_their_levels():
    values = [1.0] * 10 + [1.5] * 5 + [1.2] * 12
    steps = changepoints.steps(values, EFFECT)
    assert [(step.index, step.before, step.after) for step in steps] == [(10, 1.0, 1.5), (15, 1.5, 1.2)]
    assert steps[1].change == pytest.approx(-0.3)


def test_the_best_of_all_cuts_is_found():
    random = np.random.default_rng(5)
    series = np.concatenate([random.normal(size=6), 2 + random.normal(size=5), 1 + random.normal(size=4)])
    penalty = 1.5

    def cost(cuts):
        parts = np.split(series, cuts)
        return sum(((part - part.mean()) ** 2).sum() for part in parts) + penalty * len(cuts)

    n, least = len(series), changepoints.LEVEL_MIN
    allowed = [[]]
    for start in range(least, n - least + 1):
        allowed += [[*cuts, start] for cuts in allowed if start - (cuts[-1] if cuts else 0) >= least]
    assert cost(changepoints._cuts(series, penalty)) == pytest.approx(min(cost(cuts) for cuts in allowed))


def test_one_or_two_bad_nights_are_no_step_and_three_are():
    calm = [0.001 * ((7 * n) % 5 - 2) for n in range(40)]
    for bad, steps in ((1, 0), (2, 0), (3, 2)):
        values = [value + (0.3 if 20 <= n < 20 + bad else 0.0) for n, value in enumerate(calm)]
        assert len(changepoints.steps(values, EFFECT)) == steps, bad


def test_a_step_below_the_least_effect_is_none():
    values = [0.0, 0.001] * 15 + [0.008, 0.009] * 15
    assert changepoints.steps(values, EFFECT) == []
    assert len(changepoints.steps(values, 0.005)) == 1


@pytest.mark.parametrize("count", range(6))
def test_short_series_have_no_steps_and_a_trend_from_three_values(count):
    values = [0.01 * n for n in range(count)]
    assert changepoints.steps(values, EFFECT) == []
    assert (changepoints.trend(values) is None) == (count < 3)


def test_a_trend_is_the_drift_from_the_first_run_to_the_last():
    drift = changepoints.trend([0.001 * n + (0.5 if n == 7 else 0.0) for n in range(21)])
    assert drift.change == pytest.approx(0.02)
    assert drift.low == pytest.approx(0.02) and drift.high == pytest.approx(0.02)
    flat = changepoints.trend(nights(3))
    assert flat.low < 0 < flat.high


# --- series

START = datetime(2026, 11, 1, 2, tzinfo=UTC)


def runs(count):
    return [
        StoredRun(n, RunHead("nightly", f"{n:04x}" * 10, False, "rack1", ""), START + timedelta(days=n), None)
        for n in range(1, count + 1)
    ]


def point(run, value, clock=REAL, name="SEED008", predicted=None, unit="Mbit/s", samples=60):
    dut = "serial:/dev/board" if clock == REAL else "model:fast"
    return Point(
        run, name, dut, "fast", "dma", unit, clock, predicted, value, samples if value else 0, 0 if value else samples
    )


def of_nights(predicted=lambda night: None, **changes):
    return [point(n, 18.0 / np.exp(value), predicted=predicted(n)) for n, value in enumerate(nights(1, **changes), 1)]


def test_every_change_of_an_exact_figure_is_a_step():
    values = [20.0, 20.0, 20.000001, 19.0, 19.0]
    (series,) = history(runs(5), [point(n, value, VIRTUAL) for n, value in enumerate(values, 1)])
    assert [(step.at.run, step.before, step.after, step.slower) for step in series.steps] == [
        (3, 20.0, 20.000001, False),
        (4, 20.000001, 19.0, True),
    ]
    assert series.trend is None


def test_a_step_of_a_board_bears_run_commit_and_size():
    (series,) = history(runs(60), of_nights(step_pct=8, at=30))
    (step,) = series.steps
    assert (step.at.run, step.at.commit, step.slower, step.moved) == (31, "001f" * 10, True, "")
    assert step.change_pct == pytest.approx(100 * (1 / 1.08 - 1), abs=0.7)
    assert series.trend.runs == 30


@pytest.mark.parametrize(
    ("model", "moved"), [(lambda n: 20.0 if n < 30 else 18.6, "code"), (lambda n: 20.0, "rack"), (lambda n: None, "")]
)
def test_a_step_that_the_model_shares_is_code_and_one_of_the_board_alone_the_rack(model, moved):
    """The model steps a run before the board seems to: levels are compared, not neighbours."""
    (series,) = history(runs(60), of_nights(model, step_pct=8, at=30))
    assert series.steps[0].moved == moved
    assert len(series.gaps_pct) == (0 if moved == "" else 60)


def test_the_models_figure_of_the_same_run_is_the_prediction():
    (board, _) = history(runs(2), [point(1, 18.0), point(1, 20.0, VIRTUAL), point(2, 17.0)])
    assert board.predicted == (20.0, None)
    assert board.gaps_pct == [pytest.approx(-10)]


def test_a_wanted_step_bears_its_reason():
    wanted = [IntendedStep("SEED*", "*", "*", "*", -9.0, -6.0, "", "waits for the link")]
    (series,) = history(runs(60), of_nights(step_pct=8, at=30), wanted)
    assert series.steps[0].intended == "waits for the link"
    (series,) = history(runs(60), of_nights(step_pct=12, at=30), wanted)
    assert series.steps[0].intended == ""


def test_void_runs_are_counted_and_left_out():
    (series,) = history(runs(4), [point(1, 1.0), point(2, None), point(3, 2.0), point(4, None)])
    assert (series.values, series.void) == ((1.0, 2.0), 2)


def test_a_figure_that_rises_from_zero_is_a_step_without_a_share():
    (series,) = history(runs(2), [point(1, 0.0, VIRTUAL), point(2, 5.0, VIRTUAL)])
    assert (series.steps[0].change_pct, series.steps[0].slower) == (None, False)
    (series,) = history(runs(3), [point(n, 0.0) for n in (1, 2, 3)])
    assert (series.steps, series.trend) == ((), None)


def test_values_stand_in_the_order_of_the_runs():
    (series,) = history(runs(3)[::-1], [point(n, float(n), VIRTUAL) for n in (1, 2, 3)])
    assert series.values == (3.0, 2.0, 1.0)


# --- from the command line


@pytest.fixture
def stored(memory, monkeypatch):
    """25 runs of a board with a step of 8 % at the 13th, its model, and a figure of the model alone."""
    file = memory / "results.db"
    monkeypatch.setenv("WIZLOOP_DATABASE", str(file))
    common = {"board": "fast", "path": "dma", "unit": "Mbit/s", "scenario": "", "metric": "", "library": ""}
    with Database(location(str(file))) as database:
        for n, night in enumerate(nights(1, 25, 8, 12), 1):
            recorder = begin(
                database, RunHead("nightly" if n != 25 else "tried", f"{n:04x}" * 10, n == 25, "rack1", "")
            )
            figure = recorder.figure(FigureHead("SEED008", "serial:/dev/board", clock=REAL, predicted=20.0, **common))
            for scatter in (-0.1, 0.0, 0.1):
                recorder.sample(figure, Sample(18.0 / np.exp(night) + scatter, 5, 5))
            recorder.sample(figure, Sample(99.0, 5, 4))
            recorder.whole(
                FigureHead("OWN/wizloop", "model:fast", clock=VIRTUAL, **common), Sample(20.0 if n < 20 else 21.0)
            )
    return file


def test_points_are_the_medians_of_valid_samples(stored):
    with Database(location(str(stored)), writable=False) as database:
        found = reading.points(database, [1, 2])
        assert len(reading.points(database)) == 50
    assert [(p.run, p.name, p.samples, p.void) for p in found] == [
        (1, "SEED008", 3, 1), (1, "OWN/wizloop", 1, 0), (2, "SEED008", 3, 1), (2, "OWN/wizloop", 1, 0),
    ]  # fmt: skip
    assert found[0].value == pytest.approx(18.0 / np.exp(nights(1, 25, 8, 12)[0]))


def test_the_table_names_steps_drift_and_gap(stored, wizloop):
    code, out, _ = wizloop("history")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "serial:/dev/board"
    assert lines[1].startswith("  SEED008     dma ") and lines[1].endswith("Mbit/s      25 runs  1 step")
    assert " run 13 000d000d0: " in lines[2] and lines[2].endswith("slower; the model did not: rack")
    assert lines[3].startswith("    no certain drift: ") and "over the last 13 runs; gap to the model " in lines[3]
    assert lines[4:6] == ["model:fast", "  OWN/wizloop dma       21.00 Mbit/s      25 runs  1 step"]
    assert lines[6].endswith(" run 20 001400140: 20.00 -> 21.00 Mbit/s, +5.00 %, faster")


def test_it_fits_a_terminal(stored, wizloop, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(len(line) for line in wizloop("history")[1].splitlines()) <= 80


def test_name_board_label_and_number_of_runs_choose(stored, wizloop):
    assert "SEED008" not in wizloop("history", "OWN*")[1]
    assert wizloop("history", "--board", "slow")[0] == 4
    assert " 24 runs " in wizloop("history", "--label", "night*")[1]
    code, out, _ = wizloop("history", "--last", "3")
    assert code == 0 and "  3 runs  no step" in out


def test_a_board_is_chosen_by_its_name_or_by_its_profile(memory, wizloop):
    file = memory / "rack.db"
    with Database(location(str(file))) as database:
        recorder = begin(database, RunHead("nightly", "", False, "rack1", ""))
        for dut, clock in (("a", REAL), ("b", REAL), ("model:fast", VIRTUAL)):
            recorder.whole(FigureHead("tcp_rtt", dut, "fast", "dma", "us", clock, "", "", ""), Sample(40.0))
        recorder.end()

    def shown(board):
        out = wizloop("history", "--database", file, "--board", board)[1]
        return [line for line in out.splitlines() if not line.startswith(" ")]

    assert [shown(board) for board in ("a", "[ab]", "fast", "model:*")] == [
        ["a"], ["a", "b"], ["a", "b", "model:fast"], ["model:fast"],
    ]  # fmt: skip
    assert "gap to the model +0.0 %" in wizloop("history", "--database", file, "--board", "a")[1]


def test_json_says_the_same(stored, wizloop, tmp_path):
    file = tmp_path / "history.json"
    wizloop("history", "--json", file)
    board, model = json.loads(file.read_text())["figures"]
    assert len(board["values"]) == len(board["runs"]) == len(board["gaps_pct"]) == 25
    assert board["runs"][24]["modified"] and board["runs"][24]["started"].endswith("+00:00")
    assert board["steps"][0]["moved"] == "rack" and board["steps"][0]["at"]["run"] == 13
    assert board["trend"]["low_pct"] < board["trend"]["high_pct"]
    assert model["trend"] is None and model["steps"][0]["change_pct"] == pytest.approx(5)


def test_a_wanted_step_is_shown_as_such(stored, wizloop, tmp_path):
    file = tmp_path / "steps.toml"
    file.write_text('[[step]]\nfigure = "OWN*"\nchange_pct = [4, 6]\nreason = "bursts of two segments"\n')
    out = wizloop("history", "--intended", file)[1]
    assert "+5.00 %, faster; intended: bursts of two segments" in out


def test_no_runs_is_nothing_measured(memory, wizloop):
    Database(location(str(memory / "empty.db"))).close()
    code, _, err = wizloop("history", "--database", memory / "empty.db")
    assert code == 4
    assert "no stored figure matches, of 0 runs" in err
    assert wizloop("history", "--database", memory / "none.db")[0] == 2


@pytest.mark.simulator
def test_the_example_of_the_readme_runs(simulator, wizloop, memory, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setenv("WIZLOOP_DATABASE", str(memory / "results.db"))
    commands = commands_of(REPOSITORY / "README.md", "Stored runs add up:")
    assert [command[:2] for command in commands] == [
        ["wizloop", "bench"],
        ["wizloop", "history"],
        ["wizloop", "history"],
    ]
    for _, *words in commands:
        code, out, err = wizloop(*words)
        assert (code, err) == (0, ""), out
