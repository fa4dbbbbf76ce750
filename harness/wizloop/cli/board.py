"""`wizloop board`: the boards of the inventory."""

from __future__ import annotations

import datetime
import getpass
import json as json_text
import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from wizloop.cli import output
from wizloop.dut.address import is_name
from wizloop.errors import InfrastructureError, NothingMeasured, UsageError

if TYPE_CHECKING:
    from wizloop.dut.address import Address
    from wizloop.dut.inventory import Board, Inventory
    from wizloop.dut.quarantine import Quarantine

app = typer.Typer(
    help="The boards of the inventory: list, check, add, flakes, quarantine, release.", no_args_is_help=True
)

InventoryOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="WIZLOOP_INVENTORY",
        help="A TOML file of boards; default: one of the user's own (`wizloop board list` says where).",
    ),
]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="The same as JSON.")]


TestOption = Annotated[
    str, typer.Option("--test", metavar="PATTERN", help="Tests, as `*udp_test.py::*`; with a board, on it alone.")
]


def _print(line: str) -> None:
    output.console(output.width()).print(Text(line))


@app.command("list")
def list_boards(inventory: InventoryOption = None, json: JsonOption = None) -> None:
    """The boards there are, with what stands around each, and why one is in quarantine."""
    loaded, held = _boards_and_quarantine(inventory)
    rows = []
    for board in loaded.boards:
        entry = held.of_board(board.name)
        row = _row(board)
        rows.append({**row, "quarantine": entry and entry.to_json()})
        profile = f"as {board.profile}" if board.profile else ""
        words = [board.name, str(board.address), profile, ", ".join(row["has"])]
        _print("  ".join([*filter(None, words), *([entry.said] if entry else [])]))
    _print(f"{len(rows)} boards in {loaded.file}" + ("" if loaded.file.exists() else ", which does not exist yet"))
    if json is not None:
        output.write_json(json, {"file": str(loaded.file), "boards": rows})


def _row(board: Board) -> dict[str, Any]:
    around = board.surroundings
    has = {
        "power": around.power,
        "reset": around.button,
        "cable": around.cable,
        "host_ip": around.host_ip,
        "inbound": around.reachable or around.forwards,
    }
    offered = [name for name, there in has.items() if there]
    return {"name": board.name, "address": str(board.address), "profile": board.profile, "has": offered}


@app.command("check")
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Boards; default: all.")] = None,
    inventory: InventoryOption = None,
    json: JsonOption = None,
) -> None:
    """Probe boards: does each answer, is its chip there, is its link up? Exit code 5 if one is not well.

    One in quarantine is probed, too: whether it is well again can be seen before it is released.
    """
    from wizloop.dut import health

    loaded, held = _boards_and_quarantine(inventory)
    chosen = [loaded.find(name) for name in names] if names else list(loaded.boards)
    if not chosen:
        raise NothingMeasured(f"there is no board in {loaded.file}: `wizloop board add NAME` writes one")
    results, rows = [], []
    for board in chosen:
        result = health.check(board)
        entry = held.of_board(board.name)
        results.append(result)
        rows.append({**asdict(result), "quarantine": entry and entry.to_json()})
        words = [result.name, "ok" if result.ok else "NOT WELL", result.said, result.link if result.ok else ""]
        _print("  ".join([*filter(None, words), *([entry.said] if entry else [])]))
    if json is not None:
        output.write_json(json, {"boards": rows})
    if ill := [result.name for result in results if not result.ok]:
        raise InfrastructureError(f"not well: {', '.join(ill)}")


NAMED_MAX = 10


@app.command("flakes")
def flakes(inventory: InventoryOption = None, json: JsonOption = None) -> None:
    """Tests that pass and fail on one board at one commit, and those that the infrastructure has failed.

    A board that was lost has failed whatever was to run on it: such tests, if they are many, are a line together.
    """
    from wizloop.dut import inventory as inventories
    from wizloop.dut import ledger

    file = inventories.load(inventory).file.with_name(ledger.NAME)
    lines = ledger.read(file)
    found = ledger.flakes(lines)
    spared = Counter(flake.board for flake in found if not flake.failed)
    together = {board for board, tests in spared.items() if tests > NAMED_MAX}
    for flake in found:
        if not flake.failed and flake.board in together:
            continue
        _print(
            f"{flake.board}  {flake.test}  passed {flake.passed}, failed {flake.failed}, "
            f"infrastructure {flake.infrastructure}"
        )
    for board in sorted(together):
        times = sum(flake.infrastructure for flake in found if flake.board == board and not flake.failed)
        _print(f"{board}  {spared[board]} tests  infrastructure {times}")
    _print(f"{len(found)} of {len({(line.board, line.test) for line in lines})} tests, by {file}")
    if json is not None:
        output.write_json(json, {"flakes": [asdict(flake) for flake in found]})


@app.command("quarantine")
def put_into_quarantine(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A board; default: any, where --test is given.")] = "",
    test: TestOption = "",
    reason: Annotated[str, typer.Option(metavar="TEXT", help="What is wrong.")] = "",
    owner: Annotated[str | None, typer.Option(metavar="WHO", help="Who looks after it; default: you.")] = None,
    inventory: InventoryOption = None,
    json: JsonOption = None,
) -> None:
    """Leave out a board, tests, or tests on a board; without either, show what is left out."""
    from wizloop.dut import quarantine

    file, loaded = _quarantine_of(inventory, name)
    if name or test:
        if not reason:
            raise UsageError("--reason is missing: what is wrong with it?")
        who = _user() if owner is None else owner
        quarantine.add(file, quarantine.Entry(name, test, who, " ".join(reason.split()), datetime.date.today()))
        loaded = quarantine.load(file)
    for entry in loaded.entries:
        _print(str(entry))
    _print(f"{len(loaded.entries)} in quarantine, by {file}")
    if json is not None:
        output.write_json(json, {"file": str(file), "quarantine": [entry.to_json() for entry in loaded.entries]})


