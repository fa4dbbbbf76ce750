"""The boards there are: one TOML file, `[[board]]` for each.

    [[board]]
    name = "b1"
    address = "serial:usb:A5069RR4@1000000"     # a name that stays, not /dev/ttyUSB0
    profile = "w55rp20"                         # its board file: what the model predicts for it
    power = { off = "uhubctl -l 1-1 -p 2 -a off", on = "uhubctl -l 1-1 -p 2 -a on" }
    cable = { unplug = "http://relay/off?3", replug = "http://relay/on?3" }
    host_ip = "192.168.1.10"                    # by which it reaches this machine
    reachable = true                            # this machine opens connections to it

KEYS has each key with its form. A mistake is told with file, board, key, and what
was expected.
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wizloop import boards as board_files
from wizloop.dut.address import Address, LabgridAddress, SerialAddress, is_name, is_pool, is_virtual, parse_address
from wizloop.dut.controls import PlaceControl, ServedBoard, SwitchedButton, SwitchedCable, SwitchedPower
from wizloop.dut.device import Device, Surroundings, open_device
from wizloop.dut.host import Host
from wizloop.dut.lease import Lease
from wizloop.dut.serial_line import NoSuchPort, SerialOptions, device_of
from wizloop.errors import InfrastructureError, NothingMeasured, UsageError
from wizloop.host_port import split_host_port
from wizloop.simulator import near

VARIABLE = "WIZLOOP_INVENTORY"

# Each key of a board with what it is, for messages.
KEYS: Mapping[str, str] = {
    "name": "letters, digits, '-', '_' and '.'",
    "address": "serial:PORT[@BAUD], tcp:HOST:PORT or labgrid:PLACE",
    "profile": "the name of a board file, which the board's firmware has too",
    "dtr": "true or false: the level of DTR",
    "rts": "true or false: the level of RTS",
    "slowness": "a number from 0.1 to 1000: how much longer it may take than a fast board",
    "control": "HOST:PORT of the control port of `wizloop serve`",
    "power": 'a table { off = "...", on = "..." } of shell commands or http:// addresses, or "labgrid": its power port',
    "reset": 'a table { press = "..." } of a shell command or http:// address, or "labgrid": its output named reset',
    "cable": 'a table { unplug = "...", replug = "..." } of shell commands or http:// addresses, or "labgrid": its '
    "output named cable",
    "host_ip": "the IPv4 address by which the board reaches this machine",
    "reachable": "true or false: this machine opens connections to the board's own address",
    "forwards": 'a list of "tcp:BOARD_PORT=HOST:PORT" or "udp:...": where ports of the board are found',
    "dhcp": "true or false: a server gives addresses on its network",
    "lan": "true or false: it shares an Ethernet with this machine, which may serve its DHCP and DNS",
}
LABGRID = "labgrid"
ACTIONS: Mapping[str, tuple[str, ...]] = {"power": ("off", "on"), "reset": ("press",), "cable": ("unplug", "replug")}


@dataclass(frozen=True)
class Board:
    name: str
    address: Address
    profile: str = ""
    slowness: float = 3.0
    serial: SerialOptions = SerialOptions()
    surroundings: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True)
class Inventory:
    file: Path
    boards: tuple[Board, ...]

    def find(self, name: str) -> Board:
        for board in self.boards:
            if board.name == name:
                return board
        if not is_name(name):
            raise UsageError(self._no_name(name))
        names = [board.name for board in self.boards]
        there = ", ".join(names) or "none"
        raise NothingMeasured(f"{self.file} has no board '{name}'{near(name, names)}: it has {there}")

    def _no_name(self, address: str) -> str:
        """What to say of an address where a name belongs."""
        if named := self.of_address(parse_address(address)):
            return f"'{address}' is an address, expected the name of a board: that one is {named.name}"
        names = ", ".join(board.name for board in self.boards)
        there = f"{names}, none of them at that address" if names else "none"
        return (
            f"'{address}' is an address, expected the name of a board: {self.file} has {there}; "
            f"`wizloop test --dut {address} -- -k bringup` asks a board by its address"
        )

    def of_address(self, address: Address) -> Board | None:
        """What the inventory says of a board that was given by its address. Of a serial port any name will do."""
        for board in self.boards:
            if board.address == address:
                return board
        if not isinstance(address, SerialAddress) or (device := _device_of(address)) is None:
            return None
        return next((board for board in self.boards if _device_of(board.address) == device), None)

    def name_of(self, text: str) -> str:
        """The name of a board that is given by its address and has an entry; any other stays what it is called."""
        if is_name(text) or is_virtual(text):
            return text
        board = self.of_address(parse_address(text))
        return text if board is None else board.name


def _device_of(address: Address) -> Path | None:
    """Of a serial port that is there."""
    if not isinstance(address, SerialAddress):
        return None
    try:
        return device_of(address.port)
    except (NoSuchPort, UsageError):
        return None


def default_file() -> Path:
    """WIZLOOP_INVENTORY, or a file of the user's own."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    settings = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(settings) / "wizloop" / "boards.toml"


