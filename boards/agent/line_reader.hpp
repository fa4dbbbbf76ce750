// Cuts what the console receives into lines. A line that is too long, that holds a byte outside of 0x20 to 0x7E, or of
// which bytes were lost still ends at its CR or LF, and is then handed out with its fault.
//
//   LineReader in(console, buffer, sizeof buffer);
//   if (in.take() == Input::line && in.fault() == LineFault::none) use(in.line(), in.length());
#ifndef WIZLOOP_AGENT_LINE_READER_HPP
#define WIZLOOP_AGENT_LINE_READER_HPP

#include "console.hpp"

namespace agent {

enum class Input : uint8_t { nothing, line, interrupt, overrun };
enum class LineFault : uint8_t { none, too_long, bad_byte, overrun };

class LineReader {
 public:
  // A line has at most size - 1 characters; one byte is for its end.
  LineReader(Console& console, char* buffer, uint16_t size) : console_(console), buffer_(buffer), size_(size) {}

  // Takes in what has come, up to the end of a line that is not empty, or to Ctrl-C (0x03), which drops the line begun.
  // After an overrun all that has come is dropped, and the line that goes on has a fault.
  Input take();

  // After Input::line, until the next take(). Terminated by 0.
  char* line() { return buffer_; }
  uint16_t length() const { return length_; }
  LineFault fault() const { return fault_; }

  uint16_t longest() const { return static_cast<uint16_t>(size_ - 1); }

 private:
  void start_line();
  void drop_all();

  Console& console_;
  char* buffer_;
  uint16_t size_;
  uint16_t length_ = 0;
  LineFault fault_ = LineFault::none;
  bool ended_ = false;
  uint8_t chunk_[32];
  uint8_t chunk_at_ = 0;
  uint8_t chunk_count_ = 0;
};

}  // namespace agent

#endif
