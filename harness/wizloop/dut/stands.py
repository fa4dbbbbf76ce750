"""The boards of a test session: opened when first needed, made ready for each test, closed at the end.

On the model each test gets a board of its own, fresh from the factory: what one leaves behind never reaches the next. A
real board is opened once and made ready again before each test.
"""

from __future__ import annotations

from wizloop.dut import address
from wizloop.dut.address import ModelAddress
from wizloop.dut.device import Device, open_device
from wizloop.dut.host import Host
from wizloop.dut.peers import ModelPeer, Peer


class Stands:
    def __init__(self, inventory: str | None, seed: int) -> None:
        self._inventory = inventory
        self._seed = seed
        self._host = Host()
        self._open: dict[str, Device] = {}

    def lend(self, text: str) -> Device:
        """The board with that address, in a known state."""
        parsed = address.parse_address(text)
        if isinstance(parsed, ModelAddress):
            self._open[text] = open_device(parsed, name=text, seed=self._seed)
            return self._open[text]
        if text not in self._open:
            self._open[text] = open_device(parsed, self._host, name=text)
        device = self._open[text]
        make_ready(device)
        return device

    def give_back(self, text: str) -> None:
        device = self._open.get(text)
        if device is not None and device.virtual:
            del self._open[text]
            device.close()

    def close(self) -> None:
        while self._open:
            _, device = self._open.popitem()
            device.close()
        self._host.close()


def make_ready(device: Device) -> None:
    """As after power-up, without switching it off: in step, its chip reset, its cable in."""
    device.resync()
    device.ask("reset")
    device.ask("path", p=device.paths[-1], intn=0)
    device.agent.forget()


def peer_of(device: Device) -> Peer:
    return ModelPeer(device)
