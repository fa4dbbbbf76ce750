"""CircuitPython on a testbed: drivers and whole programs run as they are, in virtual time.

    from wizloop.chip import Testbed
    from wizloop.circuitpython import CircuitPython

    with Testbed(pcap="first.pcapng") as testbed, CircuitPython(testbed) as machine:
        testbed.pc.serve("dhcp")
        ethernet = WIZNET5K(machine.spi, machine.cs, machine.reset)
        assert testbed.failing == ()

While it is active, `time` is virtual, and `board`, `busio`, `digitalio`, `microcontroller` and `micropython` are those
of this package. `README.md` beside this file, in `drivers/shims/circuitpython`, says more.
"""

from wizloop.circuitpython.machine import PINS, CircuitPython

__all__ = ["PINS", "CircuitPython"]
