import json
import math

import pytest
from wizloop.fit import RUNS_MAX, as_text, search


def solve(error_at, start):
    searching = search(start)
    value = next(searching)
    while True:
        try:
            value = searching.send(error_at(value))
        except StopIteration as stop:
            return stop.value


@pytest.mark.parametrize("start", [0.0, 1.0, 30.0, 122.0, 122.3, 1000.0])
def test_finds_the_value_from_either_side(start):
    solution = solve(lambda gap: 1000 / (100 + gap) / 4.5 - 1, start)
    assert solution.met
    assert solution.value == pytest.approx(1000 / 4.5 - 100, rel=5e-4)
    assert solution.runs <= 20


def test_a_value_that_already_meets_its_figure_stays():
    solution = solve(lambda value: 0.0, 790.0)
    assert (solution.value, solution.runs, solution.met) == (790.0, 1, True)


def test_a_rising_figure_works_as_well_as_a_falling_one():
    assert solve(lambda value: value / 23335 - 1, 20000.0).value == pytest.approx(23335, rel=2e-4)


def test_beside_a_jump_the_better_side_is_reported_as_not_met():
    solution = solve(lambda value: (math.floor(value) - 49.4) / 49.4, 10.0)
    assert not solution.met
    assert math.floor(solution.value) == 49
    assert solution.runs <= RUNS_MAX


def test_a_figure_out_of_reach_ends_at_zero_not_below():
    seen = []
    solution = solve(lambda value: seen.append(value) or 1000 / (100 + value) / 45 - 1, 30.0)
    assert not solution.met
    assert solution.value == 0.0
    assert min(seen) == 0.0


def test_a_constant_without_influence_is_given_up_within_reach():
    seen = []
    solution = solve(lambda value: seen.append(value) or 0.5, 3.0)
    assert not solution.met
    assert max(seen) <= 1000


def test_values_are_written_as_a_board_file_has_them():
    assert as_text("byte_gap_ns", 790.123456) == "790.123"
    assert as_text("sclk_hz", 12571428.6) == "12571429"


def test_the_command_shows_the_exact_value_beside_the_one_in_the_file(fake, wizloop, tmp_path):
    out = tmp_path / "fit.json"
    code, text, _ = wizloop("fit", "--json", out)
    (row,) = json.loads(out.read_text())["constants"]
    assert code == 0
    assert (row["board"], row["constant"], row["figure"], row["in_file"]) == ("fast", "byte_gap_ns", "F1", 1000)
    exact_ns = 8e6 / 4.5 / 1000 - 333.333 - 8e9 / 42e6
    assert row["exact"] == pytest.approx(exact_ns, rel=5e-4)
    assert f"{row['exact']:g}" in text
    assert abs(row["error_exact_pct"]) <= 0.01 < abs(row["error_in_file_pct"])


def test_a_board_without_fitted_constants_has_nothing_to_measure(fake, wizloop):
    code, _, err = wizloop("fit", "--board", "slow")
    assert code == 4
    assert "no constant" in err
