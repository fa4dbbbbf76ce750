"""`time` as firmware sees it: its functions give and pass virtual time.

Only for the thread that made it so: others, such as a watchdog of the test runner, keep the real one. perf_counter()
and process_time() stay real, so that a test can tell how long it took. time() begins at 2026-01-01, as the PC's NTP
service does.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from wizloop.chip import Testbed

EPOCH_S = 1_767_225_600

# Modules that bound functions of `time` by name while it was virtual: they will want to again.
_learned: set[str] = set()


@contextmanager
def virtual_time(testbed: Testbed, call_ns: int, drivers: Sequence[str]) -> Iterator[None]:
    """`drivers`: prefixes of installed modules that may have bound functions of `time` by name; those that are not
    installed, such as a checkout of a driver, are looked at anyhow."""
    pairs = [(getattr(time, name), function) for name, function in _functions(testbed, call_ns).items()]
    forwards = {id(real): ours for real, ours in pairs}
    backwards = {id(ours): real for real, ours in pairs}
    changed = [time, *(m for n, m in list(sys.modules.items()) if _may_be_firmware(n, m, tuple(drivers)))]
    try:
        for module in changed:
            _rebind(module, forwards)
        yield
    finally:
        for module in changed:
            _rebind(module, backwards)
        for name, module in list(sys.modules.items()):
            if _rebind(module, backwards):
                _learned.add(name)


def _may_be_firmware(name: str, module: ModuleType, drivers: tuple[str, ...]) -> bool:
    if name in _learned or name.startswith(drivers):
        return True
    top, last = name.partition(".")[0], name.rpartition(".")[2]
    if last == "conftest" or last.startswith("test_") or last.endswith("_test"):
        return False  # what tests, not what is tested
    if top in sys.stdlib_module_names or top == "wizloop":
        return False
    parts = Path(getattr(module, "__file__", None) or "site-packages").parts
    return "site-packages" not in parts and "dist-packages" not in parts


def _rebind(module: ModuleType, functions: dict[int, Callable[..., Any]]) -> bool:
    """Replaces those functions wherever the module has them by name; whether it had any."""
    names = list(getattr(module, "__dict__", {}).items())
    found = {name: functions[id(value)] for name, value in names if id(value) in functions}
    for name, function in found.items():
        setattr(module, name, function)
    return bool(found)


def _functions(testbed: Testbed, call_ns: int) -> dict[str, Callable[..., Any]]:
    raw = testbed.raw
    thread = threading.get_ident()
    real_sleep = time.sleep

    def sleep(seconds: float) -> None:
        if threading.get_ident() != thread:
            return real_sleep(seconds)
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        raw.advance_ns(max(round(seconds * 1e9), call_ns))
        return None

    def clock(name: str, reading: Callable[[int], float]) -> Callable[[], float]:
        real = getattr(time, name)

        def read() -> float:
            if threading.get_ident() != thread:
                return real()
            raw.spend_ns(call_ns)  # or a loop that only reads the clock would never end
            return reading(raw.now_ps() // 1000)

        read.__name__ = name
        return read

    return {
        "sleep": sleep,
        "monotonic": clock("monotonic", lambda now_ns: now_ns / 1e9),
        "monotonic_ns": clock("monotonic_ns", lambda now_ns: now_ns),
        "time": clock("time", lambda now_ns: EPOCH_S + now_ns / 1e9),
        "time_ns": clock("time_ns", lambda now_ns: EPOCH_S * 10**9 + now_ns),
    }
