"""The conformance suite through the SPI bridge, on a board that `wizloop serve` serves: the same tests pass as on the model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from serve_test import serve

pytestmark = pytest.mark.simulator  # the served board comes with the compiled module

PROGRAM = Path(__file__).parents[2] / "build" / "release" / "tests" / "conformance" / "conformance"
SECONDS = 300  # more than it takes on a busy machine
SPEED = "20"  # a test waits a second for its link, and there are some hundred


def results(target: str, folder: Path) -> dict[str, str]:
    """What became of each test; why it was skipped, or failed, is in the log."""
    if not PROGRAM.exists() and not os.environ.get("CI"):
        pytest.skip("the conformance suite is not built: ci/setup builds it")
    file = folder / "results.json"
    command = [str(PROGRAM), "--target", target, f"--gtest_output=json:{file}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-4000:]
    outcomes = {}
    for suite in json.loads(file.read_text())["testsuites"]:
        for test in suite["testsuite"]:
            outcomes[f"{suite['name']}.{test['name']}"] = "skipped" if test["result"] == "SKIPPED" else "passed"
    skipped = sum(outcome == "skipped" for outcome in outcomes.values())
    assert done.stdout.count(" has not ") >= skipped, "each skipped test says what its target lacks"
    return outcomes


def passed(outcomes: dict[str, str]) -> set[str]:
    return {test for test, outcome in outcomes.items() if outcome == "passed"}


@pytest.mark.parametrize("line", ["tcp", "pty"])
def test_same_tests_pass_through_the_bridge_as_on_the_pins_of_the_model(line: str, tmp_path: Path) -> None:
    model = results("model-spi", tmp_path)
    with serve("--board", "stm32f405-arduino", "--tcp", "127.0.0.1:0", "--speed", SPEED) as served:
        board = served.board()
        bridged = results(f"bridge:tcp:{board['tcp']}" if line == "tcp" else f"bridge:serial:{board['pty']}", tmp_path)
    assert bridged.keys() == model.keys()
    assert passed(model) <= passed(bridged)
    more = passed(bridged) - passed(model)
    print(f"{len(passed(bridged))} of {len(bridged)} pass, {len(more)} of them by RSTn and INTn, which the model's target lacks")
