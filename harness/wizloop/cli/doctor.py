"""`wizloop doctor`: what is missing on this machine, and what cures it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from wizloop.cli import output
from wizloop.cli.board import InventoryOption
from wizloop.cli.recording import DatabaseOption

if TYPE_CHECKING:
    from wizloop.doctor import Check

STYLES = {"ok": "green", "missing": "yellow", "wrong": "red"}


def doctor(
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on what is optional, too; so it is where CI=true.")
    ] = False,
    inventory: InventoryOption = None,
    database: DatabaseOption = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the list as JSON too.")] = None,
) -> None:
    """Look for everything that wizloop can use, and name what is missing or wrong, with its cure.

    Exit code 0: nothing is wrong, and what is missing is optional; 5: otherwise.
    """
    from wizloop import doctor as examination

    checks = examination.examine(inventory, database)
    code = examination.exit_code(checks, strict or os.environ.get("CI") == "true")
    console = output.console(output.PIPE_WIDTH)
    longest = max(len(check.name) for check in checks)
    for group in dict.fromkeys(check.group for check in checks):
        console.print(Text(group, style="bold"))
        for check in checks:
            if check.group == group:
                for line in _lines(check, longest):
                    console.print(line)
    bad = [check for check in checks if not check.ok]
    install = examination.to_install(checks)
    console.print(Text(_sentence(checks)))
    if install:
        console.print(Text(f"  {install}"))
    if json is not None:
        document = {
            "exit_code": code,
            "bad": len(bad),
            "install": install,
            "checks": [{**asdict(check), "ok": check.ok} for check in checks],
        }
        output.write_json(json, document)
    raise typer.Exit(code)


def _lines(check: Check, longest: int) -> list[Text]:
    head = f"  {check.state:<8} {check.name:<{longest}} "
    lines = output.wrapped(check.said, output.width(), head, indent=len(head))
    for line in lines[:1]:
        line.stylize(STYLES[check.state], 2, 10)
    if not check.ok:
        lines += output.wrapped(check.needed_for, output.width(), f"{'':11}{'needed for':<11}", indent=22)
        lines += output.wrapped(check.cure, output.width(), f"{'':11}{'cure':<11}", indent=22)
    return lines


def _sentence(checks: list[Check]) -> str:
    bad = [check for check in checks if not check.ok]
    if not bad:
        return f"all {len(checks)} are well"
    counts = {
        "required": sum(check.required for check in bad),
        "wrong": sum(check.state == "wrong" and not check.required for check in bad),
        "optional": sum(check.state == "missing" and not check.required for check in bad),
    }
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{len(bad)} of {len(checks)} are missing or wrong: {told}"
