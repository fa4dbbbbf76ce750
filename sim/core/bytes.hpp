// Big-endian loads and stores, as on the wire and in every W5500 register. The caller sees to the bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wizloop {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

constexpr std::uint16_t load16(const std::uint8_t* at) { return static_cast<std::uint16_t>(at[0] << 8 | at[1]); }
constexpr std::uint32_t load32(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(load16(at)) << 16 | load16(at + 2);
}
constexpr void store16(std::uint8_t* at, std::uint16_t value) {
  at[0] = static_cast<std::uint8_t>(value >> 8);
  at[1] = static_cast<std::uint8_t>(value);
}
constexpr void store32(std::uint8_t* at, std::uint32_t value) {
  store16(at, static_cast<std::uint16_t>(value >> 16));
  store16(at + 2, static_cast<std::uint16_t>(value));
}

}  // namespace wizloop
