"""Where a test runs: `model:BOARD`, `rtl:BOARD`, `serial:PORT[@BAUD]`, `tcp:HOST:PORT`, `labgrid:PLACE`, or the name of
a board of the inventory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizloop.errors import UsageError
from wizloop.host_port import split_host_port

BAUD = 115_200
BAUD_MAX = 20_000_000
LABGRID_FORMS = "labgrid:PLACE, labgrid:any or labgrid:TAG=VALUE[,TAG=VALUE...]"
FORMS = (
    f"model:BOARD, rtl:BOARD, serial:PORT[@BAUD], tcp:HOST:PORT, {LABGRID_FORMS}, or the name of a board of the inventory"
)
ANY = "any"
ANY_TAGS = (("agent", "wizloop"),)  # of a place whose board runs the agent of this project
TAG_KEY = re.compile(r"[a-z][a-z0-9_]+")  # as labgrid has it


@dataclass(frozen=True)
class ModelAddress:
    """A board file's name or path; the board runs in this process, in virtual time, behind either SPI front."""

    board: str
    front: str = "cpp"

    def __str__(self) -> str:
        return f"{'rtl' if self.front == 'rtl' else 'model'}:{self.board}"


@dataclass(frozen=True)
class SerialAddress:
    """By the port's device, or by a name that stays: /dev/serial/by-id/..., usb:SERIALNUMBER, usb-path:1-1.2."""

    port: str
    baud: int = BAUD

    def __str__(self) -> str:
        return f"serial:{self.port}@{self.baud}"


@dataclass(frozen=True)
class TcpAddress:
    host: str
    port: int
    telnet: bool = False  # a console server is there, which no address says but a place of labgrid does

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tcp:{host}:{self.port}"


@dataclass(frozen=True)
class LabgridAddress:
    """A place of a labgrid coordinator by its name, or any one that has these tags."""

    place: str
    tags: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        if self.tags == ANY_TAGS:
            return f"labgrid:{ANY}"
        return "labgrid:" + (self.place or ",".join(f"{key}={value}" for key, value in self.tags))


Address = ModelAddress | SerialAddress | TcpAddress | LabgridAddress


def is_name(text: str) -> bool:
    """Whether it is the name of a board and no address."""
    return ":" not in text


def is_virtual(text: str) -> bool:
    """Whether each test gets a board of its own, simulated in this process."""
    return text.startswith(("model:", "rtl:"))


def is_pool(text: str) -> bool:
    """Whether it stands for several boards, of which a worker gets one."""
    return text == f"labgrid:{ANY}" or (text.startswith("labgrid:") and "=" in text)


def parse_address(text: str) -> Address:
    """An address, or a UsageError that says what was expected."""
    kind, colon, rest = text.partition(":")
    if not colon or not rest:
        raise UsageError(f"'{text}' is no address of a device under test, expected {FORMS}")
    if kind == "model":
        return ModelAddress(rest)
    if kind == "serial":
        return _serial(text, rest)
    if kind == "tcp":
        return _tcp(text, rest)
    if kind == "rtl":
        return ModelAddress(rest, "rtl")
    if kind == "labgrid":
        return _labgrid(text, rest)
    raise UsageError(f"'{text}': unknown kind '{kind}', expected {FORMS}")


def _serial(text: str, rest: str) -> SerialAddress:
    port, at, baud = rest.rpartition("@")
    if not at:
        return SerialAddress(rest)
    if not (baud.isascii() and baud.isdigit() and 0 < int(baud) <= BAUD_MAX):
        raise UsageError(f"'{text}': the baud rate is '{baud}', expected 1 to {BAUD_MAX}")
    if not port:
        raise UsageError(f"'{text}' names no port, expected serial:PORT[@BAUD]")
    return SerialAddress(port, int(baud))


def _tcp(text: str, rest: str) -> TcpAddress:
    host, port = split_host_port(rest) or ("", 0)
    if port == 0:
        raise UsageError(f"'{text}': expected tcp:HOST:PORT with a port from 1 to 65535")
    return TcpAddress(host or "127.0.0.1", port)


def _labgrid(text: str, rest: str) -> LabgridAddress:
    if not is_pool(text):
        return LabgridAddress(rest)
    if rest == ANY:
        return LabgridAddress("", ANY_TAGS)
    tags = [pair.partition("=") for pair in rest.split(",")]
    for key, _, value in tags:
        if not TAG_KEY.fullmatch(key) or not value:
            raise UsageError(f"'{text}': expected {LABGRID_FORMS}; a tag is named with a-z, 0-9 and '_'")
    return LabgridAddress("", tuple((key, value) for key, _, value in tags))
