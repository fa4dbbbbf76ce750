#include "sim/bus/poll_watch.hpp"

#include <algorithm>

namespace wizloop::bus {

void PollWatch::on_header_end() {
  constexpr std::size_t data_bytes[] = {never - SeenFrame::header_bytes, 1, 2, 4};
  const std::uint8_t control = frame_.mosi[2];
  boundary_ = SeenFrame::header_bytes + data_bytes[control & 0x03];
  frame_.header = static_cast<std::uint32_t>(frame_.mosi[0] << 16 | frame_.mosi[1] << 8 | control);
  const bool is_write = (control & 0x04) != 0;
  const std::uint8_t bsb = frame_.bsb();
  frame_.reads_registers = !is_write && (bsb == 0 || (bsb & 3) == 1);
}

void PollWatch::on_frame_end() {
  boundary_ = outside;
  if (frame_.bytes <= SeenFrame::header_bytes) return;  // no data, no meaning
  if (!frame_.reads_registers) {
    settle();
    return;
  }
  std::uint32_t value = 0;
  const std::size_t end = std::min(frame_.bytes, SeenFrame::header_bytes + widest_register);
  for (std::size_t i = SeenFrame::header_bytes; i < end; ++i) value = value << 8 | frame_.miso[i];
  on_register_read(value);
}

void PollWatch::on_register_read(std::uint32_t value) {
  const std::uint32_t header = frame_.header;
  const auto end = registers_.begin() + static_cast<std::ptrdiff_t>(registers_seen_);
  const auto seen =
      std::find_if(registers_.begin(), end, [header](const PolledRegister& polled) { return polled.header == header; });
  if (seen == end) {
    if (registers_seen_ < registers_followed) registers_[registers_seen_++] = {header, value, 1, budget_.mark()};
    return;
  }
  if (seen->value != value) {
    if (in_loop_) loop_to_ = frame_start_;
    settle();  // this read has brought the news
    return;
  }
  ++seen->reads;
  if (seen->reads < reads_of_a_loop) return;
  if (!in_loop_) {
    in_loop_ = true;
    loop_from_ = seen->after_first_read;
  }
  loop_to_ = frame_start_;
}

void PollWatch::settle() {
  if (in_loop_) {
    budget_.settle_wait(loop_from_, loop_to_);
  } else {
    budget_.settle();
  }
  in_loop_ = false;
  registers_seen_ = 0;
  frame_start_ = budget_.mark();
}

}  // namespace wizloop::bus
