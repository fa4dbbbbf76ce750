// The registers whose values tell something about the wires: those of which the chip gives only some values, and
// VERSIONR. One look at two small tables says whether a value that came back wants more than a look.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/bus/seen_frame.hpp"

namespace wizloop::bus::judged {

inline constexpr std::uint16_t MR = 0x00, IR = 0x15, VERSIONR = 0x39, Sn_IR = 0x02, Sn_SR = 0x03;

// Bits that the chip never sets (datasheet 4.1, 4.2), and the states that it has. 0x01, SOCK_ARP, is that of the older
// datasheets; see chip.quirk.status_while_resolving.
inline constexpr std::uint8_t never_in_mr = 0x45, never_in_ir = 0x0F, never_in_sn_ir = 0xE0;
inline constexpr std::uint8_t states[] = {0x00, 0x01, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
                                          0x1A, 0x1B, 0x1C, 0x1D, 0x22, 0x32, 0x42};

inline constexpr std::size_t offsets = 64;  // all of the above lie below

// A bit for each of the registers: which one lies at an offset, and in which of them a value is odd.
struct Tables {
  std::array<std::array<std::uint8_t, offsets>, 2> at{};  // of the common block, of a socket's
  std::array<std::uint8_t, 256> odd_in{};
};

inline constexpr Tables tables = [] {
  constexpr std::uint8_t mr = 0x01, ir = 0x02, versionr = 0x04, sn_ir = 0x08, sn_sr = 0x10;
  Tables made;
  made.at[0][MR] = mr;
  made.at[0][IR] = ir;
  made.at[0][VERSIONR] = versionr;
  made.at[1][Sn_IR] = sn_ir;
  made.at[1][Sn_SR] = sn_sr;
  for (std::size_t value = 0; value < made.odd_in.size(); ++value) {
    bool is_state = false;
    for (const std::uint8_t state : states) is_state = is_state || state == value;
    made.odd_in[value] =
        static_cast<std::uint8_t>(((value & never_in_mr) != 0 ? mr : 0) | ((value & never_in_ir) != 0 ? ir : 0) |
                                  versionr | ((value & never_in_sn_ir) != 0 ? sn_ir : 0) | (is_state ? 0 : sn_sr));
  }
  return made;
}();

// Of a frame that reads registers: whether its data byte `i` is one that the chip never gives, or VERSIONR's.
inline bool wants_a_look(const SeenFrame& frame, std::size_t i) {
  const std::size_t at = frame.offset() + i;
  if (at >= offsets) return false;
  const std::uint8_t value = frame.miso[SeenFrame::header_bytes + i];
  return (tables.at[frame.bsb() == 0 ? 0 : 1][at] & tables.odd_in[value]) != 0;
}

// Of a frame that reads registers: whether any of its data bytes may want a look.
inline bool may_want_a_look(const SeenFrame& frame, std::size_t data_bytes) {
  constexpr std::uint64_t in_common = 1ULL << MR | 1ULL << IR | 1ULL << VERSIONR;
  constexpr std::uint64_t in_socket = 1ULL << Sn_IR | 1ULL << Sn_SR;
  const std::uint64_t read = frame.offset() < offsets ? ((1ULL << data_bytes) - 1) << frame.offset() : 0;
  return (read & (frame.bsb() == 0 ? in_common : in_socket)) != 0;
}

}  // namespace wizloop::bus::judged