@app.command("release")
def release(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The board, as it is written there.")] = "",
    test: TestOption = "",
    inventory: InventoryOption = None,
    json: JsonOption = None,
) -> None:
    """Take a board or tests out of quarantine. `wizloop test -- --verify-quarantine` says what is ready for it."""
    from wizloop.dut import quarantine

    file, loaded = _quarantine_of(inventory)
    if not name and not test:
        raise UsageError("expected the name of a board, --test, or both")
    released = quarantine.release(file, name, test)
    if not released:
        there = "\n  ".join(str(entry) for entry in loaded.entries) or "nothing"
        raise NothingMeasured(f"not in {file}, where there is\n  {there}")
    for entry in released:
        _print(f"{entry.what} released; it was {entry.said}")
    if json is not None:
        output.write_json(json, {"file": str(file), "released": [entry.to_json() for entry in released]})


def _quarantine_of(inventory: Path | None, name: str = "") -> tuple[Path, Quarantine]:
    """The file, and what is in it. A board by its name must be one of the inventory."""
    loaded, held = _boards_and_quarantine(inventory)
    if is_name(name) and name:
        loaded.find(name)
    return held.file, held


def _boards_and_quarantine(inventory: Path | None) -> tuple[Inventory, Quarantine]:
    from wizloop.dut import inventory as inventories
    from wizloop.dut import quarantine

    loaded = inventories.load(inventory)
    return loaded, quarantine.load(loaded.file.with_name(quarantine.NAME))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return str(os.getuid())


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What the board is called from now on.")],
    address: Annotated[
        str | None, typer.Argument(help="serial:PORT[@BAUD] or tcp:HOST:PORT; default: looks for it.")
    ] = None,
    baud: Annotated[int, typer.Option(metavar="N", help="With which serial ports are looked through.")] = 115_200,
    control: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The control port of `wizloop serve` that serves it.")
    ] = "",
    host_ip: Annotated[str, typer.Option(metavar="IP", help="By which the board reaches this machine.")] = "",
    inventory: InventoryOption = None,
    json: JsonOption = None,
) -> None:
    """Find a board that runs the agent, and write its entry: under a name of its port that stays."""
    from wizloop.dut import inventory as inventories

    loaded = (
        inventories.load(inventory) if inventory is None or inventory.exists() else inventories.parse("", inventory)
    )
    if any(board.name == name for board in loaded.boards):
        raise UsageError(f"{loaded.file} has a board {name} already")
    found, profile = _asked(address) if address else _looked_for(baud, {board.address for board in loaded.boards})
    entry = f'[[board]]\nname = "{name}"\naddress = {json_text.dumps(str(found))}\n'
    for key, value in (("profile", profile), ("control", control), ("host_ip", host_ip)):
        entry += f"{key} = {json_text.dumps(value)}\n" if value else ""
    before = loaded.file.read_text(encoding="utf-8") if loaded.file.exists() else ""
    text = before + ("\n" if before else "") + entry
    written = inventories.parse(text, loaded.file).find(name)  # what is written can be read
    try:
        loaded.file.parent.mkdir(parents=True, exist_ok=True)
        loaded.file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InfrastructureError(f"cannot write {loaded.file}: {error.strerror}") from error
    _print(f"added {name}: {found}" + (f", as {profile}" if profile else "") + f", to {loaded.file}")
    if json is not None:
        output.write_json(json, {"file": str(loaded.file), "board": _row(written)})


def _asked(text: str) -> tuple[Address, str]:
    """The board at an address, which must answer; its profile, if one has its name."""
    from wizloop import boards
    from wizloop.dut.address import ModelAddress, SerialAddress, parse_address
    from wizloop.dut.device import open_device
    from wizloop.dut.serial_line import stable_name

    address = parse_address(text)
    if isinstance(address, ModelAddress):
        raise UsageError(f"{address} is always there, and needs no entry")
    with open_device(address) as device:
        who = device.board
    if isinstance(address, SerialAddress):
        address = SerialAddress(stable_name(address.port), address.baud)
    return address, who if who in boards.names() else ""


def _looked_for(baud: int, known: set[Address]) -> tuple[Address, str]:
    """The only board among the serial ports that is not in the inventory yet."""
    from serial.tools import list_ports

    from wizloop.dut.address import SerialAddress
    from wizloop.dut.serial_line import stable_name

    found, silent = [], []
    for port in list_ports.comports():
        if SerialAddress(stable_name(port.device), baud) in known:
            continue
        try:
            found.append(_asked(f"serial:{port.device}@{baud}"))
        except InfrastructureError as error:
            silent.append(f"{port.device}: {error}")
    if not found:
        there = "\n  ".join(silent) or "there is no serial port that is not in the inventory"
        raise NothingMeasured(f"no board answers at {baud} baud; give its address, or --baud\n  {there}")
    if len(found) > 1:
        raise UsageError(f"several boards answer, give the address of one: {', '.join(str(each) for each, _ in found)}")
    return found[0]
