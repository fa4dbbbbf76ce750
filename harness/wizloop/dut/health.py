"""Whether a board of the inventory can be worked with: a probe that changes nothing but its chip's sockets.

health = check(inventory.load().find("b1"))
assert health.ok, health.said
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from wizloop import boards
from wizloop.dut.agent import VerbFailed
from wizloop.dut.device import Device
from wizloop.dut.host import Host
from wizloop.dut.inventory import Board, open_board
from wizloop.errors import WizloopError

LINK_WAIT_MS = 5000


@dataclass(frozen=True)
class Health:
    name: str
    ok: bool
    said: str  # what is wrong; of a healthy board, who it is
    wall_s: float
    link: str = ""  # "100 Mbit/s full", "down"; empty: not asked
    offers: tuple[str, ...] = ()  # what tests may need


def check(board: Board) -> Health:
    """Never raises for what may be wrong with a board."""
    started = time.monotonic()
    host = Host()
    try:
        with open_board(board, host) as device:
            said, link = probe(device)
            ok, offers = not said, tuple(sorted(device.offers()))
            who = f"{device.board}, firmware {device.hello.get('fw', '?')}"
            if device.profile not in ("", device.board):
                who += f", taken for {device.profile}"
    except WizloopError as error:
        return Health(board.name, False, str(error), time.monotonic() - started)
    finally:
        host.close()
    return Health(board.name, ok, said or who, time.monotonic() - started, link, offers)


def probe(device: Device) -> tuple[str, str]:
    """What is wrong, or nothing; and the link."""
    try:
        device.ask("reset")
        if device.ask("hello")["chip"] != "W5500":
            return "its firmware finds no W5500", ""
        if device.board != device.profile and device.profile and device.board in boards.names():
            return f"it says that it is {device.board}, and the inventory has profile = {device.profile!r}", ""
        for path in device.paths:
            device.ask("path", p=path)
            version = device.ask("reg", block="common", offset="0x39")["data"]
            if version != "04":
                return f"VERSIONR reads {version} by the {path} path, expected 04", ""
        link = device.ask("link", wait_ms=LINK_WAIT_MS)
    except VerbFailed as error:
        return str(error), ""
    if link["up"] != "1":
        return "its link is down: is the cable in?", "down"
    return "", f"{link['mbit_s']} Mbit/s {link['duplex']}"
