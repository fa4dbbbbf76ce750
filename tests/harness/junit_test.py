"""JUnit files of ctest and pytest: what failed and why, how to repeat it, and one file of many."""

from __future__ import annotations

import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_example import results
from wizloop.report import junit
from wizloop.report.junit import FAILED, PASSED, SKIPPED


def written(folder: Path, name: str, body: str) -> junit.Part:
    (folder / name).write_text(f'<?xml version="1.0"?><testsuite name="x">{body}</testsuite>')
    return junit.read(folder / name, folder)


def test_what_tests_have_measured_is_kept_in_words(tmp_path):
    figure = '<properties><property name="figure" value="rtl lines: 100.0 % (12 of 12)"/></properties>'
    part = written(tmp_path, "rtl.xml", f'<testcase name="a">{figure}</testcase><testcase name="b"/>')
    assert [case.measured for case in part.cases] == [("rtl lines: 100.0 % (12 of 12)",), ()]


def test_counts_of_parts(tmp_path):
    ctest, pytests = results(tmp_path)
    assert [ctest.count(state) for state in (PASSED, FAILED, SKIPPED)] == [400, 1, 0]
    assert [pytests.count(state) for state in (PASSED, FAILED, SKIPPED)] == [200, 1, 1]
    assert ctest.time_s == pytest.approx(400 * 0.004 + 0.031)


def test_a_failure_of_googletest_says_where_it_failed_and_is_repeated_by_ctest(tmp_path):
    part = results(tmp_path)[0]
    (case,) = [case for case in part.cases if case.state == FAILED]
    assert case.message == "Expected equality of these values: board.frames() Which is: 2"
    (command,) = case.repeat
    assert shlex.split(command)[:4] == ["ctest", "--preset", "release", "--output-on-failure"]
    assert shlex.split(command)[-1] == r"^unit_chip\.TcpConnect\.GivesUpAfterTheLastRetry$"


def test_a_failure_of_pytest_is_repeated_by_its_node_and_by_what_it_says_itself(tmp_path):
    (tmp_path / "tests" / "dut").mkdir(parents=True)
    (tmp_path / "tests" / "dut" / "echo_test.py").touch()
    part = results(tmp_path)[1]
    (case,) = [case for case in part.cases if case.state == FAILED]
    assert case.message == "AssertionError: 2048 of 2049 bytes came back"
    assert shlex.split(case.repeat[0])[-1] == "tests/dut/echo_test.py::test_echo[serial:/dev/ttyACM0-2049]"
    assert case.repeat[1:] == ("wizloop run tcp_echo --board w55rp20 --seed 7",)
    assert case.captures == (str(tmp_path / "echo.pcapng"),)


def test_a_test_in_a_class_and_one_whose_file_is_gone(tmp_path):
    (tmp_path / "a_test.py").touch()
    body = '<testcase classname="{}" name="test_x"><failure message="no"/></testcase>'
    part = written(tmp_path, "pytest.xml", body.format("a_test.TestA") + body.format("b_test"))
    assert [shlex.split(case.repeat[0])[3:] for case in part.cases] == [["a_test.py::TestA::test_x"], ["-k", "test_x"]]


def test_a_file_that_could_not_be_collected_is_repeated_whole(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a_test.py").touch()
    body = '<testcase classname="" name="sub.a_test"><error message="collection failure"/></testcase>'
    (case,) = written(tmp_path, "pytest.xml", body).cases
    assert shlex.split(case.repeat[0])[3:] == ["sub/a_test.py"]


def test_a_test_may_say_itself_how_it_is_repeated(tmp_path):
    body = (
        '<testcase name="fuzz"><properties><property name="repeat" value="ci/fuzz"/></properties><failure/></testcase>'
    )
    assert written(tmp_path, "parts.xml", body).cases[0].repeat == ("ci/fuzz",)


def test_a_capture_that_an_output_names_is_kept_if_it_is_there(tmp_path):
    (tmp_path / "there.spi").touch()
    text = "transcript: there.spi, frames: gone.pcapng"
    part = written(tmp_path, "pytest.xml", f'<testcase name="a"><failure message="no">{text}</failure></testcase>')
    assert part.cases[0].captures == (str(tmp_path / "there.spi"),)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<skipped message="no board"/>', "no board"),
        (
            '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>a:3: Skipped\nneeds root\n</system-out>',
            "needs root",
        ),
        ("", "no reason given"),
    ],
)
def test_a_skip_gives_its_reason(tmp_path, body, reason):
    part = written(tmp_path, "ctest-release.xml", f'<testcase name="a" status="notrun">{body}</testcase>')
    assert (part.cases[0].state, part.cases[0].message) == (SKIPPED, reason)


def test_a_long_output_keeps_its_end(tmp_path):
    text = "\n".join(f"line {n}" for n in range(1000))
    part = written(tmp_path, "pytest.xml", f'<testcase name="a"><error message="">{text}</error></testcase>')
    assert part.cases[0].detail.startswith("[...]\n") and part.cases[0].detail.endswith("line 999")
    assert part.cases[0].message == "line 999"


@pytest.mark.parametrize("text", [None, "<testsuite><testca", "<testsuite/>", ""])
def test_a_part_that_left_no_results_failed(tmp_path, text):
    file = tmp_path / "ctest-release.xml"
    if text is not None:
        file.write_text(text)
    part = junit.read(file)
    assert part.count(FAILED) == 1 and part.cases[0].message.startswith("left ")


def test_the_merged_file_has_a_suite_for_each_part_and_all_tests(tmp_path):
    parts = [*results(tmp_path), junit.read(tmp_path / "gone.xml")]
    junit.merge(parts, tmp_path / "sub" / "junit.xml")
    root = ElementTree.parse(tmp_path / "sub" / "junit.xml").getroot()
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["ctest-release", "pytest", "gone"]
    assert (suites["pytest"].get("tests"), suites["pytest"].get("failures"), suites["pytest"].get("skipped")) == (
        "202",
        "1",
        "1",
    )
    assert len(list(root.iter("testcase"))) == 401 + 202 + 1
    assert suites["gone"].find("testcase/error") is not None
