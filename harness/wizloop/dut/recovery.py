"""Making a board ready for a test, whatever the test before has left behind: a ladder of means, the mildest first.

    taken = recovery.make_ready(device)    # ("resync",) on a good day

resync, the reset on its DTR line, its reset button, its power. A board that none of them brings back is lost, and
BoardLost says what each rung came to. One that somebody else talks to is not ill: PortBusy names who, and it is left alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from wizloop.dut.agent import VerbFailed
from wizloop.dut.device import BOOT_S, Device
from wizloop.dut.locks import PortBusy
from wizloop.dut.serial_line import SerialLine
from wizloop.errors import InfrastructureError

ADDRESSES = ("mac", "ip", "mask", "gw")
SN_SR = "0x03"
LOOK_S = 2.0
OFF_S = 2.0  # until capacitors are empty


class BoardLost(InfrastructureError):
    """No means at hand brings the board back."""


def make_ready(device: Device) -> tuple[str, ...]:
    """As after power-up; the rungs that it took."""
    taken: list[str] = []
    failures: list[str] = []
    for name, climb in rungs(device):
        taken.append(name)
        try:
            climb()
            _settle(device)
        except PortBusy:
            raise
        except (InfrastructureError, VerbFailed) as error:
            failures.append(f"{name}: {error}")
        else:
            return tuple(taken)
    raise BoardLost(f"{device.name} is lost\n  " + "\n  ".join(failures))


def rungs(device: Device) -> Iterator[tuple[str, Callable[[], object]]]:
    """What there is for this board."""
    yield "resync", lambda: None
    line = device.line
    if isinstance(line, SerialLine):
        yield "DTR reset", lambda: _listen_after(device, line.pulse_dtr)
    if device.surroundings.button is not None:
        yield "reset button", device.press_reset
    if device.surroundings.power is not None:
        yield "power cycle", lambda: device.cycle_power(OFF_S)


def _listen_after(device: Device, act: Callable[[], None]) -> None:
    """A board without a reset on DTR says nothing, which the next look finds out."""
    act()
    with contextlib.suppress(InfrastructureError):
        device.wait_for_event("hello", BOOT_S / 5)


def _settle(device: Device) -> None:
    """In step, its cable in, its chip as after a reset, its addresses those of the first time, on its fastest path."""
    device.resync()
    if device.surroundings.cable is not None:
        device.replug()
    if device.suspect or not _as_after_a_reset(device):
        device.ask("reset")
    told = device.ask("net").fields
    addresses = {key: told[key] for key in ADDRESSES if key in told}
    device.home = device.home or addresses
    if addresses != device.home:
        device.ask("net", within=None, **device.home)
    device.ask("path", p=device.paths[-1], intn=0)
    device.suspect = False
    device.agent.forget()


def _as_after_a_reset(device: Device) -> bool:
    """A reset costs two seconds until the link is up again: it is left out where it would change nothing."""
    if device.ask("link", within=LOOK_S).fields.get("phycfgr") != "BF":  # up, by negotiation
        return False
    net = device.ask("net").fields
    if (net.get("rtr_us"), net.get("rcr")) != ("200000", "8"):
        return False
    return all(device.ask("reg", block=f"s{socket}", offset=SN_SR)["data"] == "00" for socket in range(8))
