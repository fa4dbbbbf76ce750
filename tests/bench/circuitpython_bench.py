"""What a frame costs on the host through the CircuitPython shim, beside one call of the binding that makes the same frame.

    .venv/bin/python tests/bench/circuitpython_bench.py

The calls are those of adafruit_bus_device's SPIDevice and of a driver on it. Least of many short rounds: the others were
disturbed. The last line is the interpreter's own part, which no shim can leave out.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from wizloop.chip import COMMON, VERSIONR, Testbed, receive_buffer
from wizloop.circuitpython import CircuitPython

ROUNDS = 200
FRAMES = 500


def least_ns(frame: Callable[[], object]) -> float:
    """Of one call of `frame`."""

    def one_round() -> float:
        started = time.perf_counter()
        for _ in range(FRAMES):
            frame()
        return time.perf_counter() - started

    return 1e9 * min(one_round() for _ in range(ROUNDS)) / FRAMES


def frame_of(spi, cs, header: bytes, data: bytearray) -> Callable[[], object]:  # noqa: ANN001
    def frame() -> None:
        while not spi.try_lock():
            pass
        spi.configure(baudrate=8_000_000, polarity=0, phase=0)
        cs.value = False
        spi.write(header)
        spi.readinto(data, end=len(data))
        cs.value = True
        spi.unlock()

    return frame


class Pin:
    __slots__ = ("value",)


def calls_alone() -> Callable[[], object]:
    """As many calls of a built-in that does nothing."""
    pin = Pin()

    def frame() -> None:
        while bool():
            pass
        bool()
        pin.value = False
        bool(0)
        bool(0)
        pin.value = True
        bool()

    return frame


def main() -> None:
    with Testbed() as testbed, Testbed() as other, CircuitPython(testbed) as machine:
        machine.cs.switch_to_output(value=True)
        for header, block, offset, size in (
            (bytes([0x00, 0x39, 0x00]), COMMON, VERSIONR, 1),
            (bytes([0x00, 0x00, 0x18]), receive_buffer(0), 0, 2048),
        ):
            shim_ns = least_ns(frame_of(machine.spi, machine.cs, header, bytearray(size)))
            call_ns = least_ns(lambda block=block, offset=offset, size=size: other.raw.read(block, offset, size))
            adds_ns = (shim_ns - call_ns) / (3 + size)
            print(f"{3 + size:5} bytes a frame: {shim_ns:5.0f} ns, {call_ns:5.0f} in one call: {adds_ns:.2f} ns more a byte")
    print(f"seven calls of built-ins that do nothing: {least_ns(calls_alone()):.0f} ns")


if __name__ == "__main__":
    main()
