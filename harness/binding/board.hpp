// The class wizloop._sim.Board: a simulated board that runs the agent firmware (harness/board) on a stack of its own,
// with its power, its reset button, its cable and the PC at the far end. Python types on its serial line and moves
// virtual time; its typed half is wizloop.dut.model.
#pragma once

#include <nanobind/nanobind.h>

namespace wizloop::binding {

void add_board(nanobind::module_& module);

}  // namespace wizloop::binding
