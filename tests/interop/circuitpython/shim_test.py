"""The CircuitPython shim: its pins and bus, and that everything is as before when it ends."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import random
import sys
import threading
import time
from pathlib import Path
from time import sleep as real_sleep
from types import ModuleType

import pytest
from wizloop.chip import COMMON, Testbed, socket_registers
from wizloop.circuitpython import CircuitPython
from wizloop.errors import FirmwareHangs, UsageError

if not os.environ.get("CI"):
    pytest.importorskip("wizloop._sim", reason="the simulator module is not built: ci/setup builds it")

pytestmark = [pytest.mark.interop, pytest.mark.simulator]

MODULES = ("board", "busio", "digitalio", "microcontroller", "micropython")
CLOCKS = ("sleep", "monotonic", "monotonic_ns", "time", "time_ns")
READ_VERSIONR = bytes([0x00, 0x39, 0x00])


@pytest.fixture
def testbed():
    with Testbed() as testbed:
        yield testbed


@pytest.fixture
def machine(testbed):
    with CircuitPython(testbed) as machine:
        yield machine


@pytest.fixture
def bus(machine):
    """Locked, and configured for the chip."""
    assert machine.spi.try_lock()
    machine.spi.configure(baudrate=8_000_000)
    machine.cs.switch_to_output(value=True)
    return machine.spi


def world() -> dict[str, object]:
    return {
        **{name: sys.modules.get(name) for name in MODULES},
        **{name: getattr(time, name) for name in CLOCKS},
        "random": random.getstate(),
        "frozen": gc.get_freeze_count(),
    }


# What is virtual, and what becomes of it ---------------------------------------------------------------------------


@pytest.mark.parametrize("ends_by", [None, ValueError, KeyboardInterrupt, FirmwareHangs])
def test_everything_is_restored_however_it_ends(testbed, ends_by):
    before = world()
    if ends_by is None:
        with CircuitPython(testbed):
            assert world() != before
    else:
        with pytest.raises(ends_by), CircuitPython(testbed):
            raise ends_by
    assert world() == before


def test_everything_is_restored_if_it_cannot_begin(testbed):
    before = world()
    closed = Testbed()
    closed.close()
    with pytest.raises(UsageError, match="the handle was destroyed"), CircuitPython(closed):
        pass
    assert world() == before
    with CircuitPython(testbed):
        pass


def test_two_at_once_are_refused_by_name(testbed):
    with (
        CircuitPython(testbed) as machine,
        Testbed(name="second") as second,
        pytest.raises(UsageError, match="active for testbed 'wizloop', and for 'second' it cannot be"),
        CircuitPython(second),
    ):
        pass
    with CircuitPython(second := Testbed(name="second")):
        assert machine.testbed is testbed
    second.close()


def test_time_is_the_testbeds(testbed, machine):
    started = time.monotonic()
    time.sleep(1000)
    assert time.monotonic() - started == pytest.approx(1000, abs=1e-4)
    assert time.monotonic_ns() // 10**9 == int(testbed.now)
    assert time.strftime("%Y-%m-%d", time.gmtime(time.time())) == "2026-01-01"
    assert time.time_ns() / 1e9 == pytest.approx(time.time(), abs=1e-3)
    with pytest.raises(ValueError, match="non-negative"):
        time.sleep(-1)


def test_a_loop_that_only_reads_the_clock_ends(machine):
    deadline = time.monotonic() + 0.01
    readings = 0
    while time.monotonic() < deadline:
        readings += 1
    assert readings == 999


def test_calls_cost_what_the_caller_says(testbed):
    with CircuitPython(testbed, call_us=100) as machine:
        machine.cs.switch_to_output(value=True)
        before = testbed.counter("cpu_ns")
        machine.cs.value = True
        assert testbed.counter("cpu_ns") - before == 100_000
    with pytest.raises(UsageError, match="call_us is 0"):
        CircuitPython(testbed, call_us=0)


def test_other_threads_keep_the_real_time(testbed, machine):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(time.time()))
    thread.start()
    thread.join(timeout=10)
    assert abs(seen[0] - time.clock_gettime(time.CLOCK_REALTIME)) < 60
    assert testbed.now == 0


def driver_module(name: str) -> ModuleType:
    module = ModuleType(name)
    sys.modules[name] = module
    exec("from time import monotonic, sleep", module.__dict__)
    return module


def test_a_checkout_that_bound_the_clock_by_name_need_not_be_named(testbed, tmp_path, monkeypatch):
    (tmp_path / "my_w5500.py").write_text("from time import sleep\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("my_w5500")
    try:
        with CircuitPython(testbed):
            module.sleep(3600)
        assert testbed.now == pytest.approx(3600)
        assert module.sleep is real_sleep
    finally:
        del sys.modules["my_w5500"]


def test_drivers_that_bound_the_clock_by_name_get_the_virtual_one(testbed):
    early = {name: driver_module(name) for name in ("adafruit_early", "own_early", "bystander")}
    try:
        for _ in range(2):
            with CircuitPython(testbed, drivers=["own_"]):
                if "own_late" not in sys.modules:
                    driver_module("own_late")
                late = sys.modules["own_late"]
                for module in (early["adafruit_early"], early["own_early"], late):
                    before = testbed.now
                    module.sleep(3600)
                    assert testbed.now - before == pytest.approx(3600)
                assert early["bystander"].sleep is real_sleep
            for module in (*early.values(), late):
                assert module.sleep is real_sleep is time.sleep
    finally:
        for name in (*early, "own_late"):
            sys.modules.pop(name, None)


def test_a_module_that_came_late_is_known_the_next_time(testbed):
    try:
        early = driver_module("unheard_of")
        with CircuitPython(testbed):
            late = driver_module("unheard_of")  # as if reloaded
        assert early.sleep is late.sleep is real_sleep
        with CircuitPython(testbed):
            late.sleep(60)
            assert testbed.now >= 60
    finally:
        del sys.modules["unheard_of"]


def test_chance_is_the_testbeds_seed():
    draws = []
    for seed in (7, 7, 8):
        with Testbed(seed=seed) as testbed, CircuitPython(testbed):
            draws.append(random.random())
    assert draws[0] == draws[1] != draws[2]


# Pins and bus ------------------------------------------------------------------------------------------------------


def test_a_whole_program_finds_the_modules_that_it_imports(testbed):
    program = """
