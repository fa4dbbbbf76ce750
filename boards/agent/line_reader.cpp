#include "line_reader.hpp"

namespace agent {
namespace {

constexpr uint8_t ctrl_c = 0x03;
constexpr uint8_t most_chunks_dropped = 128;  // 4 KiB: a flood must not hold the agent

}  // namespace

Input LineReader::take() {
  if (ended_) start_line();
  for (;;) {
    if (chunk_at_ == chunk_count_) {
      chunk_count_ = static_cast<uint8_t>(console_.read(chunk_, sizeof chunk_));
      chunk_at_ = 0;
      if (console_.take_overrun()) {
        // Where in what is there the lost bytes belong is not known: two halves of different lines could meet.
        drop_all();
        start_line();
        fault_ = LineFault::overrun;
        return Input::overrun;
      }
      if (chunk_count_ == 0) return Input::nothing;
    }
    const uint8_t byte = chunk_[chunk_at_++];
    if (byte == ctrl_c) {
      start_line();
      return Input::interrupt;
    }
    if (byte == '\r' || byte == '\n') {
      if (length_ == 0) {
        fault_ = LineFault::none;
        continue;
      }
      buffer_[length_] = 0;
      ended_ = true;
      return Input::line;
    }
    if ((byte < 0x20 || byte > 0x7E) && fault_ == LineFault::none) fault_ = LineFault::bad_byte;
    if (length_ < longest()) {
      buffer_[length_++] = static_cast<char>(byte);
    } else if (fault_ != LineFault::overrun) {
      fault_ = LineFault::too_long;
    }
  }
}

void LineReader::start_line() {
  length_ = 0;
  fault_ = LineFault::none;
  ended_ = false;
}

void LineReader::drop_all() {
  for (uint8_t i = 0; i < most_chunks_dropped && chunk_count_ > 0; ++i) {
    chunk_count_ = static_cast<uint8_t>(console_.read(chunk_, sizeof chunk_));
  }
  chunk_at_ = chunk_count_;
}

}  // namespace agent
