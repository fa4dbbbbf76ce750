"""Reports: the verdict and its sentences, what the twin holds, condensed series, and the command."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from conftest import REPOSITORY, commands_of
from report_example import FAILED, SLOWER, example
from wizloop.errors import InfrastructureError
from wizloop.report import page
from wizloop.report.condense import condensed
from wizloop.report.contents import GREEN, GREY, RED, YELLOW, gather, named
from wizloop.report.junit import NOT_RUN, Case, Part
from wizloop.results.database import Database, location
from wizloop.results.recording import FigureHead, FindingRow, RunHead, Sample, begin
from wizloop.results.schema import REAL, VIRTUAL


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    return example(tmp_path_factory.mktemp("bad"))


def test_a_bad_run_is_red_with_a_sentence_for_each_failure_and_regression(bad):
    assert (bad.light, bad.exit_code) == (RED, 1)
    texts = [sentence.text for sentence in bad.sentences if sentence.light == RED]
    assert sum("failed: " in text for text in texts) == len(bad.failures) == 3
    regressed = [row for row in bad.comparison.rows if row.state in ("worse", "regressed")]
    for row in regressed:
        assert sum(text.startswith(f"{row.name}, {row.path} on {row.dut}: ") for text in texts) >= 1
    assert f"SEED{SLOWER:03}, dma on model:stm32f405-arduino: 3.0 % slower; in virtual time, so it is code" in texts
    assert bad.headline.startswith("3 failures, ")


def test_a_board_that_stepped_down_lately_is_told_with_run_and_whose_fault_it_is(bad):
    (said,) = [s.text for s in bad.sentences if "since run" in s.text]
    assert re.fullmatch(
        r"SEED002, \w+ on tcp:rack1:7001: \d\.\d % slower since run 5[67] \(\w{9}\); the model did not .*: rack", said
    )


def test_a_good_run_is_green_and_says_how_much_was_judged(tmp_path):
    good = example(tmp_path, good=True)
    assert (good.light, good.exit_code) == (GREEN, 0)
    assert good.headline == "600 tests passed, 40 figures compared, none slower"
    assert good.sentences == () and good.failures == ()


def test_a_figure_without_value_is_a_failure_with_its_command(bad):
    (failure,) = [f for f in bad.failures if f.name.startswith(f"SEED{FAILED:03}")]
    assert failure.message == "the receiver counts 3 bytes fewer than were sent"
    assert failure.repeat[0].startswith("wizloop run tcp_recv --board stm32f405-arduino --path ")


def test_findings_stand_once_for_each_rule_what_nobody_announced_first(bad):
    assert [(f.rule, f.announced is None) for f in bad.findings] == [
        ("write-beyond-free", True),
        ("sclk-above-rating", False),
    ]
    assert bad.findings[0].count == 4 * len(bad.findings[0].figures)


def test_predictions_are_those_of_boards_and_of_published_measurements(bad):
    assert {gap.source for gap in bad.gaps} == {"published", "serial:/dev/ttyACM0", "tcp:rack1:7001"}
    for gap in bad.gaps:
        assert gap.pct == pytest.approx(100 * (gap.predicted / gap.measured - 1))


def test_nothing_at_all_is_grey(bad):
    nothing = gather(None, [], None, [], [], {}, lambda figure: "")
    assert (nothing.light, nothing.exit_code, nothing.headline) == (GREY, 4, "Nothing was judged")


def test_tests_alone_make_a_report(bad):
    fine = gather(None, [], None, [], [replace(bad.parts[1], cases=bad.parts[1].cases[:200])], {}, lambda figure: "")
    assert (fine.light, fine.headline) == (GREEN, "200 tests passed")


def test_many_failures_are_told_by_part(bad):
    part = bad.parts[0]
    (failed,) = [case for case in part.cases if case.state == "failed"]
    many = gather(None, [], None, [], [replace(part, cases=(failed,) * 30)], {}, lambda figure: "")
    assert [sentence.text for sentence in many.sentences] == ["ctest-release: 30 failures"]
    assert len(many.failures) == 30


def lost(count, board, why="cannot connect to tcp:rack1:7001\nrefused"):
    """Tests that found no board."""
    return tuple(
        Case(f"test_{n}", "t", NOT_RUN, 0.1, why, repeat=(f"wizloop test {n}",), board=board) for n in range(count)
    )


def test_tests_that_found_no_board_are_one_sentence_for_each_board_and_no_failures(bad, tmp_path):
    part = Part("dut-a", (*lost(20, "a"), *lost(1, "a", "no answer"), *lost(1, "")), ())
    found = gather(None, [], None, [], [part], {}, lambda figure: "")
    assert (found.light, found.exit_code, found.headline) == (RED, 5, "22 tests not run")
    assert [sentence.text for sentence in found.sentences] == [
        "a: 21 tests could not be run: cannot connect to tcp:rack1:7001; refused; and 1 other reason",
        "dut-a: 1 test could not be run: cannot connect to tcp:rack1:7001; refused",
    ]
    assert [(failure.not_run, failure.repeat) for failure in found.failures] == [(21, ("wizloop test 0",))] + [
        (1, ("wizloop test 0",))
    ]
    page.write(tmp_path, found, "nightly")
    assert ">0, 22 not run</td>" in (tmp_path / page.HTML).read_text()
    failed = next(case for case in bad.parts[0].cases if case.state == "failed")
    both = gather(None, [], None, [], [replace(part, cases=(*part.cases, failed))], {}, lambda figure: "")
    assert (both.exit_code, both.headline) == (1, "1 failure, 22 tests not run")


def test_the_twin_says_all_that_the_page_says(bad, tmp_path):
    page.write(tmp_path, bad, "nightly")
    document = json.loads((tmp_path / page.JSON).read_text())
    text = (tmp_path / page.HTML).read_text()
    assert document["verdict"] == "red" and document["exit_code"] == 1
    assert [s["text"] for s in document["sentences"]] == [s.text for s in bad.sentences]
    assert len(document["figures"]) == len(bad.figures) == 40
    assert len(document["runs"]) == 60
    assert document["comparison"]["verdict"] == "regressed"
    assert document["figures"][0]["budget_pct"]["spi_clock"] > 0
    for failure in document["failures"]:
        assert all(command in text for command in failure["repeat"] if "'" not in command)


@pytest.mark.parametrize("text", ["</script><b>", "<!--<script>", "<img src=x onerror=alert(1)>", "Plätine 'q' \u2028"])
def test_whatever_a_run_is_called_the_page_stays_whole(bad, tmp_path, text):
    named = replace(bad, run=replace(bad.run, head=replace(bad.run.head, label=text, host=text)))
    figures = [
        replace(f, series=replace(f.series, runs=tuple(replace(at, label=text) for at in f.series.runs)))
        for f in bad.figures
    ]
    page.write(tmp_path, replace(named, figures=tuple(figures)), text)
    html = (tmp_path / page.HTML).read_text()
    data = html.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["runs"]["60"][2] == text
    assert len(re.findall("<script", html)) == len(re.findall("</script>", html)) == 3
    assert "<img" not in html and "<b>" not in html.partition('<script type="application/json"')[0]


def test_a_folder_that_cannot_be_is_said_in_one_line(bad, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match="cannot write the report into .*file"):
        page.write(tmp_path / "file", bad, "x")


# --- numbers and pictures


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0, "0.000"),
        (4.49925, "4.499"),
        (19.868, "19.87"),
        (132.0, "132.0"),
        (23335.1, "23\u202f335"),
        (-1.5, "−1.500"),
    ],
)
def test_quantities_have_four_digits(value, shown):
    assert page.quantity(value) == shown


@pytest.mark.parametrize(
    ("pct", "shown"), [(None, "–"), (0.0, "0"), (3.04, "+3.0"), (-0.004, "−0.004"), (12.0, "+12.0")]
)
def test_changes_have_a_sign_and_are_never_rounded_to_none(pct, shown):
    assert page.signed(pct) == shown


@pytest.mark.parametrize("count", [0, 1, 8, 100, 101, 1000, 5003])
def test_a_condensed_series_keeps_its_ends_and_its_extremes(count):
    chance = random.Random(count)
    values = [chance.random() for _ in range(count)]
    places = condensed(values, 100)
    assert len(places) <= min(count, 100)
    assert places == sorted(set(places))
    if count:
        assert {0, count - 1, values.index(min(values)), values.index(max(values))} <= set(places)


def test_calm_series_look_calm(bad):
    """Noise of 0.1 % does not fill the picture, and a step of 4 % does."""
    flat = next(f.series for f in bad.figures if f.clock == VIRTUAL and not f.series.steps)
    noisy = replace(flat, values=tuple(10 + 0.01 * (n % 2) for n in range(60)))
    for series, span in ((flat, (0, 0)), (noisy, (0.1, 2))):
        ys = [float(point.split(",")[1]) for point in page.spark(series).line.split()]
        assert span[0] <= max(ys) - min(ys) <= span[1]


# --- the command


def head(name, clock, dut, **changes):
    of = FigureHead(
        name, dut, "fast", "byte", "Mbit/s", clock, "tcp_recv", "throughput", "ethernet2", {"read_bytes": "2048"}
    )
    return replace(of, **changes)


@pytest.fixture
def stored(memory, monkeypatch):
    """Three runs: two nightly ones around one of somebody's own."""
    file = memory / "results.db"
    monkeypatch.setenv("WIZLOOP_DATABASE", str(file))
    with Database(location(str(file))) as database:
        for label, value in (("nightly", 4.5), ("mine", 9.0), ("nightly", 4.4)):
            recorder = begin(database, RunHead(label, "ab" * 20, False, "rack1", ""))
            budget = {"spi_clock": 3, "byte_gap": 1}
            found = [FindingRow("sclk-above-rating", "warning", "SCLK 42 MHz", 3, "the source ran it so")]
            recorder.whole(head("F1", VIRTUAL, "model:fast", budget_ps=budget), Sample(value), found)
            recorder.whole(head("F1", REAL, "serial:/dev/board", predicted=value), Sample(0.9 * value))
            recorder.end()
    return file


