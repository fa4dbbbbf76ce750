"""`wizloop nightly`: boards checked, tested, measured, compared and reported, in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wizloop.cli import compare, output
from wizloop.cli.recording import DatabaseOption
from wizloop.errors import NothingMeasured

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": False}


def nightly(
    context: typer.Context,
    dut: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A board, as for `test`; repeatable; default: all of the inventory."),
    ] = None,
    inventory: Annotated[Path | None, typer.Option(metavar="FILE", help="The boards there are.")] = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For the report, JUnit files and logs; those of the last night go.")
    ] = Path("build/nightly"),
    label: Annotated[str, typer.Option(metavar="TEXT", help="Of the stored run.")] = "nightly",
    base: Annotated[str | None, typer.Option(help="What to compare with; default: the night before.")] = None,
    intended: Annotated[Path | None, typer.Option(metavar="FILE", help="Steps that are wanted, in TOML.")] = None,
    max_noise: compare.MaxNoiseOption = 20.0,
    minutes: Annotated[float, typer.Option(min=0.01, help="How long the tests of one board may take.")] = 60.0,
    host_figures: Annotated[bool, typer.Option(help="Simulate the published figures, too.")] = True,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write what came of it as JSON too.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Check boards, test and measure all of them at once, compare, and write a page; what follows -- is for pytest.

    Exit code 1: a test failed; 3: something got slower; 5: a board cannot be reached, or hangs, or the host was
    too noisy to judge a figure; 4: nothing could be measured, or not what the night before has. 0 in the first nights of a
    board, too: its trend judges it from the sixth on.
    """
    from wizloop import nightly as job
    from wizloop.cli.test import bodies, must_exist
    from wizloop.dut import inventory as inventories

    loaded = inventories.load(inventory)
    chosen = dut or []
    if not chosen:
        chosen = [board.name for board in loaded.boards]
        if not chosen and loaded.file.exists():  # without one, the night is that of a machine without boards
            raise NothingMeasured(f"there is no board in {loaded.file}: `wizloop board add NAME` writes one")
    for address in chosen:
        must_exist(address, inventory)
    plan = job.Plan(
        duts=tuple(dict.fromkeys(loaded.name_of(address) for address in chosen)),
        out=out,
        bodies=bodies(),
        label=label,
        base=base,
        intended=intended,
        max_noise=max_noise,
        inventory=inventory,
        database=database,
        deadline_s=60 * minutes,
        host_figures=host_figures,
        pytest=tuple(context.args),
    )
    came_of_it = job.run(plan, lambda line: print(line, flush=True))
    if json is not None:
        output.write_json(json, came_of_it)
    raise typer.Exit(came_of_it["exit_code"])
