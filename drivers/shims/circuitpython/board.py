"""`board` of CircuitPython: every name is a pin; those in the `pins` of the active CircuitPython lead to the chip."""

from __future__ import annotations

from wizloop.circuitpython.busio import SPI as Bus
from wizloop.circuitpython.machine import active
from wizloop.circuitpython.microcontroller import Pin


def SPI() -> Bus:
    """The board's own bus, the same at each call."""
    return active().spi


def __getattr__(name: str) -> Pin:
    if name.startswith("_"):
        raise AttributeError(f"module 'board' has no attribute '{name}'")
    return Pin(name, active().pins.get(name))