def test_the_newest_run_is_compared_with_the_one_before_of_its_label(fake, wizloop, stored, tmp_path):
    status, out, err = wizloop("report", "--out", tmp_path / "r")
    assert (status, err) == (0, "")
    document = json.loads((tmp_path / "r" / "report.json").read_text())
    assert document["run"]["id"] == 3
    assert document["base"].startswith("run 1 (nightly)")
    (row,) = [row for row in document["comparison"]["figures"] if row["clock"] == "virtual"]
    assert (row["base"], row["new"], row["state"]) == (4.5, 4.4, "worse")
    assert document["exit_code"] == 3 and document["verdict"] == "red"
    assert out.startswith("red: 1 figure slower")
    gaps = {gap["source"]: gap for gap in document["predictions"]}
    assert gaps["serial:/dev/board"]["gap_pct"] == pytest.approx(100 / 0.9 - 100)
    assert gaps["published"]["basis"] == "fit"  # F1 of the board file


def test_run_and_base_are_chosen_by_name(fake, wizloop, stored, tmp_path):
    wizloop("report", "--out", tmp_path, "--run", "mine", "--base", "run:1")
    document = json.loads((tmp_path / "report.json").read_text())
    assert (document["run"]["id"], document["base"][:5]) == (2, "run 1")
    assert len(document["runs"]) == 2  # what came later is not its course
    status, _, err = wizloop("report", "--out", tmp_path, "--run", "yours")
    assert (status, "no stored run has the number or label 'yours'" in err) == (4, True)


