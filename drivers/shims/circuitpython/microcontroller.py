"""`microcontroller` of CircuitPython, as far as drivers want it: pins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pin:
    """A pin of the board and the signal of the chip that it leads to, if any."""

    name: str
    signal: str | None = None
