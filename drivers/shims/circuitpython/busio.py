"""`busio` of CircuitPython: the SPI bus that leads to the chip."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from wizloop.circuitpython.machine import active
from wizloop.circuitpython.microcontroller import Pin

Buffer = bytes | bytearray | memoryview


class SPI:
    """All buses are the chip's: a driver decides by chip select whom it talks to."""

    def __init__(self, clock: Pin, MOSI: Pin | None = None, MISO: Pin | None = None, half_duplex: bool = False) -> None:
        if half_duplex:
            raise NotImplementedError("half_duplex: a W5500 has MOSI and MISO apart")
        self._machine = active()
        self._raw = self._machine.raw
        self._locked = False
        self._set_clock(250_000, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.deinit()

    def deinit(self) -> None:
        self._locked = False

    def try_lock(self) -> bool:
        self._machine.charge()
        if self._locked:
            return False
        self._locked = True
        return True

    def unlock(self) -> None:
        self._locked = False

    @property
    def frequency(self) -> int:
        return self._clock[0]

    def configure(self, *, baudrate: int = 100_000, polarity: int = 0, phase: int = 0, bits: int = 8) -> None:
        self._begin()
        if polarity not in (0, 1) or phase not in (0, 1):
            raise ValueError(f"polarity {polarity} and phase {phase}, expected 0 or 1")
        if bits != 8:
            raise ValueError(f"{bits} bits, expected 8")
        if (baudrate, 2 * polarity + phase) != self._clock:
            self._set_clock(baudrate, 2 * polarity + phase)

    def write(self, buffer: Buffer, *, start: int = 0, end: int = sys.maxsize) -> None:
        self._begin()
        self._raw.spi_write(_part(buffer, start, end))

    def readinto(
        self, buffer: bytearray | memoryview, *, start: int = 0, end: int = sys.maxsize, write_value: int = 0
    ) -> None:
        self._begin()
        self._raw.spi_read(_part(buffer, start, end), write_value)

    def write_readinto(
        self,
        out_buffer: Buffer,
        in_buffer: bytearray | memoryview,
        *,
        out_start: int = 0,
        out_end: int = sys.maxsize,
        in_start: int = 0,
        in_end: int = sys.maxsize,
    ) -> None:
        self._begin()
        self._raw.spi_exchange(_part(out_buffer, out_start, out_end), _part(in_buffer, in_start, in_end))

    def _begin(self) -> None:
        if not self._locked:
            raise RuntimeError("Function requires lock")
        self._machine.charge()

    def _set_clock(self, hz: int, mode: int) -> None:
        self._raw.spi_clock(hz, mode)
        self._clock = (hz, mode)


def _part(buffer: Buffer, start: int, end: int) -> Buffer:
    if start == 0 and end == sys.maxsize:
        return buffer
    return memoryview(buffer).cast("B")[start:end]