def test_the_first_run_has_nothing_to_compare_with(fake, wizloop, stored, tmp_path):
    wizloop("report", "--out", tmp_path, "--run", "1")
    document = json.loads((tmp_path / "report.json").read_text())
    assert (document["verdict"], document["comparison"], document["exit_code"]) == (GREY, None, 0)


def test_boards_that_were_not_measured_in_turn_are_yellow(fake, wizloop, memory, monkeypatch, tmp_path):
    file = memory / "boards.db"
    monkeypatch.setenv("WIZLOOP_DATABASE", str(file))
    with Database(location(str(file))) as database:
        for _ in range(2):
            recorder = begin(database, RunHead("", "ab" * 20, False, "rack1", ""))
            figure = recorder.figure(head("F1", REAL, "serial:/dev/board"))
            for n in range(30):
                recorder.sample(figure, Sample(18.0 + 0.01 * n))
            recorder.end()
    wizloop("report", "--out", tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    assert (document["verdict"], document["exit_code"], document["headline"]) == (YELLOW, 4, "1 figure not judged")
    assert document["sentences"][0]["text"].startswith("F1, byte on serial:/dev/board not judged, not in turn: ")


@pytest.mark.parametrize(
    ("nights", "slower_by_pct", "verdict", "headline"),
    [
        (1, 0, GREY, "Nothing was judged yet"),
        (5, 0, GREY, "Nothing was judged yet"),
        (6, 0, GREEN, "1 figure without a step"),
        (30, 0, GREEN, "1 figure without a step"),
        (30, 6, RED, "1 figure slower of late"),
    ],
)
def test_boards_that_are_measured_once_a_night_are_judged_by_their_trend(
    fake, wizloop, memory, monkeypatch, tmp_path, nights, slower_by_pct, verdict, headline
):
    file = memory / "boards.db"
    monkeypatch.setenv("WIZLOOP_DATABASE", str(file))
    with Database(location(str(file))) as database:
        for night in range(nights):
            recorder = begin(database, RunHead("nightly", "ab" * 20, False, "rack1", ""))
            value = 18 + 0.01 * (night * 7 % 5)
            value /= 1 + slower_by_pct / 100 * (night >= nights - 4)
            recorder.whole(head("F1", REAL, "serial:/dev/board"), Sample(value))
            recorder.end()
    wizloop("report", "--out", tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    assert (document["verdict"], document["headline"]) == (verdict, headline)
    assert document["exit_code"] == {GREY: 0, GREEN: 0, RED: 3}[verdict]
    said = f"{nights} of 6 runs measured; judged from the 6th on"
    assert any(sentence["text"].endswith(said) for sentence in document["sentences"]) == (verdict == GREY)


def nightly_runs(file, nights, noise_pct=lambda night: 3.0, slower_pct=lambda night: 0.0):
    """Of a board that is measured once a night."""
    with Database(location(str(file))) as database:
        for night in range(nights):
            recorder = begin(database, RunHead("nightly", "ab" * 20, False, "rack1", ""))
            value = (18 + 0.01 * (night * 7 % 5)) / (1 + slower_pct(night) / 100)
            recorder.whole(head("F1", REAL, "serial:/dev/board"), Sample(value, host_noise_pct=noise_pct(night)))
            recorder.end()


def reported(wizloop, file, folder, *words):
    wizloop("report", "--database", file, "--out", folder, *words)
    return json.loads((folder / "report.json").read_text())


def test_nights_on_a_noisy_host_move_no_trend(fake, wizloop, memory, tmp_path):
    """The noise is the same in both; only with it, what got slower is no step of the board."""
    file = memory / "noisy.db"
    nightly_runs(file, 30, lambda night: 35.0 if 23 <= night < 27 else 3.0, lambda night: 9 if 23 <= night < 27 else 0)
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"]) == (GREEN, 0)
    (figure,) = document["figures"]
    assert (figure["state"], figure["series"]["noisy"], len(figure["series"]["values"])) == ("by trend", 4, 26)
    assert "4 runs on a noisy host: not in the trend." in (tmp_path / "index.html").read_text()
    document = reported(wizloop, file, tmp_path, "--max-noise", 50)
    assert (document["verdict"], document["exit_code"]) == (RED, 3)
    assert "26 runs  no step, 4 on a noisy host" in wizloop("history", "--database", file)[1]
    assert "30 runs  2 steps\n" in wizloop("history", "--database", file, "--max-noise", 50)[1]


def test_a_night_on_a_noisy_host_is_not_judged_and_says_so(fake, wizloop, memory, tmp_path):
    """Not even though the nights before it stepped down."""
    file = memory / "noisy.db"
    nightly_runs(file, 30, lambda night: 31.0 if night == 29 else 3.0, lambda night: 9 * (night >= 25))
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"], document["headline"]) == (YELLOW, 5, "1 figure not judged")
    (sentence,) = document["sentences"]
    assert sentence["light"] == YELLOW
    assert sentence["text"].endswith("not judged, noisy host: its own noise is 31 %, above 20 %")
    (figure,) = document["figures"]
    assert (figure["state"], figure["light"], figure["host_noise_pct"]) == ("noisy host", YELLOW, 31.0)
    assert reported(wizloop, file, tmp_path, "--max-noise", 31)["exit_code"] == 3


def figures_of(*names):
    """rtt/dma/b1, b2: two figures."""
    for text in names:
        name, path, duts = text.split("/")
        for dut in duts.split(", "):
            yield SimpleNamespace(name=name, path=path, dut=dut)


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (["rtt/dma/b1"], "rtt, dma on b1"),
        (["rtt/dma/b1, b2"], "rtt, dma on b1 and b2"),
        (["rtt/dma/b1", "rtt/byte/b1"], "rtt, dma on b1; rtt, byte on b1"),
        (["rtt/dma/b1, b2, b3, b4, b5"], "rtt, dma on b1, b2, b3 and 2 more"),
        (
            [f"x{n}/dma/b1, b2" for n in range(9)],
            "x0, dma on b1 and b2; x1, dma on b1 and b2; x2, dma on b1 and b2; 12 more on b1 and b2",
        ),
    ],
)
def test_figures_are_named_with_path_and_board_however_many(figures, said):
    assert named([*figures_of(*figures)]) == said


