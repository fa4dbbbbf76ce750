"""The boards of a test session: opened when first needed, made ready for each test, closed at the end.

On the model each test gets a board of its own, fresh from the factory: what one leaves behind never reaches the next. A
real board is opened once and made ready again before each test.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from pathlib import Path

from wizloop.dut import inventory, ledger, quarantine, recovery
from wizloop.dut.address import ModelAddress, is_name, parse_address
from wizloop.dut.device import Device, open_device
from wizloop.dut.host import Host
from wizloop.dut.host_peer import HostPeer
from wizloop.dut.inventory import Board
from wizloop.dut.ledger import Line
from wizloop.dut.peers import ModelPeer, Peer
from wizloop.dut.quarantine import Quarantine
from wizloop.dut.recovery import BoardLost
from wizloop.results.recording import here


class Stands:
    def __init__(self, inventory_file: str | None, seed: int) -> None:
        self._file = None if inventory_file is None else Path(inventory_file)
        self._seed = seed
        self._host = Host()
        self._open: dict[str, Device] = {}
        self._lost: dict[str, BoardLost] = {}
        self._had_its_chance: set[str] = set()

    def lend(self, text: str) -> Device:
        """The board with that address or name, in a known state."""
        board = self._board(text)
        if isinstance(board.address, ModelAddress):
            self._open[text] = open_device(board.address, name=text, seed=self._seed)
            return self._open[text]
        if text in self._lost:  # what has been tried is not tried again for each test
            raise self._lost[text]
        if text not in self._open:
            self._open[text] = open_board(board, self._host, greeted=False)
        device = self._open[text]
        try:
            device.recovered = recovery.make_ready(device)[1:]
        except BoardLost as error:
            self._lost[text] = error
            if is_name(text):
                quarantine.add_board(self.quarantine().file, text, str(error), datetime.date.today())
            raise
        return device

    def quarantine(self) -> Quarantine:
        """What is left out, for now."""
        return quarantine.load(inventory.load(self._file).file.with_name(quarantine.NAME))

    def write_ledger(self, outcomes: Iterable[tuple[str, str, str]]) -> None:
        """Those of boards that the inventory knows by name."""
        known = inventory.load(self._file)
        names = {board.name for board in known.boards}
        at, commit = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), here().commit
        lines = [Line(at, board, test, outcome, commit) for board, test, outcome in outcomes if board in names]
        ledger.append(known.file.with_name(ledger.NAME), lines)

    def try_again(self, text: str) -> bool:
        """Forgets that the board is lost, so that it may be lent again; once, and False from then on."""
        if text in self._had_its_chance:
            return False
        self._had_its_chance.add(text)
        self.leave(text)
        self._lost.pop(text, None)
        if is_name(text):
            quarantine.release(self.quarantine().file, text, owner=quarantine.SELF)
        return True

    def leave(self, text: str) -> None:
        """Lets go of its line, for another program, until it is lent again."""
        device = self._open.pop(text, None)
        if device is not None:
            device.close()

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


def open_board(board: Board, host: Host, greeted: bool = True) -> Device:
    """A board of the inventory, on its line."""
    return open_device(
        board.address,
        host,
        name=board.name,
        surroundings=board.surroundings,
        serial=board.serial,
        scale=board.slowness,
        greeted=greeted,
    )
