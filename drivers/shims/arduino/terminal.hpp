// The far end of Serial: what was printed, and what waits to be read.
#pragma once

#include <deque>
#include <string>

namespace wizloop_arduino {

struct Terminal {
  static Terminal& it();

  std::string printed;
  std::deque<char> typed;
  // Called at the end of each line that is printed, without it.
  void (*on_line)(const std::string& line) = nullptr;
};

}  // namespace wizloop_arduino
