// What a master's pins need of Verilator.
#pragma once

struct VerilatedContext {
  void threads(unsigned) {}
};
