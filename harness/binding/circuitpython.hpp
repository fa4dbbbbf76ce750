// The classes wizloop._sim.SpiBus and wizloop._sim.DigitalPin: what CircuitPython drivers call several times in each
// frame, as one call each, priced and carried out at once. Their Python halves, with all that is called seldom, are
// drivers/shims/circuitpython/busio.py and digitalio.py.
#pragma once

#include <nanobind/nanobind.h>

namespace wizloop::binding {

// Behind add_testbed(): both are made of a Testbed's `handle`.
void add_circuitpython(nanobind::module_& module);

}  // namespace wizloop::binding
