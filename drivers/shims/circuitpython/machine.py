"""The microcontroller: what CircuitPython programs import, and the time that they live in, while it is active."""

from __future__ import annotations

import gc
import importlib.util
import random
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import ModuleType, TracebackType
from typing import Any, Self

from wizloop.chip import Testbed
from wizloop.circuitpython.clock import virtual_time
from wizloop.errors import UsageError

SIGNALS = ("SCSn", "RSTn", "INTn")

# Pins of `board` that lead to the chip: those of the Ethernet FeatherWing and of the W5500-EVB-Pico.
PINS = {"D10": "SCSn", "GP17": "SCSn", "GP20": "RSTn", "GP21": "INTn"}

_active: CircuitPython | None = None
_activation = threading.Lock()


class CircuitPython:
    """A context manager, active for one testbed at a time: time and modules belong to the whole process.

    pins: names in `board` that lead to SCSn, RSTn or INTn; every other name is a pin that leads nowhere.
    drivers: how the names of installed modules begin that are imported already and may have bound functions of `time` by
        name (`from time import sleep`); adafruit_*, a checkout, and what is imported meanwhile need not be named.
    call_us: what each call of the interpreter into `busio`, `digitalio` and `time` costs, beside the bytes themselves.
        The default is an estimate for an interpreter at some 100 MHz; no measurement is behind it.
    """

    def __init__(
        self,
        testbed: Testbed,
        *,
        pins: Mapping[str, str] = PINS,
        drivers: Sequence[str] = (),
        call_us: float = 10,
    ) -> None:
        for name, signal in pins.items():
            if signal not in SIGNALS:
                raise UsageError(f"pin {name} leads to '{signal}', expected one of {', '.join(SIGNALS)}")
        if not 0.001 <= call_us <= 1e6:
            raise UsageError(f"call_us is {call_us}, expected 0.001 to 1000000: at 0 a loop over the clock never ends")
        self.testbed = testbed
        self.raw: Any = testbed.raw
        self.pins = dict(pins)
        self.drivers = (*drivers, "adafruit_")
        self.call_ns = round(1000 * call_us)
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        global _active
        with _activation:
            if _active is not None:
                raise UsageError(
                    f"CircuitPython is active for testbed '{_active.testbed.name}', and for '{self.testbed.name}' it "
                    "cannot be before that has ended: time and modules of a process belong to one at a time"
                )
            _active = self
        with ExitStack() as undo:
            undo.callback(_end)
            undo.callback(random.setstate, random.getstate())
            random.seed(self.testbed.seed)
            # Drivers call gc.collect() as if only they were in memory: leave out of it what was there before them.
            if gc.get_freeze_count() == 0:
                gc.freeze()
                undo.callback(gc.unfreeze)
            undo.enter_context(virtual_time(self.testbed, self.call_ns, self.drivers))
            self._provide(undo)
            self._make_pins()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._undo.close()

    def _provide(self, undo: ExitStack) -> None:
        from wizloop.circuitpython import board, busio, digitalio, microcontroller, micropython

        for name, module in {
            "board": board,
            "busio": busio,
            "digitalio": digitalio,
            "microcontroller": microcontroller,
        }.items():
            _put(undo, name, module)
        if "micropython" not in sys.modules and importlib.util.find_spec("micropython") is None:
            _put(undo, "micropython", micropython)

    def _make_pins(self) -> None:
        """For programs that do not go by way of `board`."""
        from wizloop.circuitpython.busio import SPI
        from wizloop.circuitpython.digitalio import DigitalInOut
        from wizloop.circuitpython.microcontroller import Pin

        self.spi = SPI(Pin("SCK"), Pin("MOSI"), Pin("MISO"))
        self.cs = DigitalInOut(Pin("CS", "SCSn"))
        self.reset = DigitalInOut(Pin("RST", "RSTn"))
        self.interrupt = DigitalInOut(Pin("INT", "INTn"))


def active() -> CircuitPython:
    """The one that is active."""
    if _active is None:
        raise UsageError("CircuitPython is not active: `with CircuitPython(testbed):` makes it so")
    return _active


def _end() -> None:
    global _active
    _active = None


def _put(undo: ExitStack, name: str, module: ModuleType) -> None:
    before = sys.modules.get(name)
    sys.modules[name] = module
    undo.callback(_take_back, name, before)


def _take_back(name: str, before: ModuleType | None) -> None:
    if before is None:
        del sys.modules[name]
    else:
        sys.modules[name] = before
