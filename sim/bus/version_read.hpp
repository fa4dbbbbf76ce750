// What a wrong value of VERSIONR means. Reading it is the first thing that a driver does with its chip, and the value
// that comes back tells how the SPI is wrong: a good chip answers 00 39 00 xx with 01 02 03 04.
//
//   explain_version_read(mosi, miso)   // "MISO sampled one bit late: SPI mode or a slow edge"
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace wizloop::bus {

// The first four bytes of a frame.
using FourBytes = std::array<std::uint8_t, 4>;

// Whether a host that sent this meant to read VERSIONR: `00 39 00`, or `00 00 39` from a helper with a 24-bit address.
bool is_version_read(const FourBytes& mosi);

// The likely cause; empty if the answer is the right one.
std::string explain_version_read(const FourBytes& mosi, const FourBytes& miso);

}  // namespace wizloop::bus
