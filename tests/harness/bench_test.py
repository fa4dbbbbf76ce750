import json

import pytest
from wizloop.cli import tables

ROW_FIELDS = (
    "id board pattern path spi_hz protocol direction published simulated unit error_pct basis budget_pct virtual_s "
    "wall_s fingerprint findings why"
).split()


@pytest.fixture
def bench(fake, wizloop, tmp_path):
    """Runs the command: exit code, its lines, its JSON."""

    def call(*arguments):
        out = tmp_path / "bench.json"
        code, text, err = wizloop("bench", "--json", out, *arguments)
        return code, text.splitlines(), json.loads(out.read_text()) if out.exists() else err

    return call


def without_wall_times(document):
    if isinstance(document, dict):
        return {key: without_wall_times(value) for key, value in document.items() if key != "wall_s"}
    if isinstance(document, list):
        return [without_wall_times(value) for value in document]
    return document


@pytest.mark.parametrize("command", ["bench", "fit"])
def test_an_empty_board_is_not_every_board(fake, wizloop, command):
    code, out, err = wizloop(command, "--board", "")
    assert (code, out) == (2, "")
    assert "the board's name is empty" in err


def test_rows_stand_in_the_order_of_the_files_with_every_field(bench):
    code, _, document = bench()
    rows = document["figures"]
    assert code == 0
    assert [row["id"] for row in rows] == ["F1", "F2", "F3", "S1"]
    for row in rows:
        assert set(ROW_FIELDS) <= set(row)
        assert sum(round(10 * share) for share in row["budget_pct"].values()) == 1000
        assert len(row["fingerprint"]) == 16


def test_a_row_says_what_was_published_and_what_was_simulated(bench):
    _, _, document = bench()
    first = document["figures"][0]
    total_ns = 8e9 / 42e6 + 1000 + 333.333
    said = {field: first[field] for field in ("board", "pattern", "path", "spi_hz", "protocol", "direction", "unit")}
    assert said == {
        "board": "fast",
        "pattern": "ethernet2",
        "path": "byte",
        "spi_hz": 42_000_000,
        "protocol": "tcp",
        "direction": "recv",
        "unit": "Mbit/s",
    }
    assert first["published"] == 4.5
    assert first["simulated"] == pytest.approx(8e3 / total_ns, rel=1e-6)
    assert first["error_pct"] == pytest.approx(100 * (first["simulated"] / 4.5 - 1))
    assert document["figures"][2]["protocol"] == "icmp"


def test_only_the_figure_that_a_constant_was_fitted_to_is_a_fit(bench):
    _, _, document = bench()
    assert [row["basis"] for row in document["figures"]] == ["fit", "predicted", "predicted", "predicted"]
    summary = document["summary"]
    assert (summary["fitted"], summary["predicted"]) == (1, 3)
    errors = {row["id"]: abs(row["error_pct"]) for row in document["figures"][1:]}
    assert summary["predicted_error_pct_median"] == sorted(errors.values())[1]
    assert summary["predicted_worst"] == max(errors, key=errors.get)


def test_two_runs_differ_in_nothing_but_wall_times(bench):
    _, _, one = bench("--jobs", 1)
    _, _, two = bench("--jobs", 4)
    assert without_wall_times(one) == without_wall_times(two)


def test_the_own_driver_is_compared_once_for_each_load_on_its_best_path(bench):
    _, lines, document = bench()
    rows = document["same_board"]
    assert [(row["board"], row["figure"], row["path"]) for row in rows] == [
        ("fast", "F2", "burst"),  # F1 and F2 are one load; the better simulated of them is the one to beat
        ("fast", "F3", "burst"),
        ("slow", "S1", "byte"),
    ]
    assert set(rows[0]["by_path"]) == {"byte", "burst"}
    assert rows[0]["speedup"] == pytest.approx(rows[0]["value"] / document["figures"][1]["simulated"])
    assert rows[1]["speedup"] == pytest.approx(document["figures"][2]["simulated"] / rows[1]["value"])
    assert any("same board, wizloop driver" in line for line in lines)
    assert any(f"over burst, {rows[0]['speedup']:.2f} times as fast as the library (12.82)" in line for line in lines)


def test_a_row_far_off_gets_its_reason_and_the_others_do_not(bench):
    _, lines, document = bench()
    off = [row["id"] for row in document["figures"] if abs(row["error_pct"]) > 20]
    explained = [line.split()[0] for line in lines if " is off by " in line]
    assert explained == off
    assert "F3" in off and "F1" not in off
    assert any("F3" in line and "the board file gives no reason" in line for line in lines)


def test_the_module_current_is_shown_where_one_is_published(bench):
    _, lines, document = bench()
    (current,) = document["supply_current"]
    assert (current["board"], current["published_ma"], current["simulated_ma"]) == ("fast", 132, 131)
    assert "  module current: published 132 mA, simulated 131.0 mA (-0.8%)" in lines


def test_a_finding_of_a_row_carries_the_reason_why_it_is_accepted(bench):
    _, _, document = bench("--only", "F1")
    (finding,) = document["figures"][0]["findings"]
    assert finding["rule"] == "sclk-above-rating"
    assert finding["announced"] == "the source ran it so"
    assert finding["at_s"] == 1.5e-6


