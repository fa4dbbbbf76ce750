"""What the bodies here share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from wizloop.dut.agent import VerbFailed
from wizloop.dut.device import Device

MSS = 1460  # of Ethernet without options, which the W5500 sends none of
SOCKET_BYTES = 2048  # of a socket's buffer each way, unless a verb says otherwise
BOUNDARIES = (1, MSS - 1, MSS, MSS + 1, SOCKET_BYTES - 1, SOCKET_BYTES, SOCKET_BYTES + 1, 3 * SOCKET_BYTES + 7)


def pattern(count: int, start: int = 0) -> bytes:
    """Byte i of a stream is i mod 256."""
    return bytes((start + i) & 0xFF for i in range(count))


def code_of(dut: Device, verb: str, **keys: object) -> str:
    """With what code the board refuses."""
    with pytest.raises(VerbFailed) as error:
        dut.ask(verb, **keys)
    return error.value.code


def nobody_near(dut: Device) -> str:
    """An address on its network that no station has."""
    return dut.ip.rpartition(".")[0] + ".250"


def poll(dut: Device, ready: Callable[[], bool], within: float = 5.0, step: float = 0.002) -> None:
    """Lets time pass on the board until something is so."""
    end = dut.now() + within * dut.agent.scale
    while not ready():
        assert dut.now() < end, "it did not become so in time"
        dut.run(step)


def use(dut: Device, path: str) -> None:
    """Takes this path to the chip from now on, if there is one."""
    if path not in dut.paths:
        pytest.skip(f"{dut.name} has no {path}: its firmware has no {path} path")
    dut.ask("path", p=path)
