// What a process that serves boards says, a line at a time, to whoever reads its standard output: never at the cost of
// the boards. A line that finds no room, because the reader has stopped reading, is dropped; the next one that finds
// some comes behind "note dropped lines=N". The descriptor stays as it is: others may write to the same terminal.
//
//   News news{STDOUT_FILENO};
//   news.say("ready board=a");
#pragma once

#include <cstddef>
#include <string_view>

namespace wizloop::gateway {

class News {
 public:
  // Of a line; the rest is cut off. A pipe that has room takes so much at once (PIPE_BUF).
  static constexpr std::size_t longest_line = 4096;

  explicit News(int descriptor) : descriptor_{descriptor} {}

  void say(std::string_view line);

 private:
  bool write(std::string_view line) const;

  int descriptor_;
  std::size_t dropped_ = 0;
};

}  // namespace wizloop::gateway
