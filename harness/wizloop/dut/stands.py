"""The boards of a test session: opened when first needed, made ready for each test, closed at the end.

On the model each test gets a board of its own, fresh from the factory: what one leaves behind never reaches the next. A
real board is opened once and made ready again before each test. One of labgrid is leased, and probed before it is handed
to the first test; of a pool, another one takes its place where it is not well. A lease that is lost is told by the test
that ran meanwhile, and taken anew for the next.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable
from pathlib import Path

from wizloop.dut import health, inventory, ledger, quarantine, recovery
from wizloop.dut.address import LabgridAddress, ModelAddress, is_name, parse_address
from wizloop.dut.agent import VerbFailed
from wizloop.dut.device import Device, open_device
from wizloop.dut.host import Host
from wizloop.dut.host_peer import HostPeer
from wizloop.dut.inventory import Board, open_board
from wizloop.dut.lease import WAIT_S, Lease, LeaseLost, LeaseRefused
from wizloop.dut.ledger import Line
from wizloop.dut.locks import PortBusy
from wizloop.dut.peers import ModelPeer, Peer
from wizloop.dut.quarantine import Quarantine
from wizloop.dut.recovery import BoardLost
from wizloop.errors import InfrastructureError, NothingMeasured, WizloopError
from wizloop.results.recording import here


class Stands:
    def __init__(self, inventory_file: str | None, seed: int, wait_s: float = WAIT_S) -> None:
        self._file = None if inventory_file is None else Path(inventory_file)
        self._seed = seed
        self._wait_s = wait_s
        self._host = Host()
        self._open: dict[str, Device] = {}
        self._leases: dict[str, Lease] = {}
        self._leased_before: set[str] = set()
        self._lost: dict[str, WizloopError] = {}
        self._been_open: set[str] = set()
        self._unfit: dict[str, str] = {}  # places of pools, with the reason
        self._had_its_chance: set[str] = set()

    def lend(self, text: str) -> Device:
        """The board with that address or name, in a known state."""
        board = self._board(text)
        if isinstance(board.address, ModelAddress):
            self._open[text] = open_device(board.address, name=text, seed=self._seed)
            return self._open[text]
        if text in self._lost:  # what has been tried is not tried again for each test
            raise self._lost[text].with_traceback(None)  # or it would grow with each test
        try:
            if isinstance(board.address, LabgridAddress):
                return self._lend_leased(text, board, board.address)
            return self._lend_own(text, board)
        except LeaseLost:
            raise
        except (BoardLost, LeaseRefused, NotWell, NothingMeasured) as error:
            self._lost[text] = error
            raise

    def _lend_own(self, text: str, board: Board) -> Device:
        if text not in self._open:
            try:
                self._open[text] = open_board(board, self._host, greeted=False)
            except PortBusy:
                raise
            except InfrastructureError as error:
                if text not in self._been_open:  # one that was there may be on its way back
                    self._lost[text] = error
                raise
            self._been_open.add(text)
        device = self._open[text]
        try:
            device.recovered = recovery.make_ready(device)[1:]
        except BoardLost as error:
            self._put_into_quarantine(device.name, error)
            raise
        return device

    def _put_into_quarantine(self, name: str, why: InfrastructureError) -> None:
        if is_name(name):
            quarantine.add_board(self.quarantine().file, name, str(why), datetime.date.today())

    # Boards of labgrid.

    def _lend_leased(self, text: str, named: Board, address: LabgridAddress) -> Device:
        """Of a pool, the next board until one is well."""
        told: tuple[str, ...] = ()
        if text in self._leases and (why := self._leases[text].lost()):  # between two tests: it has hurt none
            told = (f"{self._open[text].name} leased anew, because {why}",)
            self._close(text)
        while True:
            fresh = text not in self._open
            if fresh:
                self._lease(text, named, address)
            device = self._open[text]
            try:
                taken = recovery.make_ready(device)[1:]
                if fresh:
                    self._probe(device)
                    taken += recovery.make_ready(device)[1:]
            except (BoardLost, NotWell, PortBusy) as error:
                place = self._leases[text].place
                if why := self._leases[text].lost():
                    self._close(text)
                    raise LeaseLost(f"{text}: {why}") from error
                if isinstance(error, BoardLost):
                    self._put_into_quarantine(device.name, error)
                self._close(text)
                if address.place:
                    raise
                self._unfit[place] = str(error)
                told += (f"another in place of {device.name}: {error}",)
                continue
            device.recovered = told + taken
            return device

    def _lease(self, text: str, named: Board, address: LabgridAddress) -> None:
        """Opens a board whose place is leased; of a pool, one that is not in quarantine."""
        while True:
            unfit = {} if address.place else self._unfit
            try:
                lease = Lease(address, self._wait_s, unfit, again=text in self._leased_before)
            except LeaseRefused as error:
                raise LeaseRefused("\n  ".join([str(error), *unfit.values()])) from error
            self._leased_before.add(text)
            board = named
            if not address.place:
                place = LabgridAddress(lease.place)
                board = inventory.load(self._file).of_address(place) or Board(str(place), place)
                if entry := self.quarantine().of_board(board.name):
                    self._unfit[lease.place] = str(entry)
                    lease.release()
                    continue
            try:
                self._open[text] = open_board(board, self._host, greeted=False, lease=lease)
            except InfrastructureError as error:
                if address.place:
                    raise
                self._unfit[lease.place] = f"{board.name} is not well: {error}"
                continue
            self._leases[text] = lease
            return

    def _probe(self, device: Device) -> None:
        try:
            said, _ = health.probe(device)
        except InfrastructureError as error:
            said = str(error)
        if said:
            raise NotWell(f"{device.name} is not well: {said}")

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

    def has_given_up(self, text: str) -> bool:
        """Whether each further test on it fails at once."""
        return text in self._lost

    def try_again(self, text: str) -> bool:
        """Forgets that the board is lost, so that it may be lent again; once, and False from then on."""
        if text in self._had_its_chance:
            return False
        self._had_its_chance.add(text)
        self.leave(text)
        self._lost.pop(text, None)
        if is_name(name := self._board(text).name):
            quarantine.release(self.quarantine().file, name, owner=quarantine.SELF)
        return True

    def leave(self, text: str) -> None:
        """Lets go of its line, for another program, until it is lent again."""
        if text in self._open:
            self._close(text)

    def _board(self, text: str) -> Board:
        if is_name(text):
            return inventory.load(self._file).find(text)
        address = parse_address(text)
        if isinstance(address, ModelAddress):
            return Board(text, address)
        return inventory.load(self._file).of_address(address) or Board(text, address)

    def give_back(self, text: str) -> None:
        """LeaseLost if the board may have been somebody else's meanwhile."""
        device = self._open.get(text)
        if device is not None and device.virtual:
            self._close(text)
        if text in self._leases and (why := self._leases[text].lost()):
            self._close(text)
            raise LeaseLost(f"{text}: {why}")

    def peer_of(self, device: Device) -> Peer:
        return ModelPeer(device) if device.virtual else HostPeer(device, self._host)

    def close(self) -> None:
        for text in list(self._open):
            try:
                self._close(text)
            except InfrastructureError as error:  # all tests are done, and the other boards are to be closed as well
                print(f"wizloop: {text}: {error}", file=sys.stderr)
        self._host.close()

    def _close(self, text: str) -> None:
        self._leases.pop(text, None)
        self._open.pop(text).close()


class NotWell(InfrastructureError):
    """A leased board whose probe fails."""
