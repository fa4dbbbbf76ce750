"""`wizloop ab`: two boards, two firmwares of one, or two paths, measured in turn and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from wizloop.cli import compare, output, surroundings
from wizloop.cli.board import InventoryOption
from wizloop.cli.recording import DatabaseOption
from wizloop.errors import UsageError
from wizloop.simulator import PATHS, near

FLASH = "A shell command that puts the firmware of {} onto its board."
MODEL = "A stored run or file with the model's figures for {}; default: the model as it is here."


def ab(
    a: Annotated[str, typer.Argument(metavar="A", help="An address as for `test`, or the name of a board.")],
    b: Annotated[str | None, typer.Argument(metavar="[B]", help="Likewise; default: A itself.")] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="tcp_xmit, udp_rtt ...; repeatable; default: all there are."),
    ] = None,
    path_a: Annotated[
        str | None, typer.Option(help="byte, burst or dma; default: the fastest that the board has.")
    ] = None,
    path_b: Annotated[str | None, typer.Option(help="Likewise.")] = None,
    flash_a: Annotated[str | None, typer.Option(metavar="CMD", help=FLASH.format("A"))] = None,
    flash_b: Annotated[str | None, typer.Option(metavar="CMD", help=FLASH.format("B"))] = None,
    model_a: Annotated[str | None, typer.Option(metavar="RUN", help=MODEL.format("A"))] = None,
    model_b: Annotated[str | None, typer.Option(metavar="RUN", help=MODEL.format("B"))] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Samples of each side; 20 are needed for an alarm.")] = 60,
    seed: Annotated[int, typer.Option(help="Of the order in which the sides take turns.")] = 1,
    label: Annotated[str, typer.Option(metavar="TEXT", help="Names the stored runs, with A and B behind it.")] = "ab",
    intended: Annotated[Path | None, typer.Option(metavar="FILE", help="Steps that are wanted, in TOML.")] = None,
    min_effect: compare.MinEffectOption = 1.0,
    max_noise: compare.MaxNoiseOption = 20.0,
    inventory: InventoryOption = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the comparison as JSON too.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Measure A and B in turn, and say whether B is slower: two boards, two firmwares of one, or two of its paths.

    Exit code 0: B is not slower; 3: it is; 1: an exact figure changed otherwise; 4: not measured, or not well enough;
    5: the host was too noisy, or a board is lost.
    """
    # Here and not above: SciPy takes half a second to load.
    from wizloop import ab as work
    from wizloop.compare import comparison, gate, steps
    from wizloop.dut import measure
    from wizloop.dut.stands import Stands
    from wizloop.results.database import Database, location

    for path in (path_a, path_b):
        if path is not None and path not in PATHS:
            raise UsageError(f"unknown path '{path}'{near(path, PATHS)}, expected {', '.join(PATHS)}")
    if (flash_a is None) != (flash_b is None) and (b is None or a == b):
        raise UsageError("one board keeps the firmware that it got last: give --flash-a and --flash-b")
    for name in figure or ():
        measure.find(name)
    sides = {
        gate.BASE: work.Side(a, path_a or "", flash_a or "", model_a or ""),
        gate.NEW: work.Side(b or a, path_b or "", flash_b or "", model_b or ""),
    }
    limits = comparison.Limits(gate.Limits(effect_pct_min=min_effect), host_noise_pct_max=max_noise)
    wanted = steps.load(intended) if intended is not None else ()
    names = tuple(dict.fromkeys(figure)) if figure else tuple(measure.MEASUREMENTS)
    plan = work.Plan(sides, names, rounds, seed, label, wanted, limits)
    stands = Stands(None if inventory is None else str(inventory), seed)
    try:
        with Database(location(database)) as opened, output.progress("measuring") as (start, done):
            result = work.run(plan, opened, stands, start, done, say=surroundings.complain)
            place = opened.name
    finally:
        stands.close()
    first, second = result.runs
    said = f"recorded: runs {first} (A) and {second} (B) in {place}; again: wizloop compare {first} {second} --across"
    output.console(output.PIPE_WIDTH).print(Text(said))
    compare.show(result.comparison, True, json)
