"""What stands around a board besides its line: power, reset button, network cable. Each may be missing.

A control does not wait for the board; whoever uses it does.
"""

from __future__ import annotations

from typing import Any, Protocol

PS_PER_S = 10**12


class Power(Protocol):
    def cycle(self, off_s: float) -> None:
        """Off now, and on again after so long."""


class Button(Protocol):
    def press(self) -> None: ...


class Cable(Protocol):
    def plug(self, plugged: bool) -> None: ...


class ModelSurroundings:
    """Power, button and cable of a board in this process."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def cycle(self, off_s: float) -> None:
        self._raw.cycle_power(round(off_s * PS_PER_S))

    def press(self) -> None:
        self._raw.reset()

    def plug(self, plugged: bool) -> None:
        self._raw.plug(plugged)