def test_figures_that_are_not_judged_are_named_with_path_and_board(fake, wizloop, memory, tmp_path):
    file = memory / "many.db"
    with Database(location(str(file))) as database:
        for value in (18.0, None):
            recorder = begin(database, RunHead("nightly", "ab" * 20, False, "rack1", ""))
            for dut in ("b1", "b2"):
                for name in ("udp_rtt", "tcp_rtt"):
                    recorder.whole(head(name, REAL, dut), Sample(value))
            recorder.end()
    (sentence,) = reported(wizloop, file, tmp_path)["sentences"]
    assert sentence["text"].startswith("udp_rtt, byte on b1 and b2; tcp_rtt, byte on b1 and b2 not judged, void: ")


def test_a_noisy_night_of_a_new_board_waits_for_the_next(fake, wizloop, memory, tmp_path):
    file = memory / "noisy.db"
    nightly_runs(file, 4, lambda night: 31.0 if night in (1, 3) else 3.0)
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"]) == (GREY, 0)
    (sentence,) = document["sentences"]
    noise = "noisy host: its own noise is 31 %, above 20 %"
    said = f"2 of 6 runs measured, without this one ({noise}); judged from the 6th on"
    assert sentence["light"] == GREY and sentence["text"].endswith(said)


@pytest.mark.parametrize(("nights", "verdict", "code"), [(5, GREY, 0), (6, YELLOW, 5), (9, YELLOW, 5)])
def test_a_host_that_is_noisy_every_night_is_told_when_a_quiet_one_were_judged(
    fake, wizloop, memory, tmp_path, nights, verdict, code
):
    file = memory / "noisy.db"
    nightly_runs(file, nights, lambda night: 31.0)
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"]) == (verdict, code)


