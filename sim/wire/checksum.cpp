#include "sim/wire/checksum.hpp"

#include <array>

namespace wizloop::wire {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

std::uint32_t crc32(Bytes bytes) {
  std::uint32_t value = 0xFFFFFFFF;
  for (const std::uint8_t byte : bytes) value = (value >> 8) ^ table[(value ^ byte) & 0xFF];
  return ~value;
}

}  // namespace wizloop::wire
