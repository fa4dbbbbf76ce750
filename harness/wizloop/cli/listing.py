"""`wizloop list`: what there is to run, and on what."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from wizloop import boards
from wizloop.cli import output
from wizloop.simulator import PATHS, Board, Scenario, catalogue

# Address form, what answers, and why it cannot be used (empty: it can).
DUTS = (
    ("model:BOARD", "the chip model in this process, priced by the board file; virtual time", ""),
    ("rtl:BOARD", "the same with an RTL SPI front", "this release has no RTL front"),
    ("serial:PORT[@BAUD]", "agent firmware on a board, over a serial line", "this release has no agent firmware"),
    ("tcp:HOST:PORT", "agent firmware on a board, over TCP", "this release has no agent firmware"),
    ("labgrid:PLACE", "a board leased from a labgrid coordinator", "this release has no agent firmware"),
)


def list_all(
    why: Annotated[bool, typer.Option("--why", help="Add what cannot run here, with the reason.")] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the lists as JSON too.")] = None,
) -> None:
    """List boards, scenarios with their parameters, and kinds of devices under test."""
    found = boards.load(None)
    scenarios = list(catalogue().values())
    console = output.console(output.PIPE_WIDTH)
    for line in [*_boards(found, why), *_scenarios(scenarios), *_duts(why)]:
        console.print(line)
    if json is not None:
        output.write_json(
            json,
            {
                "boards": [
                    {
                        "name": board.name,
                        "title": board.title,
                        "mcu": board.mcu,
                        "chip": board.chip,
                        "sclk_hz": board.sclk_hz,
                        "library": board.library,
                        "paths": list(board.paths),
                        "unavailable": {path: _no_path(board, path) for path in PATHS if path not in board.paths},
                    }
                    for board in found
                ],
                "scenarios": [asdict(scenario) for scenario in scenarios],
                "duts": [{"address": address, "what": what, "unavailable": no} for address, what, no in DUTS],
            },
        )


def _no_path(board: Board, path: str) -> str:
    return f"{board.file.name} gives no {path}_gap_ns"


def _boards(found: list[Board], why: bool) -> list[Text]:
    lines = [Text(f"boards ({boards.folder()})", style="bold")]
    for board in found:
        paths = ", ".join(board.paths)
        bus = f"{board.sclk_hz / 1e6:>6.4g} MHz  {board.library:<14} {paths:<17}"
        lines.append(Text(f"  {board.name:<20} {bus} {board.title}: {board.mcu}"))
        if why:
            missing = [path for path in PATHS if path not in board.paths]
            lines += [Text(f"  {'':<20} no {path}: {_no_path(board, path)}", style="dim") for path in missing]
    return lines


def _scenarios(scenarios: list[Scenario]) -> list[Text]:
    lines = [Text("scenarios", style="bold")]
    for scenario in scenarios:
        lines.append(Text(f"  {scenario.name:<12} {scenario.what}: {scenario.figure} in {scenario.unit}"))
        for p in scenario.parameters:
            lines.append(Text(f"    {p.name + '=' + p.default:<28} {p.meaning}: {p.values}", style="dim"))
    return lines


def _duts(why: bool) -> list[Text]:
    lines = [Text("devices under test", style="bold")]
    for address, what, unavailable in DUTS:
        if not unavailable:
            lines.append(Text(f"  {address:<20} {what}"))
        elif why:
            lines.append(Text(f"  {address:<20} not here: {unavailable} ({what})", style="dim"))
    return lines