def test_a_pipe_gets_one_whole_line_a_figure_and_no_colour(bench):
    _, lines, _ = bench()
    (line,) = [line for line in lines if line.startswith("S1 ")]
    words = line.split()
    assert words[1:6] == ["slow", "pjrc_ethernet", "byte", "12.57", "udp"]
    assert words[-9:] == ["56.8", "13.4", "0.0", "0.0", "0.0", "0.0", "0.0", "29.8", "0.0"]
    assert not any("\x1b" in line or "…" in line for line in lines)


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_a_narrow_terminal_gets_two_lines_a_figure_within_its_width(bench, monkeypatch, columns):
    monkeypatch.setattr("wizloop.cli.output.width", lambda: columns)
    _, lines, document = bench()
    assert max(map(len, lines)) <= columns
    at = next(i for i, line in enumerate(lines) if line.startswith("S1 "))
    assert "packets/s" in lines[at] and "12.57" in lines[at]
    assert lines[at + 1].split() == [f"{share:.1f}" for share in document["figures"][3]["budget_pct"].values()]
    assert any(line.startswith("slow ") and "pjrc_ethernet" in line for line in lines)


def test_a_wide_terminal_gets_one_line_a_figure(bench, monkeypatch):
    monkeypatch.setattr("wizloop.cli.output.width", lambda: 200)
    _, lines, _ = bench()
    assert max(map(len, lines)) <= 200
    (line,) = [line for line in lines if line.startswith("S1 ")]
    assert len(line.split()) == 12 + 9


def test_numbers_are_aligned_under_their_headings(bench):
    _, lines, _ = bench()
    heading = next(line for line in lines if line.startswith("id "))
    for line in (line for line in lines if line[:2] in ("F1", "F2", "F3", "S1") and " is off" not in line):
        for column in ("published", "simulated", "error", "clock", "idle"):
            end = heading.index(column) + len(column)
            assert line[end - 1].isdigit() or line[end - 1] == "%"
            assert line[end : end + 1] in ("", " ")


@pytest.mark.parametrize(
    ("value", "printed"), [(23335.4, "23335"), (149.96, "150.0"), (9.041, "9.04"), (0.0123, "0.0123"), (0, "0.0000")]
)
def test_numbers_keep_their_digits(value, printed):
    assert tables.number(value) == printed


def test_path_and_only_choose_among_the_figures(bench):
    assert [row["id"] for row in bench("--path", "burst")[2]["figures"]] == ["F2"]
    assert [row["id"] for row in bench("--only", "F3")[2]["figures"]] == ["F3"]
    assert [row["id"] for row in bench("--board", "slow")[2]["figures"]] == ["S1"]


def test_nothing_to_measure_is_neither_pass_nor_failure(bench):
    for arguments, said in (
        (["--only", "F33"], "did you mean F3"),
        (["--path", "dma"], "path dma"),
        (["--board", "fsat"], "did you mean fast?"),
    ):
        code, _, err = bench(*arguments)
        assert code == 4
        assert said in err


def test_usage_errors_name_what_is_wrong(bench, fake):
    code, _, err = bench("--path", "brust")
    assert code == 2
    assert "did you mean burst" in err
    (fake / "broken.toml").write_text('title = "x"\n')
    code, _, err = bench()
    assert code == 2
    assert "broken.toml:1: sclk_hz is missing" in err


def test_a_unit_that_the_scenario_does_not_give_is_the_board_files_mistake(bench, fake):
    (fake / "slow.toml").write_text((fake / "slow.toml").read_text().replace('"packets/s"', '"Mbit/s"'))
    code, _, err = bench("--board", "slow")
    assert code == 2
    assert "S1" in err and "packets/s" in err


def test_a_void_run_fails_the_bench_and_says_how_to_repeat_it(bench, fake):
    (fake / "slow.toml").write_text((fake / "slow.toml").read_text() + 'parameters = { fail = "void" }\n')
    code, lines, document = bench()
    row = document["figures"][3]
    assert code == 1
    assert (row["simulated"], row["error_pct"]) == (None, None)
    assert [row["repeat"] for row in document["figures"][:3]] == ["", "", ""]
    assert row["failure"] == "the receiver counts 3 bytes fewer"
    assert "  S1 failed: the receiver counts 3 bytes fewer" in lines
    assert f"    repeat with: {row['repeat']}" in lines
    assert row["repeat"].endswith("wizloop run udp_pps --board slow --path byte --seed 1 --set fail=void")
    assert [row["id"] for row in document["figures"]] == ["F1", "F2", "F3", "S1"]


def test_a_board_may_be_given_by_its_file(bench, fake, tmp_path):
    elsewhere = tmp_path / "my board.toml"
    elsewhere.write_text((fake / "slow.toml").read_text())
    _, _, document = bench("--board", elsewhere)
    assert document["figures"][0]["board"] == "my board"


def test_a_file_that_cannot_be_written_is_a_usage_error(fake, wizloop, tmp_path):
    code, _, err = wizloop("bench", "--json", tmp_path / "no" / "folder.json")
    assert code == 2
    assert "cannot write" in err