def test_the_headline_says_that_no_figure_of_a_board_was_judged(fake, wizloop, memory, tmp_path):
    file = memory / "both.db"
    with Database(location(str(file))) as database:
        for _ in range(2):
            recorder = begin(database, RunHead("nightly", "ab" * 20, False, "rack1", ""))
            recorder.whole(head("F1", VIRTUAL, "model:fast"), Sample(4.5))
            recorder.whole(head("F1", REAL, "b1"), Sample(4.4))
            recorder.end()
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"]) == (GREEN, 0)
    assert document["headline"] == "1 figure of the model compared, none slower; none of the boards'"


def test_a_first_run_of_the_model_alone_is_no_failure(fake, wizloop, memory, tmp_path):
    file = memory / "first.db"
    wizloop("bench", "--only", "F1", "--record", "--database", file)
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["headline"], document["exit_code"]) == (GREY, "Nothing was judged yet", 0)
    assert [sentence["text"] for sentence in document["sentences"]] == ["run 1 has no earlier run to compare with"]


def test_a_new_board_beside_one_that_is_judged_leaves_the_night_green(fake, wizloop, memory, tmp_path):
    file = memory / "both.db"
    nightly_runs(file, 8)
    with Database(location(str(file))) as database:
        recorder = begin(database, RunHead("nightly", "ab" * 20, False, "rack1", ""))
        for dut in ("serial:/dev/board", "b2"):
            recorder.whole(head("F1", REAL, dut), Sample(18.01))
        recorder.end()
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"]) == (GREEN, 0)
    assert [figure["state"] for figure in document["figures"]] == ["collected", "by trend"]
    (sentence,) = document["sentences"]
    assert sentence["text"].endswith("1 of 6 runs measured; judged from the 6th on")


