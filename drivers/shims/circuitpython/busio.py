"""`busio` of CircuitPython: the SPI bus that leads to the chip."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from wizloop.circuitpython.machine import active
from wizloop.circuitpython.microcontroller import Pin
from wizloop.simulator import module


class SPI(module().SpiBus):  # type: ignore[misc]
    """All buses are the chip's: a driver decides by chip select whom it talks to.

    try_lock(), unlock(), configure(), frequency, write(), readinto() and write_readinto(), which a driver calls in each
    frame, are harness/binding/circuitpython.cpp.
    """

    def __init__(self, clock: Pin, MOSI: Pin | None = None, MISO: Pin | None = None, half_duplex: bool = False) -> None:
        if half_duplex:
            raise NotImplementedError("half_duplex: a W5500 has MOSI and MISO apart")
        machine = active()
        super().__init__(machine.raw.handle, machine.call_ns)
        self._set_clock(250_000, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.deinit()

    def deinit(self) -> None:
        self.unlock()
