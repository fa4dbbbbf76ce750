"""A night on a rack: boards that answer, one that does not, one that fails and one that hangs; one run, one page."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest
from wizloop import nightly
from wizloop.nightly import Job, _exit_code
from wizloop.results import reading, recording
from wizloop.results.database import Database, location
from wizloop.results.recording import FigureHead, RunHead, Sample
from wizloop.results.schema import REAL, VIRTUAL

pytestmark = pytest.mark.simulator

NOWHERE = "tcp:127.0.0.1:2"
BODIES = """
import time
from wizloop.dut.agent import NoAnswer

def test_it_measures(dut, record_figure):
    assert dut.ask("hello")["agent"] == "1"
    record_figure("speed", 4.5, "Mbit/s", path="byte")

def test_it_may_fail(dut):
    assert {fails!r} not in dut.name
    if {dies!r} in dut.name:
        raise NoAnswer("no answer in 5 s")

def test_it_may_hang(dut):
    if {dies!r} in dut.name:
        raise NoAnswer("no answer in 5 s")
    if {hangs!r} in dut.name:
        time.sleep(600)
"""


@pytest.fixture
def night(simulator, wizloop, memory, tmp_path, monkeypatch):
    """Runs one: exit code, the report, what was said."""

    def run(*duts, fails="nothing", hangs="nothing", dies="nothing", extra=(), words=()):
        bodies = tmp_path / "body_test.py"
        bodies.write_text(BODIES.format(fails=fails, hangs=hangs, dies=dies))
        named = [word for dut in duts for word in ("--dut", dut)]
        out = tmp_path / "night"
        options = ("--no-host-figures", "--out", out, "--database", memory / "n.db", *extra)
        code, said, err = wizloop("nightly", *named, *options, "--", bodies, *words)
        assert err == ""
        return code, json.loads((out / "report.json").read_text()), said

    monkeypatch.setenv("WIZLOOP_INVENTORY", str(tmp_path / "boards.toml"))
    (tmp_path / "boards.toml").write_text('[[board]]\nname = "b1"\naddress = "tcp:127.0.0.1:1"\n')
    run.out = tmp_path / "night"
    run.database = memory / "n.db"
    return run


def test_all_boards_of_a_night_are_one_run_and_the_next_is_compared_with_it(night):
    code, document, said = night("model:w55rp20", "model:teensy40-w5500")
    assert (code, document["comparison"]) == (0, None)
    assert document["headline"] == "8 tests passed"
    code, document, _ = night("model:w55rp20", "model:teensy40-w5500")
    assert (code, document["verdict"]) == (0, "green")
    assert document["headline"] == "8 tests passed, 2 figures compared, none slower"
    with Database(location(str(night.database)), writable=False) as database:
        first, second = reading.runs(database)
        assert {first.head.label, second.head.label} == {"nightly"} and first.ended and second.ended
        of_both = {figure.head.dut for figure in reading.figures(database, [second.id])}
    assert of_both == {"model:w55rp20", "model:teensy40-w5500"}
    suites = [suite.get("name") for suite in ElementTree.parse(night.out / "junit.xml").getroot()]
    assert suites == ["boards", "dut-model-w55rp20", "dut-model-teensy40-w5500"]


def test_a_board_that_does_not_answer_is_told_and_the_others_are_tested(night):
    code, document, said = night("model:w55rp20", NOWHERE)
    assert code == document["exit_code"] == 5
    (failure,) = document["failures"]
    assert (failure["name"], failure["where"]) == (NOWHERE, "boards")
    assert "Connection refused" in failure["message"]
    assert failure["repeat"][0].startswith(f"wizloop test --dut {NOWHERE} -- ")
    assert "test model:w55rp20: ok" in said and f"test {NOWHERE}" not in said


def test_without_names_all_boards_of_the_inventory_are_meant(night):
    file = night.out.with_name("night.json")
    code, document, said = night(extra=("--json", file))
    assert code == 5
    (failure,) = document["failures"]
    came_of_it = json.loads(file.read_text())
    (b1,) = came_of_it.pop("boards")
    assert "Connection refused" in b1.pop("why")
    assert b1 == {"name": "b1", "well": False, "check_code": 5, "tests_code": None, "quarantine": None}
    assert came_of_it == {
        **{name: document[name] for name in ("verdict", "headline", "sentences")},
        "exit_code": 5,
        "run": document["run"]["id"],
        "report": str(night.out / "index.html"),
    }
    assert failure["name"] == "b1" and "Connection refused" in failure["message"]
    assert failure["repeat"][0].startswith("wizloop board check b1")


@pytest.mark.parametrize("named", [(), ("tcp:127.0.0.1:1", "b1")])
def test_a_board_in_quarantine_is_left_out_and_named(night, tmp_path, named):
    (tmp_path / "quarantine.toml").write_text(
        '[[quarantine]]\nboard = "b1"\nowner = "ann"\nreason = "RJ45 socket is worn out"\nsince = 2026-11-30\n'
    )
    with Database(location(str(night.database))) as database:
        recorder = recording.begin(database, RunHead("nightly", "", False, "rack1", ""))
        for dut, clock in (("b1", REAL), ("model:w55rp20", VIRTUAL)):
            recorder.whole(FigureHead("speed", dut, "w55rp20", "byte", "Mbit/s", clock, "", "", ""), Sample(4.5))
        recorder.end()
    file = night.out.with_name("night.json")
    code, document, said = night(*named, extra=("--json", file))
    assert (code, document["verdict"], document["failures"]) == (4, "grey", [])
    assert [(figure["state"], figure["light"]) for figure in document["figures"]] == [("left out", "grey")] * 2
    assert not any("not judged" in sentence["text"] for sentence in document["sentences"])
    (b1,) = json.loads(file.read_text())["boards"]
    assert (b1["well"], b1["check_code"], b1["quarantine"]["owner"]) == (False, None, "ann")
    entry = "b1 is in quarantine since 2026-11-30 (ann): RJ45 socket is worn out"
    assert {"light": "yellow", "text": entry, "place": "tests"} in document["sentences"]
    assert f"\n  {entry}\n" in said and "check b1" not in said
    assert document["skipped"] == [{"reason": entry, "count": 1}]


def test_to_verify_what_is_in_quarantine_only_its_boards_are_asked(night, tmp_path):
    assert night("model:w55rp20", "model:teensy40-w5500")[0] == 0
    (tmp_path / "quarantine.toml").write_text(
        '[[quarantine]]\nboard = "model:w55rp20"\ntest = "*::test_it_measures*"\n'
        'owner = "ann"\nreason = "loses bytes"\nsince = 2026-11-30\n'
    )
    for _ in range(2):
        code, document, said = night("model:w55rp20", "model:teensy40-w5500", words=("--verify-quarantine",))
        assert (code, document["failures"]) == (0, [])
        assert {figure["state"] for figure in document["figures"]} == {"not in this run"}
        assert "test model:w55rp20: ok" in said and "check model:teensy40-w5500" not in said
        assert "model:teensy40-w5500: nothing of it is in quarantine" in said
        assert {part["part"]: part["passed"] for part in document["tests"]} == {"boards": 1, "dut-model-w55rp20": 1}


def test_a_test_that_fails_outranks_a_board_that_does_not_answer(night):
    code, document, _ = night("model:w55rp20", NOWHERE, fails="w55rp20")
    assert code == 1
    (failure,) = [failure for failure in document["failures"] if failure["where"] != "boards"]
    assert failure["name"].startswith("test_it_may_fail")
    assert failure["repeat"][0].startswith("wizloop test --dut model:w55rp20 -- '")
    assert "test_it_may_fail[model:w55rp20]'" in failure["repeat"][0]


def test_a_board_that_dies_in_the_night_is_one_sentence_and_the_report_has_the_code_of_the_night(night):
    code, document, said = night("model:w55rp20", "model:teensy40-w5500", dies="teensy")
    assert (code, document["exit_code"], document["headline"]) == (5, 5, "2 tests not run")
    (failure,) = document["failures"]
    told = "dut-model-teensy40-w5500: 2 tests could not be run: no answer in 5 s"
    assert (failure["not_run"], [sentence["text"] for sentence in document["sentences"]][0]) == (2, told)
    assert f"\n  {told}\n" in said
    counts = {part["part"]: (part["passed"], part["failed"], part["not_run"]) for part in document["tests"]}
    assert counts == {"boards": (2, 0, 0), "dut-model-w55rp20": (3, 0, 0), "dut-model-teensy40-w5500": (1, 0, 2)}


def test_a_night_whose_published_figures_cannot_be_simulated_says_so(night, tmp_path, monkeypatch):
    """Although no night before it has any that could be missed."""
    (tmp_path / "broken.toml").write_text("sclk_hz = ")
    words = ["bench", "--board", str(tmp_path / "broken.toml")]
    monkeypatch.setattr("wizloop.nightly._bench", lambda plan: Job("bench", words, plan.out / "bench.log"))
    code, document, _ = night("model:w55rp20", extra=("--host-figures",))
    assert (code, document["exit_code"], document["verdict"]) == (5, 5, "red")
    (sentence,) = [sentence["text"] for sentence in document["sentences"] if sentence["light"] == "red"]
    assert sentence.startswith("published figures failed: not simulated: ") and "broken.toml" in sentence


@pytest.mark.parametrize(("chosen", "code"), [("nosuchtest", 4), ("w55rp20", 0)])
def test_words_that_choose_no_test_measure_nothing_and_fail_nothing(night, chosen, code):
    came_to, document, _ = night("model:w55rp20", "model:teensy40-w5500", words=("-k", chosen))
    assert (came_to, document["failures"]) == (code, [])


def test_a_board_that_hangs_is_ended_at_its_deadline_and_what_it_measured_counts(night):
    started = time.monotonic()
    code, document, said = night("model:teensy40-w5500", hangs="teensy", extra=("--minutes", 0.5))
    assert time.monotonic() - started < 90
    assert code == 5
    assert "test model:teensy40-w5500: not done after 30 s, ended" in said
    (failure,) = document["failures"]
    assert failure["where"] == "boards"
    assert failure["message"].startswith("not done in time, and ended at ")
    assert "test_it_may_hang[model:teensy40-w5500]" in failure["message"]
    assert {part["part"]: part["passed"] for part in document["tests"]} == {"boards": 1, "dut-model-teensy40-w5500": 2}
    assert len(document["figures"]) == 1


def test_a_night_says_each_sentence_of_its_report_and_judges_by_the_limit_that_it_is_given(night):
    def measured(noise_pct):
        with Database(location(str(night.database))) as database:
            recorder = recording.begin(database, RunHead("nightly", "", False, "rack1", ""))
            speed = FigureHead("speed", "b1", "w55rp20", "byte", "Mbit/s", REAL, "", "", "")
            recorder.whole(speed, Sample(4.5, host_noise_pct=noise_pct))
            recorder.end()

    for _ in range(6):
        measured(31.0)
    _, document, said = night(extra=("--max-noise", 40))
    assert document["figures"][0]["series"]["noisy"] == 0
    assert f"\n{document['verdict']}: {document['headline']}\n" in said
    assert document["sentences"] and all(f"\n  {sentence['text']}\n" in said for sentence in document["sentences"])


@pytest.mark.parametrize(
    ("named", "code", "said"),
    [
        ("nosuch", 4, "boards.toml has no board 'nosuch': it has b1"),
        ("model:nosuch", 4, "unknown board 'nosuch'"),
        ("carrier:pigeon", 2, "unknown kind 'carrier'"),
    ],
)
def test_what_is_no_board_is_told_before_the_night(night, wizloop, memory, tmp_path, named, code, said):
    words = ("nightly", "--dut", "model:w55rp20", "--dut", named, "--out", night.out, "--database", memory / "n.db")
    came_to, out, err = wizloop(*words)
    assert (came_to, out, err.count("\n")) == (code, "", 1)
    assert said in err
    assert not night.out.exists()


@pytest.mark.parametrize(
    ("checks", "code"),
    [([0, 0], 0), ([0, 4], 4), ([5, 4], 5), ([None, 0], 5), ([1, 0], 5)],
)
def test_a_board_that_is_not_there_has_the_code_of_its_check(checks, code):
    document = {"failures": [], "sentences": [], "exit_code": 0}
    jobs = [Job("check", [], Path("check.log"), code=came_to) for came_to in checks]
    assert _exit_code(document, jobs, []) == code


def test_two_nights_in_one_folder_are_refused(night, wizloop, memory, tmp_path):
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, _, err = wizloop("nightly", "--out", tmp_path, "--database", memory / "n.db")
    assert (code, "another nightly run is at work" in err) == (5, True)


def test_who_interrupts_a_night_is_told_what_is_stored(night, wizloop, memory, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    for step, said in (("_work", "run 1 is stored as not ended"), ("_report", "run 2 is stored")):
        monkeypatch.setattr(nightly, step, interrupted)
        words = ("--dut", "model:w55rp20", "--no-host-figures", "--out", tmp_path, "--database", memory / "n.db")
        code, out, _ = wizloop("nightly", *words)
        assert (code, out.splitlines()[-1]) == (130, f"interrupted; {said}")
        monkeypatch.setattr(nightly, "_work", lambda *_: None)


def test_a_place_that_takes_nothing_is_a_mistake_in_its_name(night, wizloop, memory, tmp_path):
    (tmp_path / "taken").touch()
    code, _, err = wizloop("nightly", "--out", tmp_path / "taken" / "night", "--database", memory / "n.db")
    assert (code, err) == (2, f"wizloop: --out: cannot write {tmp_path / 'taken' / 'night'}: Not a directory\n")


def state_of(process):
    """As the kernel has it; empty: it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def soon(condition, within=60.0):
    end = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_night_that_is_killed_leaves_no_test_at_work_and_no_other_begins_before(night, memory, tmp_path, workers):
    bodies, at_work = tmp_path / "body_test.py", tmp_path / "at_work"
    bodies.write_text(
        "import os, time\n\ndef test_it_hangs(dut):\n"
        f"    open({str(at_work)!r}, 'w').write(f'{{os.getpid()}}\\n')\n    time.sleep(600)\n"
    )
    words = ["--dut", "model:w55rp20", "--no-host-figures", "--out", tmp_path, "--database", memory / "n.db"]
    command = [sys.executable, "-m", "wizloop", "nightly", *words, "--", bodies, *workers]
    killed = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL)
    try:
        test = soon(lambda: at_work.exists() and at_work.read_text().endswith("\n") and int(at_work.read_text()))
    finally:
        killed.kill()
        killed.wait()
    with (tmp_path / ".lock").open("w") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert state_of(test) not in ("", "Z")

    def may_begin():
        with (tmp_path / ".lock").open("w") as lock, suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True

    soon(may_begin)
    soon(lambda: state_of(test) in ("", "Z"), within=1.0)


def test_an_inventory_without_a_board_is_no_night(wizloop, tmp_path):
    file = tmp_path / "empty.toml"
    file.touch()
    code, _, err = wizloop("nightly", "--inventory", file, "--out", tmp_path / "night")
    assert code == 4 and f"no board in {file}: `wizloop board add NAME`" in " ".join(err.split())
    assert not (tmp_path / "night").exists()


def test_a_night_without_boards_and_figures_is_nothing(night, wizloop, memory, tmp_path):
    (tmp_path / "boards.toml").write_text("")
    assert wizloop("nightly", "--no-host-figures", "--out", tmp_path, "--database", memory / "n.db")[0] == 4
