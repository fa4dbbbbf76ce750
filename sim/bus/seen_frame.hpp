// The beginning of an SPI frame as the host saw it: header and up to eight data bytes, each way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace wizloop::bus {

struct SeenFrame {
  static constexpr std::size_t header_bytes = 3;
  static constexpr std::size_t kept_bytes = header_bytes + 8;
  static constexpr std::uint32_t version_by_24_bits = 0x000039;  // where VERSIONR is if the address has 24 bits

  std::array<std::uint8_t, kept_bytes> mosi{};
  std::array<std::uint8_t, kept_bytes> miso{};
  std::size_t bytes = 0;  // in all; only the first `kept_bytes` are kept

  // Once data follow the header: its three bytes, and whether they read from a block of registers.
  std::uint32_t header = 0;
  bool reads_registers = false;

  std::uint16_t offset() const { return static_cast<std::uint16_t>(header >> 8); }
  std::uint8_t bsb() const { return static_cast<std::uint8_t>(header) >> 3; }
};

}  // namespace wizloop::bus
