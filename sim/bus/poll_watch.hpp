// Tells work from waiting, by looking at the frames on the bus.
//
// A wait is the time from a register read that told firmware "not yet" to the read that told it "now". Drivers read
// counters twice to see them stable, so two equal reads are still work; the third of the same register with the same
// value, with nothing written and no data moved in between, makes it a poll loop. The loop's time, from the end of its
// first read to the start of its last, is then booked as waiting for whatever kept firmware waiting at each moment: the
// wire if a frame was on it, the chip if it was busy, otherwise the peer. Works for any driver, because it asks nothing
// of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sim/bus/seen_frame.hpp"
#include "sim/core/account.hpp"

namespace wizloop::bus {

class PollWatch {
 public:
  explicit PollWatch(Budget& budget) : budget_{budget} {}

  void on_frame_start() {
    frame_.bytes = 0;
    boundary_ = SeenFrame::header_bytes;
    frame_start_ = budget_.mark();
  }
  // Before each byte: true behind the header, for on_header_end(), and behind the data of a fixed length, where one
  // frame ends and the next begins under the same select.
  bool at_boundary() const { return frame_.bytes >= boundary_; }
  bool at_header_end() const { return boundary_ == SeenFrame::header_bytes && at_boundary(); }
  // Outside of a frame, each byte is at a boundary.
  bool in_frame() const { return boundary_ != outside; }
  void on_header_end();
  void on_byte(std::uint8_t mosi, std::uint8_t miso) {
    const std::size_t at = frame_.bytes++;
    if (at >= SeenFrame::kept_bytes) return;
    frame_.mosi[at] = mosi;
    frame_.miso[at] = miso;
  }
  // Bytes of which nobody needs the values: buffer data, or what a chip in reset ignores, were it a header.
  void on_quiet_bytes(std::size_t count) {
    frame_.bytes += count;
    if (frame_.bytes > boundary_ && in_frame()) boundary_ = never;
  }
  void on_frame_end();
  // The frame that goes on, or the last one.
  const SeenFrame& frame() const { return frame_; }

  // Firmware polls, as far as can be told now.
  bool in_loop() const { return in_loop_; }

  // Books everything up to now.
  void settle();

 private:
  static constexpr std::size_t outside = 0;
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t widest_register = 4;  // whose value is compared
  static constexpr std::size_t registers_followed = 8;
  static constexpr int reads_of_a_loop = 3;

  struct PolledRegister {
    std::uint32_t header = 0;
    std::uint32_t value = 0;
    int reads = 0;
    Budget::Mark after_first_read;
  };

  void on_register_read(std::uint32_t value);

  Budget& budget_;
  SeenFrame frame_;
  std::size_t boundary_ = outside;
  Budget::Mark frame_start_;

  std::array<PolledRegister, registers_followed> registers_;
  std::size_t registers_seen_ = 0;
  bool in_loop_ = false;
  Budget::Mark loop_from_;
  Budget::Mark loop_to_;
};

}  // namespace wizloop::bus