def load(file: Path | None = None) -> Inventory:
    """That file; the default one may be missing, which is an inventory without boards."""
    path = file or default_file()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if file is None and VARIABLE not in os.environ:
            return Inventory(path, ())
        raise UsageError(f"there is no inventory {path}") from None
    except (IsADirectoryError, NotADirectoryError) as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not a TOML file, for it is not UTF-8: {error}") from error
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error}") from error
    return parse(text, path)


def parse(text: str, file: Path) -> Inventory:
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}") from error
    tables = raw.pop("board", [])
    if isinstance(tables, dict):
        raise UsageError(f"{file}: [board] is not expected, each board is a table [[board]]: with two brackets")
    if raw or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{file}: {', '.join(raw) or 'board'} is not expected, only [[board]] tables are")
    boards: list[Board] = []
    for number, table in enumerate(tables, 1):
        board = _board(table, f"{file}: board {table.get('name', number)}")
        if any(other.name == board.name for other in boards):
            raise UsageError(f"{file}: there are two boards {board.name}")
        if twin := next((other for other in boards if _place_of(other) == _place_of(board)), None):
            raise UsageError(f"{file}: boards {twin.name} and {board.name} are one, for both are at {_place_of(board)}")
        boards.append(board)
    return Inventory(file, tuple(boards))


def _place_of(board: Board) -> str:
    """Where it is, however fast one speaks to it."""
    return f"serial:{board.address.port}" if isinstance(board.address, SerialAddress) else str(board.address)


class _Table:
    """One board's table; says what is wrong with a key."""

    def __init__(self, raw: Mapping[str, Any], where: str) -> None:
        self._raw = raw
        self._where = where
        for key in raw:
            if key not in KEYS:
                raise UsageError(f"{where}: unknown key {key}{near(key, list(KEYS))}, expected {', '.join(KEYS)}")

    def wrong(self, key: str) -> UsageError:
        return UsageError(f"{self._where}: {key} = {self._raw.get(key)!r}, expected {KEYS[key]}")

    def text(self, key: str, default: str | None = "") -> str:
        value = self._raw.get(key, default)
        if not isinstance(value, str) or (default is None and not value):
            raise self.wrong(key)
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._raw.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key)
        return value

    def number(self, key: str, default: float, least: float, most: float) -> float:
        value = self._raw.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.wrong(key)
        return float(value)

    def is_labgrids(self, key: str) -> bool:
        return self._raw.get(key) == LABGRID

    def actions(self, key: str) -> tuple[str, ...] | None:
        value = self._raw.get(key)
        if value is None or self.is_labgrids(key):
            return None
        wanted = ACTIONS[key]
        if not isinstance(value, dict) or value.keys() != set(wanted):
            raise self.wrong(key)
        if not all(isinstance(value[action], str) and value[action] for action in wanted):
            raise self.wrong(key)
        return tuple(value[action] for action in wanted)

    def forwards(self) -> dict[tuple[str, int], tuple[str, int]]:
        value = self._raw.get("forwards", [])
        if not isinstance(value, list):
            raise self.wrong("forwards")
        return dict(self._forward(each) for each in value)

    def _forward(self, text: object) -> tuple[tuple[str, int], tuple[str, int]]:
        left, _, right = str(text).partition("=")
        protocol, _, port = left.partition(":")
        inner = split_host_port(f":{port}")
        outer = split_host_port(right)
        if protocol not in ("tcp", "udp") or not inner or not inner[1] or not outer or not all(outer):
            raise self.wrong("forwards")
        return (protocol, inner[1]), outer


