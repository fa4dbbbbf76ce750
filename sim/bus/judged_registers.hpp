// The registers whose values tell something about the wires: those of which the chip gives only some values, and
// VERSIONR. A look at two tables, by header and by value, says whether what came back wants more than a look.
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
inline constexpr std::size_t data_bytes_kept = SeenFrame::kept_bytes - SeenFrame::header_bytes;

// A bit for each of the registers: which one a header reads, and in which of them a value is odd. Two more: whether a
// longer frame with that header may reach one of them, and what a register read with an address of 24 bits looks like.
struct Tables {
  static constexpr std::uint8_t mr = 0x01, ir = 0x02, versionr = 0x04, sn_ir = 0x08, sn_sr = 0x10, reaches = 0x40;

  std::array<std::uint8_t, offsets << 8> of_header{};  // offset and control byte
  std::array<std::uint8_t, 256> odd_in{};
};

inline constexpr Tables tables = [] {
  Tables made;
  const auto reads = [&made](std::uint16_t at, std::uint8_t bsb, std::uint8_t bit) {
    for (std::size_t mode = 0; mode < 4; ++mode) {  // VDM, FDM of 1, 2 and 4 bytes
      const std::size_t control = std::size_t{bsb} << 3 | mode;
      made.of_header[std::size_t{at} << 8 | control] |= bit;
      for (std::size_t before = 0; before < data_bytes_kept && before <= at; ++before) {
        made.of_header[(at - before) << 8 | control] |= Tables::reaches;
      }
    }
  };
  reads(MR, 0, Tables::mr);
  reads(IR, 0, Tables::ir);
  reads(VERSIONR, 0, Tables::versionr);
  for (std::size_t socket = 0; socket < 8; ++socket) {
    const auto bsb = static_cast<std::uint8_t>(socket << 2 | 1);
    reads(Sn_IR, bsb, Tables::sn_ir);
    reads(Sn_SR, bsb, Tables::sn_sr);
  }
  made.of_header[SeenFrame::version_by_24_bits] |= Tables::versionr;
  for (std::size_t value = 0; value < made.odd_in.size(); ++value) {
    bool is_state = false;
    for (const std::uint8_t state : states) is_state = is_state || state == value;
    made.odd_in[value] = static_cast<std::uint8_t>(
        ((value & never_in_mr) != 0 ? Tables::mr : 0) | ((value & never_in_ir) != 0 ? Tables::ir : 0) |
        Tables::versionr | ((value & never_in_sn_ir) != 0 ? Tables::sn_ir : 0) | (is_state ? 0 : Tables::sn_sr));
  }
  return made;
}();

inline std::uint8_t of_header(std::uint32_t header) {
  return header < tables.of_header.size() ? tables.of_header[header] : std::uint8_t{0};
}

// Whether the data byte `i` of a frame is one that the chip never gives, or VERSIONR's.
inline bool wants_a_look(const SeenFrame& frame, std::size_t i) {
  const std::uint8_t value = frame.miso[SeenFrame::header_bytes + i];
  return (of_header(frame.header + static_cast<std::uint32_t>(i << 8)) & tables.odd_in[value]) != 0;
}

// Whether any of them may be.
inline bool may_want_a_look(const SeenFrame& frame) { return (of_header(frame.header) & Tables::reaches) != 0; }

}  // namespace wizloop::bus::judged
