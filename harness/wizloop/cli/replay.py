"""`wizloop replay`: a recorded SPI transcript against the chip model, or the chip of a board."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from wizloop import simulator
from wizloop.cli import output
from wizloop.cli.run import parse_settings
from wizloop.errors import UsageError


def replay(
    file: Annotated[Path, typer.Argument(help="A transcript, of `wizloop run` or `wizloop serve` with --spi FILE.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="chip.KEY or fault.chip_NAME, after the run's own; repeatable."),
    ] = None,
    dut: Annotated[
        str, typer.Option(metavar="ADDRESS", help="serial:PORT[@BAUD] or tcp:HOST:PORT of a board's agent; default: the model.")
    ] = "",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result as JSON too.")] = None,
) -> None:
    """Give a chip the bytes and frames that a run gave it, and report the first byte that it answers differently.

    Exit code 1 if there is one.
    """
    if dut and set_:
        raise UsageError("--set is about the chip model, and --dut is a real one: give one of them")
    outcome = simulator.replay(file, parse_settings(set_ or []), dut)
    console = output.console(output.PIPE_WIDTH)
    for line in report(outcome):
        console.print(line)
    if json is not None:
        output.write_json(json, asdict(outcome))
    if outcome.difference is not None:
        raise typer.Exit(1)


def report(outcome: simulator.Replay) -> list[Text]:
    lines = [Text.assemble((outcome.note, "bold")), Text(f"compared {outcome.bytes} bytes in {outcome.frames} SPI frames")]
    found = outcome.difference
    if found is not None:
        return [
            *lines,
            Text("first difference", style="bold red"),
            Text(f"  at        {found.at_ps / 1e12:.12f} s, byte {found.byte}, frame {found.frame}"),
            *output.wrapped(found.where, output.width(), "  where     ", indent=12),
            *output.wrapped(found.mosi, output.width(), "  MOSI      ", indent=12),
            Text(f"  recorded  {found.recorded:02X}"),
            Text(f"  replayed  {found.replayed:02X}"),
        ]
    if not outcome.whole:
        lines.append(Text("the transcript ends in mid-run: the recorded run was cut short", style="yellow"))
    return [*lines, Text("no difference")]