def _board(raw: Mapping[str, Any], where: str) -> Board:
    table = _Table(raw, where)
    name = table.text("name", None)
    if not all(char.isascii() and (char.isalnum() or char in "-_.") for char in name):
        raise table.wrong("name")
    try:
        address = parse_address(table.text("address", None))
    except (UsageError, NothingMeasured) as error:
        raise UsageError(f"{where}: address: {error}") from error
    if is_pool(str(address)):
        raise UsageError(f"{where}: address: {address} stands for several boards, expected labgrid:PLACE")
    if not isinstance(address, SerialAddress) and ("dtr" in raw or "rts" in raw):
        raise UsageError(f"{where}: dtr and rts are levels of a serial port, and {address} is none")
    return Board(
        name=name,
        address=address,
        profile=_profile(table, where),
        slowness=table.number("slowness", 3.0, 0.1, 1000),
        serial=SerialOptions(dtr=table.flag("dtr", True), rts=table.flag("rts", True)),
        surroundings=_surroundings(table, name, address, where),
    )


def _profile(table: _Table, where: str) -> str:
    profile = table.text("profile")
    if not profile:
        return ""
    try:
        return board_files.find(profile).stem
    except (UsageError, NothingMeasured) as error:
        raise UsageError(f"{where}: profile: {error}") from error


def _surroundings(table: _Table, name: str, address: Address, where: str) -> Surroundings:
    served = _served(table, name)
    place = PlaceControl(address.place) if isinstance(address, LabgridAddress) else None
    for key in ACTIONS:
        if table.is_labgrids(key) and place is None:
            raise UsageError(f"{where}: {key}: labgrid switches what belongs to a place, and {address} is none")
    power, reset, cable = table.actions("power"), table.actions("reset"), table.actions("cable")
    host_ip = table.text("host_ip")
    if host_ip and not _is_address(host_ip):
        raise table.wrong("host_ip")
    return Surroundings(
        power=SwitchedPower(off=power[0], on=power[1]) if power else place if table.is_labgrids("power") else served,
        button=SwitchedButton(*reset) if reset else place if table.is_labgrids("reset") else served,
        cable=SwitchedCable(*cable) if cable else place if table.is_labgrids("cable") else served,
        host_ip=host_ip,
        forwards=table.forwards() or None,
        reachable=table.flag("reachable", False),
        dhcp=table.flag("dhcp", False),
        lan=table.flag("lan", False),
    )


def _served(table: _Table, name: str) -> ServedBoard | None:
    control = table.text("control")
    if not control:
        return None
    host, port = split_host_port(control) or ("", 0)
    if not host or port == 0:
        raise table.wrong("control")
    return ServedBoard(host, port, name)


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def open_board(board: Board, host: Host, greeted: bool = True, lease: Lease | None = None) -> Device:
    """A board of the inventory, on its line."""
    device = open_device(
        board.address,
        host,
        name=board.name,
        surroundings=board.surroundings,
        serial=board.serial,
        scale=board.slowness,
        greeted=greeted,
        lease=lease,
    )
    device.profile = board.profile
    return device
