"""The boards of a test session: opened when first needed, made ready for each test, closed at the end.

On the model each test gets a board of its own, fresh from the factory: what one leaves behind never reaches the next. A
real board is opened once and made ready again before each test.
"""

from __future__ import annotations

from pathlib import Path

from wizloop.dut import inventory
from wizloop.dut.address import ModelAddress, is_name, parse_address
from wizloop.dut.device import Device, open_device
from wizloop.dut.host import Host
from wizloop.dut.host_peer import HostPeer
from wizloop.dut.inventory import Board
from wizloop.dut.peers import ModelPeer, Peer


class Stands:
    def __init__(self, inventory_file: str | None, seed: int) -> None:
        self._file = None if inventory_file is None else Path(inventory_file)
        self._seed = seed
        self._host = Host()
        self._open: dict[str, Device] = {}

    def lend(self, text: str) -> Device:
        """The board with that address or name, in a known state."""
        board = self._board(text)
        if isinstance(board.address, ModelAddress):
            self._open[text] = open_device(board.address, name=text, seed=self._seed)
            return self._open[text]
        if text not in self._open:
            self._open[text] = open_board(board, self._host)
        device = self._open[text]
        make_ready(device)
        return device

    def _board(self, text: str) -> Board:
        if is_name(text):
            return inventory.load(self._file).find(text)
        address = parse_address(text)
        if isinstance(address, ModelAddress):
            return Board(text, address)
        return inventory.load(self._file).of_address(address) or Board(text, address)

    def give_back(self, text: str) -> None:
        device = self._open.get(text)
        if device is not None and device.virtual:
            del self._open[text]
            device.close()

    def peer_of(self, device: Device) -> Peer:
        return ModelPeer(device) if device.virtual else HostPeer(device, self._host)

    def close(self) -> None:
        while self._open:
            _, device = self._open.popitem()
            device.close()
        self._host.close()


def open_board(board: Board, host: Host) -> Device:
    """A board of the inventory, on its line."""
    return open_device(
        board.address,
        host,
        name=board.name,
        surroundings=board.surroundings,
        serial=board.serial,
        scale=board.slowness,
    )


def make_ready(device: Device) -> None:
    """As after power-up, without switching it off: in step, its cable in, its chip reset."""
    device.resync()
    if device.surroundings.cable is not None:
        device.replug()
    device.ask("reset")
    device.ask("path", p=device.paths[-1], intn=0)
    device.agent.forget()