import board, busio, digitalio
from micropython import const

VERSIONR = const(0x0039)
spi = busio.SPI(board.GP18, MOSI=board.GP19, MISO=board.GP16)
led = digitalio.DigitalInOut(board.LED)
led.direction = digitalio.Direction.OUTPUT
cs = digitalio.DigitalInOut(board.GP17)
cs.switch_to_output(value=True)
while not spi.try_lock():
    pass
spi.configure(baudrate=4_000_000, polarity=0, phase=0)
cs.value = False
spi.write(bytes([VERSIONR >> 8, VERSIONR & 0xFF, 0]))
version = bytearray(1)
spi.readinto(version)
cs.value = True
spi.unlock()
led.value = True
"""
    names: dict[str, object] = {}
    with CircuitPython(testbed):
        exec(program, names)
    assert names["version"] == b"\x04"
    assert testbed.findings == ()


def test_micropython_is_ours_where_no_other_is_installed(testbed, monkeypatch):
    monkeypatch.delitem(sys.modules, "micropython", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    names: dict[str, object] = {}
    with CircuitPython(testbed):
        exec("from micropython import const, native\n@native\ndef f():\n    return const(5)", names)
    assert names["f"]() == 5
    assert "micropython" not in sys.modules


def test_the_bus_wants_its_lock(machine):
    with pytest.raises(RuntimeError, match="Function requires lock"):
        machine.spi.write(b"\x00")
    assert machine.spi.try_lock()
    assert not machine.spi.try_lock()
    machine.spi.unlock()
    assert machine.spi.try_lock()


def test_a_driver_that_waits_for_a_lock_for_ever_hangs():
    with Testbed(run_limit_s=0.1) as testbed, CircuitPython(testbed) as machine, pytest.raises(FirmwareHangs):
        assert machine.spi.try_lock()
        while not machine.spi.try_lock():
            pass


def test_parts_of_buffers_go_out_and_come_in(testbed, machine, bus):
    miso = bytearray(b"....")
    machine.cs.value = False
    bus.write(b"xx" + READ_VERSIONR + b"x", start=2, end=5)
    bus.readinto(miso, start=1, end=2)
    machine.cs.value = True
    assert miso == b".\x04.."
    machine.cs.value = False
    bus.write_readinto(b"x" + READ_VERSIONR + b"\x00", miso, out_start=1)
    machine.cs.value = True
    assert miso[3] == 4
    with pytest.raises(ValueError, match="same length"):
        bus.write_readinto(b"12", miso)
    assert testbed.findings == ()


def test_a_wrong_spi_mode_is_found(testbed, machine, bus):
    bus.configure(baudrate=1_000_000, polarity=0, phase=1)
    machine.cs.value = False
    bus.write_readinto(READ_VERSIONR + b"\x00", bytearray(4))
    machine.cs.value = True
    assert testbed.failing[0] == "spi-mode-unsupported"
    assert bus.frequency == 1_000_000
    for wrong in ({"polarity": 2}, {"bits": 9}):
        with pytest.raises(ValueError, match="expected"):
            bus.configure(**wrong)


def test_pins_say_what_they_are(testbed, machine):
    import board
    import digitalio

    pin = digitalio.DigitalInOut(board.GP20)
    assert pin.direction is digitalio.Direction.INPUT
    assert pin.value, "the chip pulls RSTn up"
    with pytest.raises(AttributeError, match="direction is input"):
        pin.value = False
    pin.switch_to_output(value=False)
    assert not pin.value
    pin.deinit()
    assert pin.value
    assert machine.interrupt.value
    with pytest.raises(UsageError, match="INTn is an output of the chip"):
        machine.interrupt.switch_to_output()
    nowhere = digitalio.DigitalInOut(board.A0)
    assert not nowhere.value
    nowhere.pull = digitalio.Pull.UP
    assert nowhere.value
    with pytest.raises(AttributeError):
        _ = board._private


def test_the_interrupt_pin_reads_intn(testbed, machine):
    import board
    import digitalio

    pins = (machine.interrupt, digitalio.DigitalInOut(board.GP21))
    assert all(pin.value for pin in pins)
    testbed.write(COMMON, 0x0018, b"\x01")  # SIMR
    testbed.write(COMMON, 0x000F, bytes([192, 168, 1, 20]))
    testbed.write(COMMON, 0x0009, bytes([2, 0, 0, 0, 0, 1]))
    testbed.write(socket_registers(0), 0, b"\x02\x01\x00\x00\x17\x70")  # UDP, OPEN, port 6000
    testbed.pc.open_udp(5000).send_to("192.168.1.20", 6000, b"wake up")
    time.sleep(0.01)
    assert not any(pin.value for pin in pins)


def test_the_reset_pin_resets(testbed, machine):
    testbed.write(0, 0x000F, bytes([10, 0, 0, 1]))
    machine.reset.switch_to_output(value=False)
    time.sleep(0.001)
    machine.reset.value = True
    time.sleep(0.01)
    assert testbed.peek(0, 0x000F, 4) == bytes(4)


def test_a_pin_that_leads_nowhere_it_knows_is_refused(testbed):
    with pytest.raises(UsageError, match="pin D5 leads to 'CS', expected one of SCSn, RSTn, INTn"):
        CircuitPython(testbed, pins={"D5": "CS"})


def test_without_an_active_testbed_there_is_no_bus(testbed):
    from wizloop.circuitpython.busio import SPI
    from wizloop.circuitpython.microcontroller import Pin

    with pytest.raises(UsageError, match="CircuitPython is not active"):
        SPI(Pin("SCK"))


def test_the_bench_prints_what_the_shim_adds(monkeypatch, capsys):
    file = Path(__file__).parents[2] / "bench" / "circuitpython_bench.py"
    spec = importlib.util.spec_from_file_location("circuitpython_bench", file)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "FRAMES", 10)
    bench.main()
    assert [line.split(":")[0].strip() for line in capsys.readouterr().out.splitlines()] == [
        "4 bytes a frame",
        "2051 bytes a frame",
        "seven calls of built-ins that do nothing",
    ]


def test_a_bus_takes_parts_of_buffers_as_slices_do(bus, machine):
    out, back = memoryview(bytes([0xFF, 0x00, 0x39, 0x00, 0xFF])), bytearray(b"abcd")
    machine.cs.value = False
    bus.write(out, start=1, end=-1)
    bus.readinto(back, start=-2, end=3)
    machine.cs.value = True
    assert back == b"ab\x04d"
    bus.write(out, start=4, end=2)  # nothing
    with pytest.raises(ValueError, match="the same length"):
        bus.write_readinto(out, back, out_end=3)
    with pytest.raises(ValueError, match="baudrate -1"):
        bus.configure(baudrate=-1)
    with pytest.raises(TypeError):
        bus.write("text")
    with pytest.raises(BufferError):
        bus.readinto(b"read-only")


def test_bus_and_pins_of_a_testbed_that_was_closed_say_so():
    testbed = Testbed()
    with CircuitPython(testbed) as machine:
        bus, pin = machine.spi, machine.cs
        bus.try_lock()
        pin.switch_to_output(value=True)
    testbed.close()
    del testbed, machine
    for call in (lambda: bus.write(b"abc"), lambda: setattr(pin, "value", False), bus.try_lock):
        with pytest.raises(UsageError, match="the handle was destroyed"):
            call()