def test_a_board_whose_figure_is_void_is_not_measured_however_new_it_is(fake, wizloop, memory, tmp_path):
    file = memory / "void.db"
    nightly_runs(file, 2)
    with Database(location(str(file))) as database:
        recorder = begin(database, RunHead("nightly", "ab" * 20, False, "rack1", ""))
        recorder.whole(head("F1", REAL, "serial:/dev/board"), Sample(18.0, 5, 4))
        recorder.end()
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"]) == (YELLOW, 4)


def test_a_quiet_night_after_a_noisy_one_is_judged(fake, wizloop, memory, tmp_path):
    file = memory / "noisy.db"
    nightly_runs(file, 30, lambda night: 90.0 if night == 28 else 3.0)
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["headline"]) == (GREEN, "1 figure without a step")


def test_a_board_that_is_gone_after_a_step_does_not_keep_later_nights_red(fake, wizloop, memory, tmp_path):
    file = memory / "gone.db"
    with Database(location(str(file))) as database:
        for night in range(31):
            recorder = begin(database, RunHead("nightly", "ab" * 20, False, "rack1", ""))
            if night < 30:
                value = (18 + 0.01 * (night * 7 % 5)) / (1.06 if night >= 26 else 1)
                recorder.whole(head("F1", REAL, "serial:/dev/board"), Sample(value))
            recorder.end()
    verdicts = {}
    for run in (30, 31):
        wizloop("report", "--database", file, "--run", run, "--out", tmp_path)
        document = json.loads((tmp_path / "report.json").read_text())
        verdicts[run] = document["verdict"], document["exit_code"]
    assert verdicts == {30: (RED, 3), 31: (YELLOW, 4)}


