// The class wizloop._sim.Testbed: one W5500 with board, cable and PC, for firmware written in Python. It is the C ABI
// (sim/capi/wizloop.h) as a class, function by function; Python code uses it through wizloop.chip, which adds types.
#pragma once

#include <nanobind/nanobind.h>

namespace wizloop::binding {

void add_testbed(nanobind::module_& module);

}  // namespace wizloop::binding
