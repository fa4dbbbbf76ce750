"""The reviewed bench: tests/golden/bench.json and the table in README.md, both made from one `wizloop bench --json`.

    python ci/readme_table.py           # exit 1 and a diff if one of them is out of date
    python ci/readme_table.py --write   # brings both up to date
"""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from wizloop.cli.tables import number, percent

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.md"
GOLDEN = REPOSITORY / "tests" / "golden" / "bench.json"
BEGIN = "<!-- bench table -->"
END = "<!-- end -->"

FIGURE_FIELDS = "id board path published simulated unit error_pct basis decided budget_pct virtual_s fingerprint".split()
OWN_FIELDS = "board figure path value unit library_value speedup by_path".split()


def bench() -> dict[str, Any]:
    """What `wizloop bench --json` of this environment writes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        command = [sys.executable, "-m", "wizloop", "bench", "--json", str(file)]
        done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, timeout=300)
        if done.returncode != 0:
            raise SystemExit(f"wizloop bench failed ({done.returncode}):\n{done.stdout}")
        return json.loads(file.read_text())


def golden_of(document: dict[str, Any]) -> dict[str, Any]:
    """The part of a bench that is the same on every machine."""
    return {
        "figures": [{field: row[field] for field in FIGURE_FIELDS} for row in document["figures"]],
        "same_board": [{field: row[field] for field in OWN_FIELDS} for row in document["same_board"]],
        "supply_current": document["supply_current"],
    }


def table_of(document: dict[str, Any]) -> str:
    """The Markdown table and what it adds up to."""
    own = {(row["board"], row["figure"]): row for row in document["same_board"]}
    lines = [("figure", "board, path, SPI MHz", "what", "published", "simulated", "error", "basis", "wizloop driver, best path")]
    lines.append(("---", "---", "---", "--:", "--:", "--:", "---", "---"))
    for row in document["figures"]:
        ours = own.get((row["board"], row["id"]))
        lines.append(
            (
                row["id"],
                f"{row['board']}, {row['path']}, {row['spi_hz'] / 1e6:.4g}",
                f"{row['protocol']} {row['direction']}",
                f"{row['published']:g} {row['unit']}",
                "-" if row["simulated"] is None else number(row["simulated"]),
                percent(row["error_pct"]),
                row["basis"],
                f"{number(ours['value'])}, {ours['path']}" if ours and ours["path"] else "",
            )
        )
    summary = document["summary"]
    after = [
        f"{summary['fitted']} fitted figures, each within {summary['fitted_error_pct_max']:.1f} %; "
        f"{summary['predicted']} predictions, median error {summary['predicted_error_pct_median']:.1f} %, "
        f"worst {summary['predicted_error_pct_max']:.1f} % ({summary['predicted_worst']})."
    ]
    after += [f"{row['id']} is no prediction: {row['decided']}." for row in document["figures"] if row["decided"]]
    for current in document["supply_current"]:
        after.append(
            f"Module current of {current['board']}: published {current['published_ma']:g} mA, "
            f"simulated {number(current['simulated_ma'])} mA."
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n" + "\n".join(after)


def filled(readme: str, table: str) -> str:
    """The README with the table between its two marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md: the marks {BEGIN} and {END} are missing")
    return f"{before}{begin}\n{table}\n{end}{after}"


def main() -> int:
    document = bench()
    wanted = {
        GOLDEN: json.dumps(golden_of(document), indent=2) + "\n",
        README: filled(README.read_text(), table_of(document)),
    }
    status = 0
    for file, text in wanted.items():
        present = file.read_text() if file.exists() else ""
        if present == text:
            continue
        name = str(file.relative_to(REPOSITORY))
        if sys.argv[1:] == ["--write"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            print(f"{name} updated")
        else:
            sys.stdout.writelines(difflib.unified_diff(present.splitlines(True), text.splitlines(True), name, "now"))
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
