"""Two sides compared: exact figures, samples of boards, intended steps, and what the program says and exits with."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
from conftest import REPOSITORY, commands_of
from noisy_board import NoisyBoard
from wizloop.compare import comparison, noise, steps
from wizloop.compare.gate import BASE, NEW
from wizloop.compare.interleave import Target, side_by_side
from wizloop.compare.sides import find
from wizloop.dut.figures import Figures
from wizloop.errors import UsageError
from wizloop.results import reading
from wizloop.results.database import Database, location
from wizloop.results.recording import FigureHead, Recorder, RunHead, Sample, begin
from wizloop.results.schema import REAL, VIRTUAL

DUT = "serial:/dev/board"
COMMITS = {BASE: "aaaa" * 10, NEW: "bbbb" * 10}


@pytest.fixture
def opened(memory, monkeypatch):
    monkeypatch.setenv("WIZLOOP_DATABASE", str(memory / "results.db"))
    with Database(location(str(memory / "results.db"))) as database:
        yield database


@pytest.fixture
def two_runs(opened):
    return {side: begin(opened, RunHead(side, COMMITS[side], False, "rack1", "")) for side in (BASE, NEW)}


def head(name="SEED008", clock=REAL, **changes):
    dut = DUT if clock == REAL else "model:fast"
    return FigureHead(
        **{
            **dict(name=name, dut=dut, board="fast", path="dma", unit="Mbit/s", clock=clock),
            **dict(scenario="tcp_recv", metric="throughput", library="ethernet2"),
            **changes,
        }
    )


def exact(two_runs, base, new, name="SEED008", fingerprints=("1" * 16, "1" * 16), **changes):
    """A figure of the model in both runs; None: the run failed."""
    for side, value, fingerprint in ((BASE, base, fingerprints[0]), (NEW, new, fingerprints[1])):
        void = "" if value is not None else "the receiver counts 3 bytes fewer"
        two_runs[side].whole(head(name, VIRTUAL, fingerprint=fingerprint, **changes), Sample(value, void=void))


def sampled(two_runs, slower_pct=0.0, rounds=60, predicted=(None, None), noise_pct=2.0, take=None, seed=1, **changes):
    """A figure of a board in both runs, measured in turn."""
    board = NoisyBoard(seed, 2 * rounds)

    def measure(side, _):
        return Sample(36.0 / board.seconds(2.0 * (1 + slower_pct / 100 if side == NEW else 1)), 1000, 1000)

    targets = {
        side: Target(two_runs[side], [head(predicted=model, **changes)])
        for side, model in zip((BASE, NEW), predicted, strict=True)
    }
    side_by_side(targets, take or measure, rounds, seed, host_noise_pct=lambda: noise_pct)


def rows(opened, wanted=()):
    result = comparison.compare(find("label:base", lambda: opened), find("label:new", lambda: opened), wanted)
    return result, {row.name: row for row in result.rows}


# --- exact figures


def test_an_exact_figure_that_is_the_same_passes(opened, two_runs):
    exact(two_runs, 19.87, 19.87)
    result, of = rows(opened)
    assert (of["SEED008"].state, result.exit_code) == ("same", 0)
    assert result.sentence == "pass: 1 figure, none slower"


@pytest.mark.parametrize(
    ("unit", "base", "new", "state", "code", "slower_pct"),
    [
        ("Mbit/s", 20.0, 19.0, "worse", 3, 100 / 19),
        ("Mbit/s", 19.0, 20.0, "better", 1, -5.0),
        ("us", 100.0, 101.0, "worse", 3, 1.0),
        ("us", 100.0, 99.0, "better", 1, -1.0),
        ("Mbit/s", 20.0, 19.999999999, "worse", 3, 5e-9),
        ("Mbit/s", 20.0, 0.0, "worse", 3, None),
    ],
)
def test_any_difference_of_an_exact_figure_is_a_change(opened, two_runs, unit, base, new, state, code, slower_pct):
    exact(two_runs, base, new, unit=unit)
    result, of = rows(opened)
    assert (of["SEED008"].state, result.exit_code) == (state, code)
    assert of["SEED008"].slower_pct == (None if slower_pct is None else pytest.approx(slower_pct, rel=1e-6))


def test_the_same_figure_by_another_course_of_events_is_told(opened, two_runs, wizloop):
    exact(two_runs, 19.87, 19.87, fingerprints=("1" * 16, "2" * 16))
    exact(two_runs, 19.87, 19.87, name="OTHER", fingerprints=("", "2" * 16))  # a file without them
    result, of = rows(opened)
    assert [of[name].other_events for name in ("SEED008", "OTHER")] == [True, False]
    assert result.exit_code == 0
    code, out, _ = wizloop("compare", "base", "new", "--all")
    assert "    by another course of events" in out.splitlines()


def test_a_run_that_fails_now_is_a_failure_and_one_that_did_before_is_none(opened, two_runs):
    exact(two_runs, 19.87, None)
    result, of = rows(opened)
    assert (of["SEED008"].state, of["SEED008"].why, result.exit_code) == (
        "failed",
        "the receiver counts 3 bytes fewer",
        1,
    )
    exact(two_runs, None, 19.87, name="REPAIRED")
    exact(two_runs, None, None, name="STILL")
    result, of = rows(opened)
    assert (of["REPAIRED"].state, of["STILL"].state) == ("new", "void")


def test_a_figure_that_is_gone_is_not_measured_and_a_new_one_says_nothing(opened, two_runs):
    exact(two_runs, 1.0, 1.0)
    two_runs[NEW].whole(head("NEWCOMER", VIRTUAL), Sample(1.0))
    result, of = rows(opened)
    assert (of["NEWCOMER"].state, result.exit_code) == ("new", 0)
    two_runs[BASE].whole(head("GONE", VIRTUAL), Sample(1.0))
    result, of = rows(opened)
    assert (of["GONE"].state, result.exit_code) == ("missing", 4)
    assert result.sentence.startswith("not measured: GONE, dma on model:fast: missing; the new side has no such figure")


def test_nothing_in_common_is_neither_pass_nor_regression(opened, two_runs):
    two_runs[NEW].whole(head("NEWCOMER", VIRTUAL), Sample(1.0))
    result, _ = rows(opened)
    assert result.exit_code == 4
    assert result.sentence == "nothing measured: the two sides have no figure in common"


def test_the_gravest_row_decides(opened, two_runs):
    two_runs[BASE].whole(head("GONE", VIRTUAL), Sample(1.0))
    assert rows(opened)[0].exit_code == 4
    exact(two_runs, 1.0, 2.0, name="BETTER")
    assert rows(opened)[0].exit_code == 1
    exact(two_runs, 2.0, 1.0, name="WORSE")
    exact(two_runs, 2.0, 0.5, name="WORST")
    result, _ = rows(opened)
    assert result.exit_code == 3
    assert (
        "WORST, dma on model:fast: 300.0 % slower; in virtual time, so it is code, the largest move of 2"
        in result.sentence
    )


# --- samples


def test_a_slower_board_is_a_regression_with_its_size_and_pairs(opened, two_runs):
    sampled(two_runs, slower_pct=5)
    result, of = rows(opened)
    row = of["SEED008"]
    assert (row.state, result.exit_code, row.pairs) == ("regressed", 3, 60)
    assert row.slower_low_pct < 5 < row.slower_high_pct
    assert row.change_pct == pytest.approx(100 * (1 / (1 + row.slower_pct / 100) - 1))
    assert row.base == pytest.approx(18, rel=0.05) and row.new < row.base


def test_a_board_that_did_not_move_passes_and_a_faster_one_too(opened, two_runs):
    sampled(two_runs, name="SAME")
    sampled(two_runs, slower_pct=-5, name="FASTER", seed=2)
    result, of = rows(opened)
    assert (of["SAME"].state, of["FASTER"].state, result.exit_code) == ("pass", "improved", 0)
    assert result.sentence == "pass: 2 figures, none slower, 1 improved"


def test_a_row_whose_ends_disagree_too_often_is_void(opened, two_runs):
    board = NoisyBoard(1)
    taken = {BASE: 0, NEW: 0}

    def take(side, _):
        taken[side] += 1
        lost = 3 if side == NEW and taken[side] % 5 == 0 else 0
        return Sample(36.0 / board.seconds(2.0), 1000, 1000 - lost)

    sampled(two_runs, take=take)
    result, of = rows(opened)
    assert (of["SEED008"].state, result.exit_code) == ("void", 4)
    assert of["SEED008"].why == "new: 12 of 60 samples: the firmware counts 1000, the peer 997"


def test_a_few_void_samples_are_left_out(opened, two_runs):
    board = NoisyBoard(1)
    taken = []

    def take(side, _):
        taken.append(side)
        if len(taken) == 7:
            return Sample(1e6, 1000, 999)
        return Sample(36.0 / board.seconds(2.0), 1000, 1000)

    sampled(two_runs, take=take)
    _, of = rows(opened)
    assert (of["SEED008"].state, of["SEED008"].pairs) == ("pass", 59)


@pytest.mark.parametrize(
    ("noise_pct", "state", "code"), [(19.0, "regressed", 3), (30.0, "noisy host", 5), (None, "regressed", 3)]
)
def test_a_noisy_host_gets_no_verdict(opened, two_runs, noise_pct, state, code):
    sampled(two_runs, slower_pct=10, noise_pct=noise_pct)
    result, of = rows(opened)
    assert (of["SEED008"].state, result.exit_code) == (state, code)
    if code == 5:
        assert of["SEED008"].why == "the host's own noise is 30 %, above 20 %"


def test_sides_that_were_not_measured_in_turn_get_no_verdict(opened, two_runs):
    board = NoisyBoard(1)
    for side in (BASE, NEW):
        figure = two_runs[side].figure(head())
        for _ in range(30):
            two_runs[side].sample(figure, Sample(36.0 / board.seconds(2.0)))
    result, of = rows(opened)
    assert (of["SEED008"].state, result.exit_code) == ("not in turn", 4)


@pytest.mark.parametrize(("rounds", "slower_pct", "state"), [(5, 0, "too few samples"), (12, 20, "unconfirmed")])
def test_too_few_samples_are_no_measurement(opened, two_runs, rounds, slower_pct, state):
    sampled(two_runs, rounds=rounds, slower_pct=slower_pct, seed=5)
    result, of = rows(opened)
    assert (of["SEED008"].state, result.exit_code) == (state, 4)
    assert of["SEED008"].why


def test_scatter_that_could_hide_a_slowdown_is_no_measurement(opened, two_runs):
    scatter = iter([18.0 * (1 + 0.3 * ((7 * n) % 11 - 5) / 5) for n in range(60)])
    sampled(two_runs, rounds=30, take=lambda *_: Sample(next(scatter)))
    result, of = rows(opened)
    assert (of["SEED008"].state, result.exit_code) == ("unclear", 4)
    assert of["SEED008"].why == "so much scatter does not exclude a slowdown of 5 %: measure more"


def test_boards_of_one_kind_are_not_mixed_up(opened, two_runs):
    sampled(two_runs, slower_pct=10, dut="serial:/dev/one")
    sampled(two_runs, dut="serial:/dev/two", seed=2)
    result, _ = rows(opened)
    assert [(row.dut, row.state) for row in result.rows] == [
        ("serial:/dev/one", "regressed"),
        ("serial:/dev/two", "pass"),
    ]


@pytest.mark.parametrize(
    ("slower_pct", "predicted", "moved", "said"),
    [
        (5, (20.0, 19.05), "code", "the model moved with it: code"),
        (5, (20.0, 20.0), "rack", "the model did not move: rack, or code that the model does not run"),
        (5, (20.0, 20.9), "rack", "the model did not move: rack, or code that the model does not run"),
        (0, (20.0, 19.05), "model", "the model alone moved"),
        (0, (20.0, 20.0), "nothing", "neither board nor model moved"),
    ],
)
def test_the_verdict_says_whether_code_or_rack_moved(opened, two_runs, wizloop, slower_pct, predicted, moved, said):
    sampled(two_runs, slower_pct=slower_pct, predicted=predicted)
    result, of = rows(opened)
    prediction = of["SEED008"].prediction
    assert (prediction.moved, prediction.base, prediction.new) == (moved, *predicted)
    assert prediction.gap_base_pct == pytest.approx(100 * (of["SEED008"].base / 20 - 1))
    assert prediction.gap_trend_points == pytest.approx(prediction.gap_new_pct - prediction.gap_base_pct)
    _, out, _ = wizloop("compare", "base", "new")
    assert said in out
    if slower_pct:
        assert said in out.splitlines()[-1]


@pytest.mark.parametrize(("of_code", "moved"), [(True, "code"), (False, "rack")])
def test_a_bench_and_a_board_in_one_run_tell_code_from_rack(fake, wizloop, opened, of_code, moved):
    """The bench simulates both commits; the board is measured in turn, and slower because of the code or for itself."""
    recorders = {}
    for side in (BASE, NEW):
        if side == NEW and of_code:
            slower = (
                (fake / "fast.toml").read_text().replace("burst_gap_ns = { value = 100", "burst_gap_ns = { value = 150")
            )
            (fake / "fast.toml").write_text(slower)
        wizloop("bench", "--board", "fast", "--record", "--label", side)
        recorders[side] = Recorder(opened, reading.runs(opened)[-1].id)
    exact_figures = {
        side: find(side, lambda: opened).figures["model:fast", "F2", "burst", "Mbit/s"] for side in recorders
    }
    truth = {side: figure.samples[0].sample.value for side, figure in exact_figures.items()}
    board = NoisyBoard(4)
    slow = {BASE: 1.0, NEW: 1.0 if of_code else 1.08}
    targets = {side: Target(recorders[side], [head("F2", path="burst")]) for side in recorders}

    def take(side, _):
        return Sample(truth[side] / board.seconds(slow[side]))

    side_by_side(targets, take, 60, host_noise_pct=lambda: 1.0)
    code, out, _ = wizloop("compare", "base", "new", "--only", "F2")
    assert code == 3
    (row,) = [row for row in rows(opened)[0].rows if row.clock == REAL]
    assert (row.state, row.prediction.moved) == ("regressed", moved)
    assert row.prediction.gap_trend_points == pytest.approx(0 if of_code else -7.4, abs=2)
    assert f"; {comparison.MOVED[moved]}" in " ".join(out.split())


def test_the_models_figure_of_the_same_run_is_the_prediction(opened, two_runs):
    exact(two_runs, 20.0, 19.0)
    sampled(two_runs, slower_pct=5)
    result, _ = rows(opened)
    board = next(row for row in result.rows if row.clock == REAL)
    assert (board.prediction.base, board.prediction.new, board.prediction.moved) == (20.0, 19.0, "code")


def test_without_a_prediction_nothing_is_said_of_one(opened, two_runs, wizloop):
    sampled(two_runs, slower_pct=5)
    _, of = rows(opened)
    assert of["SEED008"].prediction is None
    assert "model" not in wizloop("compare", "base", "new")[1]


# --- intended steps


@pytest.fixture
def wanted(tmp_path):
    def write(**changes):
        step = {"figure": "SEED008", "change_pct": [-6, -4], "reason": "RECV now waits for the link", **changes}
        file = tmp_path / "steps.toml"
        file.write_text("[[step]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in step.items()))
        return file

    return write


def test_an_intended_step_passes_with_its_reason(opened, two_runs, wanted, wizloop):
    exact(two_runs, 20.0, 19.0)
    assert rows(opened)[0].exit_code == 3
    result, of = rows(opened, steps.load(wanted()))
    assert (of["SEED008"].state, of["SEED008"].why, result.exit_code) == ("intended", "RECV now waits for the link", 0)
    assert result.sentence == "pass: 1 figure, none slower, 1 intended"
    code, out, _ = wizloop("compare", "base", "new", "--intended", wanted())
    assert code == 0
    assert "intended\n    RECV now waits for the link" in out


@pytest.mark.parametrize(
    "changes",
    [
        {"change_pct": [-4.9, 0]},
        {"figure": "SEED009"},
        {"path": "burst"},
        {"board": "slow"},
        {"dut": "serial:*"},
        {"commit": "aaaa"},
    ],
)
def test_what_a_step_does_not_cover_stays_a_regression_and_the_step_is_named(
    opened, two_runs, wanted, wizloop, changes
):
    exact(two_runs, 20.0, 19.0)
    code, out, _ = wizloop("compare", "base", "new", "--intended", wanted(**changes))
    assert code == 3
    assert any(
        line.startswith("never needed: ") and line.endswith("RECV now waits for the link") for line in out.splitlines()
    )


@pytest.mark.parametrize("changes", [{"figure": "SEED*"}, {"path": "d?a"}, {"dut": "model:*"}, {"commit": "bbbbb"}])
def test_a_step_may_cover_several_figures(opened, two_runs, wanted, changes):
    exact(two_runs, 20.0, 19.0)
    exact(two_runs, 20.0, 19.05, name="SEED009")
    _, of = rows(opened, steps.load(wanted(**changes)))
    assert of["SEED008"].state == "intended"
    assert of["SEED009"].state == ("intended" if "figure" in changes else "worse")


def test_a_board_may_be_slower_on_purpose(opened, two_runs, wanted):
    sampled(two_runs, slower_pct=5)
    result, of = rows(opened, steps.load(wanted(dut="serial:*")))
    assert (of["SEED008"].state, result.exit_code) == ("intended", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[step]\n", "not TOML"),
        ("steps = []\n", r"unknown key 'steps' \(did you mean step\?\), expected \[\[step\]\]"),
        ("step = 1\n", "step is no list"),
        ("[[step]]\nfigures = 'x'\n", r"step 1: unknown key 'figures' \(did you mean figure\?\)"),
        ("[[step]]\nfigure = 'x'\nchange_pct = [-5, -1]\n", "step 1: reason is '', expected some words"),
        (
            "[[step]]\nfigure = 'x'\nreason = 'y'\n",
            r"change_pct is None, expected the least and the most, such as \[-8, -5\]",
        ),
        ("[[step]]\nfigure = 'x'\nreason = 'y'\nchange_pct = [-1, -5]\n", r"change_pct is \[-1, -5\]"),
        ("[[step]]\nfigure = 'x'\nreason = 'y'\nchange_pct = [-1, nan]\n", r"change_pct is \[-1, nan\]"),
        ("[[step]]\nfigure = 'x'\nreason = 'y'\nchange_pct = [true, 2]\n", r"change_pct is \[True, 2\]"),
    ],
)
def test_a_wrong_step_is_named_with_what_was_expected(tmp_path, text, message):
    file = tmp_path / "steps.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        steps.load(file)


def test_a_file_of_steps_that_is_not_there_is_a_usage_error(wizloop, tmp_path):
    code, _, err = wizloop("compare", "a", "b", "--intended", tmp_path / "none.toml")
    assert code == 2
    assert "No such file" in err


# --- what a side may be


def test_a_run_is_found_by_number_label_and_commit(opened, two_runs):
    exact(two_runs, 20.0, 19.0)
    for word in ("1", "run:1", "base", "label:base", "aaaa", "commit:aaaaaaa", COMMITS[BASE]):
        side = find(word, lambda: opened)
        assert side.commit == COMMITS[BASE], word
        assert [figure.samples[0].sample.value for figure in side.figures.values()] == [20.0]
    said = r"run 1 \(base\), aaaaaaaaa, \d{4}-\d\d-\d\d \d\d:\d\d UTC"
    assert re.fullmatch(f"{said}, not ended", find("1", lambda: opened).said)
    two_runs[BASE].end()
    assert re.fullmatch(said, find("1", lambda: opened).said)


def test_the_newest_run_of_a_label_counts_alone(opened):
    for value in (1.0, 2.0):
        begin(opened, RunHead("nightly", "", False, "", "")).whole(head(clock=VIRTUAL), Sample(value))
    (figure,) = find("nightly", lambda: opened).figures.values()
    assert figure.samples[0].sample.value == 2.0


def test_runs_of_one_commit_complete_each_other_and_the_newest_counts(opened):
    for name, value, modified in (("A", 1.0, False), ("B", 2.0, False), ("A", 3.0, False), ("A", 4.0, True)):
        begin(opened, RunHead("", "c0ffee" * 6, modified, "", "")).whole(head(name, VIRTUAL), Sample(value))
    side = find("c0ffee", lambda: opened)
    assert {f.head.name: f.samples[0].sample.value for f in side.figures.values()} == {"A": 3.0, "B": 2.0}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("nightli", r"no file and no stored run is 'nightli' \(did you mean nightly\?\)"),
        ("run:99", "no stored run is 'run:99'"),
        ("dddd", "commit dddd was measured only with changes that are in no commit: name run 2"),
        ("abcd", "commit abcd is ambiguous: abcd11111111, abcd22222222"),
        ("commit:xyz", "'xyz' is no commit"),
        ("commit:abc", "at least 4 hexadecimal digits"),
        ("1", "'1' is ambiguous, expected one of run:1, label:1"),
        ("none.json", "there is no file none.json"),
    ],
)
def test_what_is_not_found_or_not_clear_says_what_is_there(opened, word, message):
    heads = (
        ("nightly", "", False),
        ("", "dddd" * 10, True),
        ("", "abcd1" + "1" * 35, False),
        ("1", "abcd2" + "2" * 35, False),
    )
    for label, commit, modified in heads:
        begin(opened, RunHead(label, commit, modified, "", ""))
    with pytest.raises(UsageError, match=message):
        find(word, lambda: opened)


def unopened():
    raise AssertionError("a file needs no database")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not what `wizloop bench --json` writes"),
        ('{"figures": [{"id": "A"}]}', "KeyError: 'path'"),
        (
            '{"figures": [{"id": "A", "path": "dma", "board": "b", "unit": "us", "simulated": "1"}]}',
            "figure 'A' is '1' 'us'",
        ),
        (
            '{"figures": [{"id": "A", "path": "dma", "board": "b", "unit": "us", "simulated": NaN}]}',
            "figure 'A' is nan 'us'",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, text, message):
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        find(str(file), unopened)


def test_a_bench_a_stored_bench_and_the_golden_form_of_it_are_the_same(fake, wizloop, tmp_path, opened):
    file = tmp_path / "bench.json"
    wizloop("bench", "--record", "--label", "stored", "--json", file)
    document = json.loads(file.read_text())
    golden = tmp_path / "golden.json"
    kept = {"figures": "id board path simulated unit fingerprint", "same_board": "board figure path value unit by_path"}
    golden.write_text(
        json.dumps({part: [{k: row[k] for k in keys.split()} for row in document[part]] for part, keys in kept.items()})
    )
    for base in (file, golden):
        code, out, err = wizloop("compare", base, "stored")
        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == "verdict: pass: 9 figures, none slower"


def test_a_bench_that_failed_is_a_failure_beside_one_that_did_not(fake, wizloop, tmp_path):
    wizloop("bench", "--json", tmp_path / "good.json")
    (fake / "slow.toml").write_text((fake / "slow.toml").read_text() + 'parameters = { fail = "void" }\n')
    wizloop("bench", "--json", tmp_path / "bad.json")
    code, out, _ = wizloop("compare", tmp_path / "good.json", tmp_path / "bad.json", "--only", "S1*")
    assert code == 1
    assert "S1, byte on model:slow: failed; the receiver counts 3 bytes fewer" in out


@pytest.mark.simulator
def test_the_golden_figures_are_those_of_a_bench_that_is_recorded(simulator, wizloop, opened):
    code, _, _ = wizloop("bench", "--board", "w55rp20", "--record", "--label", "now")
    assert code == 0
    code, out, _ = wizloop("compare", REPOSITORY / "tests" / "golden" / "bench.json", "now", "--board", "w55rp20")
    assert code == 0, out
    assert "model:w55rp20  16 of 16 figures are the same" in out


@pytest.mark.simulator
def test_the_example_of_the_readme_runs(simulator, wizloop, opened, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    commands = commands_of(REPOSITORY / "README.md", "## Did a change cost speed?")
    assert [command[:2] for command in commands] == [["wizloop", "bench"]] * 2 + [["wizloop", "compare"]] * 2
    for _, *words in commands:
        code, out, err = wizloop(*words)
        assert (code, err) == (0, ""), out


# --- what it prints


@pytest.fixture
def of_all_kinds(two_runs):
    exact(two_runs, 20.0, 19.0, name="SEED008/wizloop")
    exact(two_runs, 21342.0, 21342.0, name="SAME", unit="packets/s")
    exact(two_runs, 3.5305712345678, 3.5305712345679, name="SEED011")
    exact(two_runs, 20.0, None, name="FAILED")
    sampled(two_runs, slower_pct=5, predicted=(20.0, 19.0))
    sampled(two_runs, rounds=4, name="FEW", unit="packets/s")


def test_the_table_shows_what_moved_and_counts_the_rest(of_all_kinds, wizloop):
    code, out, _ = wizloop("compare", "base", "new")
    lines = out.splitlines()
    assert code == 3
    assert "model:fast  1 of 4 figures are the same" in lines
    assert "  SEED008/wizloop dma       20.00     19.00 Mbit/s      -5.00% worse" in lines
    assert "  SEED011         dma   3.5305712345678 3.5305712345679 Mbit/s     +3e-12% better" in lines
    assert not any(line.startswith("  SAME") for line in lines)
    assert any(line.startswith("  SEED008         dma ") and line.endswith(" regressed") for line in lines)
    assert re.search(
        r"\n    slower by \+\d\.\d % \(\+\d\.\d to \+\d\.\d\), 60 pairs, p < 0\.001; host noise 2 %\n", out
    )
    assert re.search(
        r"\n    model 20.00 -> 19.00 Mbit/s; gap -\d+.\d % -> -\d+.\d % \([+-]\d.\d points\); the model moved with it",
        out,
    )
    assert re.match(
        r"verdict: regressed: SEED008(/wizloop)?, dma on .*, the largest move of 2 \(of 6 figures\)$", lines[-1]
    )
    code, out, _ = wizloop("compare", "base", "new", "--all")
    assert "  SAME            dma       21342     21342 packets/s   +0.00% same" in out.splitlines()


@pytest.mark.parametrize("columns", [80, 100])
def test_it_fits_a_terminal(of_all_kinds, wizloop, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = wizloop("compare", "base", "new", "--all")
    assert max(len(line) for line in out.splitlines() if "3.5305712345678" not in line) <= columns


def test_json_says_the_same(of_all_kinds, wizloop, tmp_path):
    file = tmp_path / "compare.json"
    code, out, _ = wizloop("compare", "base", "new", "--json", file)
    document = json.loads(file.read_text())
    assert (document["exit_code"], document["verdict"]) == (code, "regressed")
    assert out.splitlines()[-1] == f"verdict: {document['sentence']}"
    of = {(row["name"], row["clock"]): row for row in document["figures"]}
    assert len(of) == 6
    assert of["SEED008/wizloop", "virtual"]["change_pct"] == pytest.approx(-5)
    prediction = of["SEED008", "real"]["prediction"]
    assert prediction["moved"] == "code" and prediction["gap_trend_points"] == pytest.approx(
        prediction["gap_new_pct"] - prediction["gap_base_pct"]
    )


def test_name_and_board_choose(of_all_kinds, wizloop):
    code, out, _ = wizloop("compare", "base", "new", "--only", "SAME")
    assert (code, out.splitlines()[-1]) == (0, "verdict: pass: 1 figure, none slower")
    code, _, err = wizloop("compare", "base", "new", "--only", "NONE*", "--board", "fast")
    assert code == 4
    assert "no figure of either side has the name NONE* and board fast" in err
    _, out, _ = wizloop("compare", "base", "new", "--board", "serial:/dev/board")
    assert [line for line in out.splitlines() if line.startswith(("serial:", "model:"))] == ["serial:/dev/board"]


def test_limits_can_be_set(two_runs, wizloop):
    sampled(two_runs, slower_pct=5, noise_pct=15)
    assert wizloop("compare", "base", "new")[0] == 3
    assert wizloop("compare", "base", "new", "--min-effect", "8")[0] == 4  # not excluded, and not certain to matter
    assert wizloop("compare", "base", "new", "--max-noise", "10")[0] == 5


# --- noise of the host


def test_noise_is_the_mean_over_the_shortest():
    def noise_of(times):
        instants = iter(
            [instant for number, time in enumerate(times) for instant in (10.0 * number, 10.0 * number + time)]
        )
        return noise.measure_pct(clock=lambda: next(instants), work=lambda: None)

    assert noise_of([1.0] * noise.TIMES) == pytest.approx(0)
    assert noise_of([1.0] * (noise.TIMES - 10) + [6.0] * 10) == pytest.approx(50)
    assert noise_of([0.0] * noise.TIMES) == 0


@pytest.mark.parametrize(("virtual", "stored_pct"), [(False, 31.0), (True, None)])
def test_what_a_test_records_of_a_board_has_the_noise_beside_it(memory, virtual, stored_pct):
    device = SimpleNamespace(board="w55rp20", virtual=virtual, chip=None)
    with Database(location(str(memory / "n.db"))) as database:
        figures = Figures(database, "nightly", host_noise_pct=lambda: 31.0)
        figures.add(device, "b1", "tcp_xmit", 17.9, "Mbit/s", path="dma")
        (figure,) = reading.figures(database, [figures.begin()])
        (point,) = reading.points(database)
    assert [stored.sample.host_noise_pct for stored in figure.samples] == [stored_pct]
    assert point.host_noise_pct == stored_pct


def test_noise_can_be_measured_here():
    assert noise.measure_pct() >= 0
