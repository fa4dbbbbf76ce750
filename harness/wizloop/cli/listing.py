"""`wizloop list`: what there is to run, and on what."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from wizloop import boards
from wizloop.cli import output
from wizloop.simulator import (
    FAULT_WORDS,
    NO_RTL,
    PATHS,
    PRESETS,
    TRUSTS,
    Board,
    ChipOption,
    FaultKind,
    Scenario,
    catalogue,
    chip_options,
    fault_kinds,
    fronts,
)

NO_LABGRID = "labgrid is not installed: pip install 'wizloop[labgrid]'"

# Address form, and what answers.
DUTS = (
    ("model:BOARD", "the chip model in this process, priced by the board file; virtual time"),
    ("rtl:BOARD", "the same behind the SPI front as RTL (sim/rtl)"),
    ("serial:PORT[@BAUD]", "a board that runs the agent (boards/agent), over a serial line"),
    ("tcp:HOST:PORT", "the same over TCP"),
    ("labgrid:PLACE", "a board leased from a labgrid coordinator, by its place, by tags or any"),
)


def list_all(
    why: Annotated[bool, typer.Option("--why", help="Add what cannot run here, with the reason.")] = False,
    quirks: Annotated[bool, typer.Option("--quirks", help="Only what the chip's datasheet leaves open.")] = False,
    faults: Annotated[bool, typer.Option("--faults", help="Only the faults that a run can be given.")] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the lists as JSON too.")] = None,
) -> None:
    """List boards, scenarios with their parameters, and kinds of devices under test."""
    if quirks or faults:
        lines: list[Text] = []
        tables: dict[str, Any] = {}
        if quirks:
            lines += _quirks(list(chip_options().values()))
            tables["quirks"] = [asdict(option) for option in chip_options().values()]
        if faults:
            lines += _faults(list(fault_kinds().values()))
            tables["faults"] = [asdict(kind) for kind in fault_kinds().values()]
        _show(lines, tables, json)
        return
    found = boards.load(None)
    scenarios = list(catalogue().values())
    document = {
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
        "duts": [{"address": address, "what": what, "unavailable": no} for address, what, no in _all_duts()],
    }
    _show([*_boards(found, why), *_scenarios(scenarios), *_duts(why)], document, json)


def _show(lines: list[Text], document: dict[str, Any], json: Path | None) -> None:
    console = output.console(output.PIPE_WIDTH)
    for line in lines:
        console.print(line)
    if json is not None:
        output.write_json(json, document)


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
        for name, value in scenario.settings.items():
            lines.append(Text(f"    {name}={value}", style="dim"))
    return lines


def _all_duts() -> list[tuple[str, str, str]]:
    no_rtl = "" if "rtl" in fronts() else NO_RTL
    no_labgrid = "" if importlib.util.find_spec("labgrid") else NO_LABGRID
    reasons = {"rtl": no_rtl, "labgrid": no_labgrid}
    return [(address, what, reasons.get(address.partition(":")[0], "")) for address, what in DUTS]


def _duts(why: bool) -> list[Text]:
    lines = [Text("devices under test", style="bold")]
    for address, what, unavailable in _all_duts():
        if not unavailable:
            lines.append(Text(f"  {address:<20} {what}"))
        elif why:
            lines.append(Text(f"  {address:<20} not here: {unavailable} ({what})", style="dim"))
    return lines


def _quirks(options: list[ChipOption]) -> list[Text]:
    """One line each where there is room, else the question and the source below."""
    presets = ", ".join(f"{name}: {meaning}" for name, meaning in PRESETS.items())
    lines = [
        Text("What the datasheet leaves open; * marks the default. Change one with wizloop run --set NAME=CHOICE.")
    ]
    lines.append(Text(f"chip.preset is silicon* or strict ({presets}).", style="dim"))
    names = max(len(option.name) for option in options)
    values = max(len(option.values) for option in options)
    columns = output.width()
    for trust, meaning in TRUSTS.items():
        trusted = [option for option in options if option.trust == trust]
        if trusted:
            lines.append(Text(f"{trust}: {meaning} ({len(trusted)})", style="bold"))
        for option in trusted:
            head = f"  {option.name:<{names}}  {option.values:<{values}}"
            if columns == output.PIPE_WIDTH:
                lines.append(Text(f"{head}  {trust:<10}  {option.question}  [{option.source}]"))
            else:
                lines.append(Text(head.rstrip()))
                lines += output.wrapped(option.question, columns, " " * 6, indent=6)
                lines += output.wrapped(f"source: {option.source}", columns, " " * 6, indent=6)
    return lines


def _faults(kinds: list[FaultKind]) -> list[Text]:
    words = "; ".join(f"{word} {meaning}" for word, meaning in FAULT_WORDS.items())
    columns = output.width()
    lines = [Text("Faults that a run can be given: wizloop run --set fault.NAME=WORD,WORD,...")]
    lines += output.wrapped(f"When: {words}.", columns, indent=6)
    longest = max(len(kind.name) for kind in kinds)
    for layer in dict.fromkeys(kind.layer for kind in kinds):
        of_layer = [kind for kind in kinds if kind.layer == layer]
        lines.append(Text(f"{layer} ({len(of_layer)})", style="bold"))
        for kind in of_layer:
            occasion = f"at: {kind.occasion}" if kind.occasion else "lasts from= until="
            lines += output.wrapped(f"{kind.meaning} ({occasion})", columns, f"  {kind.name:<{longest}}  ", indent=6)
            for p in kind.parameters:
                lines.append(Text(f"      {p.name + '=' + p.default:<18} {p.meaning}: {p.form}", style="dim"))
    return lines
