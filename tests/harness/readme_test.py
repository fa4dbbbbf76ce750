import importlib.util
import json

import pytest
from conftest import REPOSITORY


def load_script():
    spec = importlib.util.spec_from_file_location("readme_table", REPOSITORY / "ci" / "readme_table.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


readme_table = load_script()


@pytest.fixture
def document(fake, wizloop, tmp_path):
    wizloop("bench", "--json", tmp_path / "bench.json")
    return json.loads((tmp_path / "bench.json").read_text())


def test_the_table_has_a_line_for_each_figure_and_the_summary(document):
    lines = readme_table.table_of(document).splitlines()
    assert lines[2] == "| F1 | fast, byte, 42 | tcp recv | 4.5 Mbit/s | 5.25 | +16.7% | fit |  |"
    assert lines[3].endswith("| predicted | 13.94, burst |")
    assert lines[7] == ("1 fitted figures, each within 16.7 %; 3 predictions, median error 57.3 %, worst 85.8 % (F3).")
    assert lines[8] == "Module current of fast: published 132 mA, simulated 131.0 mA."


def test_only_what_stands_between_the_marks_is_replaced():
    readme = f"before\n{readme_table.BEGIN}\nold\n{readme_table.END}\nafter\n"
    assert readme_table.filled(readme, "new") == f"before\n{readme_table.BEGIN}\nnew\n{readme_table.END}\nafter\n"
    with pytest.raises(SystemExit, match="marks"):
        readme_table.filled("nothing here", "new")


def test_the_golden_file_holds_nothing_that_differs_by_machine(document):
    text = json.dumps(readme_table.golden_of(document))
    assert "wall_s" not in text
    assert "fingerprint" in text and "budget_pct" in text


@pytest.fixture(scope="session")
def real_bench(simulator):
    return readme_table.bench()


@pytest.mark.simulator
def test_the_bench_is_the_reviewed_one(real_bench):
    golden = json.loads(readme_table.GOLDEN.read_text())
    assert readme_table.golden_of(real_bench) == golden, "ci/readme-table shows the difference, --write accepts it"


@pytest.mark.simulator
def test_the_readme_shows_the_bench_as_it_is(real_bench):
    readme = readme_table.README.read_text()
    assert readme == readme_table.filled(readme, readme_table.table_of(real_bench))


@pytest.mark.simulator
def test_fits_are_tight_and_predictions_within_their_aims(real_bench):
    summary = real_bench["summary"]
    assert summary["fitted_error_pct_max"] <= 3
    assert summary["predicted_error_pct_median"] < 15
    assert summary["predicted_error_pct_max"] < 35
    for row in real_bench["figures"]:
        assert abs(row["error_pct"]) <= 20 or row["why"], row["id"]


@pytest.mark.simulator
def test_the_seventeen_figures_are_there_with_budgets_that_add_up(real_bench):
    rows = real_bench["figures"]
    numbers = [2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]
    assert {f"SEED{number:03}" for number in numbers} <= {row["id"] for row in rows}
    for row in rows:
        assert row["failure"] == ""
        assert sum(round(10 * share) for share in row["budget_pct"].values()) == 1000