def test_a_run_is_compared_with_none_of_another_label_or_that_was_cut_short(fake, wizloop, memory, monkeypatch, tmp_path):
    file = memory / "boards.db"
    monkeypatch.setenv("WIZLOOP_DATABASE", str(file))
    with Database(location(str(file))) as database:
        for label, ends in (("ab", True), ("nightly", False), ("nightly", True)):
            recorder = begin(database, RunHead(label, "ab" * 20, False, "rack1", ""))
            recorder.whole(head("F1", REAL, "serial:/dev/board"), Sample(18.0))
            if ends:
                recorder.end()
    wizloop("report", "--out", tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    assert (document["run"]["id"], document["comparison"]) == (3, None)


def exact_nights(file, *nights):
    """One stored run for each: its exact figures by name, all of one board of the model."""
    with Database(location(str(file))) as database:
        for values in nights:
            recorder = begin(database, RunHead("nightly", "ab" * 20, False, "rack1", ""))
            for name, value in values.items():
                recorder.whole(head(name, VIRTUAL, "model:fast"), Sample(value, void="" if value else "it failed"))
            recorder.end()


@pytest.mark.parametrize(
    "between",
    [{}, {"F2": 7.0}, {"F1": None, "F2": 7.0}],
    ids=["nothing", "another figure", "a failure of it"],
)
def test_a_night_without_a_figure_does_not_hide_that_the_next_is_slower(fake, wizloop, memory, tmp_path, between):
    file = memory / "nights.db"
    exact_nights(file, {"F1": 4.5, "F2": 7.0}, between, {"F1": 4.4, "F2": 7.0})
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"], document["headline"]) == (RED, 3, "1 figure slower")
    compared = {row["name"]: (row["base"], row["new"]) for row in document["comparison"]["figures"]}
    assert compared == {"F1": (4.5, 4.4), "F2": (7.0, 7.0)}
    assert document["base"].startswith("run 2 (nightly)" if between else "run 1 (nightly)")
    assert document["base"].endswith("; 1 of its figures from earlier runs") == bool(between)


def test_each_exact_figure_is_compared_with_the_newest_that_measured_it(fake, wizloop, memory, tmp_path):
    file = memory / "nights.db"
    exact_nights(file, {"F1": 9.0}, {"F1": 4.4, "F2": 7.0}, {"F2": 7.0}, {}, {"F1": 4.4, "F2": 7.0})
    document = reported(wizloop, file, tmp_path)
    assert (document["verdict"], document["exit_code"]) == (GREEN, 0)
    assert document["headline"] == "2 figures compared, none slower"


def test_a_figure_that_is_gone_is_told_once(fake, wizloop, memory, tmp_path):
    file = memory / "nights.db"
    exact_nights(file, {"F1": 4.5, "F2": 7.0}, {"F1": 4.5})
    assert reported(wizloop, file, tmp_path)["exit_code"] == 4
    exact_nights(file, {"F1": 4.5})
    assert reported(wizloop, file, tmp_path)["exit_code"] == 0


def test_exact_figures_that_no_earlier_run_has_are_said_to_be_not_compared(fake, wizloop, memory, tmp_path):
    file = memory / "nights.db"
    exact_nights(file, {}, {"F1": 4.5, "F2": 7.0})
    (sentence,) = reported(wizloop, file, tmp_path)["sentences"]
    assert (sentence["light"], sentence["place"]) == (YELLOW, "figures")
    assert re.fullmatch(r"2 exact figures not compared: run 1 \(nightly\), .* UTC has none of them", sentence["text"])


def test_tests_are_reported_without_any_database(fake, wizloop, memory, monkeypatch, tmp_path):
    monkeypatch.delenv("WIZLOOP_DATABASE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(memory))
    file = tmp_path / "pytest.xml"
    file.write_text('<testsuite><testcase classname="a_test" name="test_a"/></testsuite>')
    status, out, _ = wizloop("report", "--out", tmp_path / "r", "--junit", file, "--merged", tmp_path / "junit.xml")
    assert (status, out.splitlines()[0]) == (0, "green: 1 test passed")
    assert (tmp_path / "junit.xml").is_file()
    assert wizloop("report", "--out", tmp_path / "r")[0] != 0
    assert wizloop("report", "--merged", tmp_path / "junit.xml")[0] == 2


def test_the_command_names_what_failed_and_how_to_run_it_again(wizloop, memory, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # no database there
    failing = "".join(
        f'<testcase name="Echo.Loses{count}" classname="Echo"><failure message="3 bytes lost"/></testcase>'
        for count in range(12)
    )
    file = tmp_path / "ctest-release.xml"
    file.write_text(f'<testsuite><testcase name="Echo.Holds" classname="Echo"/>{failing}</testsuite>')
    lines = wizloop("report", "--out", tmp_path / "r", "--junit", file)[1].splitlines()
    assert lines[0].startswith("red: 12 failures")
    assert lines[1:3] == [
        "  Echo.Loses0 (ctest-release): 3 bytes lost",
        "    again: ctest --preset release --output-on-failure -R '^Echo\\.Loses0$'",
    ]
    assert lines[-2:] == ["  and 2 more failures, on the page", f"report: {tmp_path}/r/index.html"]


def test_a_failed_run_is_repeated_with_all_that_it_was_given(fake, wizloop, memory, tmp_path):
    file = memory / "failed.db"
    given = ("tcp_recv", "--board", "fast", "--path", "burst", "--seed", "7", "--set", "fail=void")
    wizloop("run", *given, "--record", "--database", file)
    wizloop("report", "--database", file, "--out", tmp_path)
    (failure,) = json.loads((tmp_path / "report.json").read_text())["failures"]
    (command,) = failure["repeat"]
    assert all(word in command.split() for word in given)


@pytest.mark.simulator
def test_the_example_of_the_readme_runs(simulator, wizloop, memory, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WIZLOOP_DATABASE", str(memory / "results.db"))
    for _ in range(2):
        wizloop("bench", "--record", "--only", "SEED013")
    (command,) = commands_of(
        REPOSITORY / "README.md", "All of it on one page, of the newest run beside the one before:"
    )
    assert wizloop(*command[1:])[0] == 0
    document = json.loads((tmp_path / "report" / "report.json").read_text())
    assert document["verdict"] == GREEN
    (gap,) = document["predictions"]
    assert (gap["name"], gap["basis"]) == ("SEED013", "predicted")
    assert sum(document["figures"][0]["budget_pct"].values()) == pytest.approx(100)
