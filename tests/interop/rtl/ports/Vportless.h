// What Verilator makes of a module, as far as its ports go; this one calls its select cs_n.
#pragma once

#include "verilated.h"

struct Vportless {
  explicit Vportless(VerilatedContext*) {}
  void eval() {}
  unsigned char clk = 0, rst_n = 0, cs_n = 1, sclk = 0, mosi = 0, miso = 0, intn = 0;
};
