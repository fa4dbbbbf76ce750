"""`digitalio` of CircuitPython: the pins that lead to SCSn, RSTn and INTn, and others that lead nowhere."""

from __future__ import annotations

import enum
from types import TracebackType
from typing import Self

from wizloop.circuitpython.machine import active
from wizloop.circuitpython.microcontroller import Pin
from wizloop.errors import UsageError
from wizloop.simulator import module


class Direction(enum.Enum):
    INPUT = "INPUT"
    OUTPUT = "OUTPUT"


class DriveMode(enum.Enum):
    PUSH_PULL = "PUSH_PULL"
    OPEN_DRAIN = "OPEN_DRAIN"


class Pull(enum.Enum):
    UP = "UP"
    DOWN = "DOWN"


class DigitalInOut(module().DigitalPin):  # type: ignore[misc]
    """An input without a pull at first. Let go, SCSn and RSTn are high: the chip pulls them up (datasheet 1.1).

    `value`, which a driver sets in each frame, is harness/binding/circuitpython.cpp.
    """

    def __init__(self, pin: Pin) -> None:
        machine = active()
        super().__init__(machine.raw.handle, machine.call_ns, pin.signal)
        self._signal = pin.signal
        self._drive_mode = DriveMode.PUSH_PULL
        self._pull: Pull | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.deinit()

    def deinit(self) -> None:
        self.switch_to_input()

    def switch_to_output(self, value: bool = False, drive_mode: DriveMode = DriveMode.PUSH_PULL) -> None:
        if self._signal == "INTn":
            raise UsageError("INTn is an output of the chip: a board that drives it too shorts the two")
        self._is_output = True
        self._drive_mode = drive_mode
        self._drive(value)

    def switch_to_input(self, pull: Pull | None = None) -> None:
        self._set_pull(pull)
        self._let_go()

    @property
    def direction(self) -> Direction:
        return Direction.OUTPUT if self._is_output else Direction.INPUT

    @direction.setter
    def direction(self, direction: Direction) -> None:
        if direction is Direction.OUTPUT:
            self.switch_to_output()
        else:
            self.switch_to_input()

    @property
    def drive_mode(self) -> DriveMode:
        if not self._is_output:
            raise AttributeError("Drive mode not used when direction is input.")
        return self._drive_mode

    @drive_mode.setter
    def drive_mode(self, drive_mode: DriveMode) -> None:
        if not self._is_output:
            raise AttributeError("Drive mode not used when direction is input.")
        self._drive_mode = drive_mode

    @property
    def pull(self) -> Pull | None:
        if self._is_output:
            raise AttributeError("Pull not used when direction is output.")
        return self._pull

    @pull.setter
    def pull(self, pull: Pull | None) -> None:
        if self._is_output:
            raise AttributeError("Pull not used when direction is output.")
        self._set_pull(pull)

    def _set_pull(self, pull: Pull | None) -> None:
        self._pull = pull
        self._is_pulled_up = pull is Pull.UP
