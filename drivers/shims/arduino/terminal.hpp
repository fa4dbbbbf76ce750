// The far end of Serial: what was printed, and what waits to be read.
#pragma once

#include <deque>
#include <string>

#include "wizloop_arduino.h"

namespace wizloop_arduino {

struct Terminal {
  static Terminal& it();

  std::string printed;
  std::deque<char> typed;
  // Called at the end of each line that is printed, without it.
  void (*on_line)(const std::string& line) = nullptr;
  // Gets each byte in place of all of the above.
  wizloop_arduino_serial_fn on_byte = nullptr;
  void* on_byte_context = nullptr;
};

}  // namespace wizloop_arduino
