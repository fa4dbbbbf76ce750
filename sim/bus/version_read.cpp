#include "sim/bus/version_read.hpp"

#include <fmt/format.h>

namespace wizloop::bus {
namespace {

constexpr std::uint8_t version = 0x04;
constexpr std::uint32_t right_answer = 0x01020304;  // what MISO shows from the first header byte on
constexpr FourBytes read_of_24_bits = {0x00, 0x00, 0x39, 0x00};

std::uint32_t as_word(const FourBytes& bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

bool same_header(const FourBytes& a, const FourBytes& b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

std::string bits(int count) { return count == 1 ? "one bit" : fmt::format("{} bits", count); }

}  // namespace

bool is_version_read(const FourBytes& mosi) {
  // OM may be anything: some libraries read it with a fixed length of 1.
  return (mosi[0] == 0x00 && mosi[1] == 0x39 && (mosi[2] & 0xFC) == 0) || same_header(mosi, read_of_24_bits);
}

std::string explain_version_read(const FourBytes& mosi, const FourBytes& miso) {
  if (same_header(mosi, read_of_24_bits)) {
    return "the address went out as 24 bits, so that 0x39 became the control byte: a read of socket 1's RX buffer "
           "(block 7) at 0x0000 with a fixed length of 1; the address has 16 bits and the control byte follows it";
  }
  if (miso[3] == version) return "";
  const std::uint32_t seen = as_word(miso);
  if (seen == 0) {
    return "MISO stays low: the chip is held in reset or without power, SPI began before the PLL locked, or MISO is "
           "shorted";
  }
  if (seen == 0xFFFFFFFF) return "MISO stays high: no chip, the wrong SCSn pin, or MISO not connected";
  for (int shift = 1; shift < 8; ++shift) {
    const std::uint32_t unknown = (std::uint32_t{1} << shift) - 1;  // what lies outside of the four bytes
    if ((seen & ~unknown) == right_answer << shift) {
      return fmt::format("MISO sampled {} late: a clock missed or the wrong clock phase (SPI mode)", bits(shift));
    }
    if (seen << shift >> shift == right_answer >> shift) {
      return fmt::format("MISO sampled {} early: a clock too many or the wrong clock phase (SPI mode)", bits(shift));
    }
  }
  // Some hosts keep nothing of the header: then only the last byte speaks.
  switch (miso[3]) {
    case 0x00:
      return miso[2] == 0x03 ? "the chip answers but is still waking after reset: poll VERSIONR until it reads 0x04"
                             : "MISO low when the data came: SCSn rose early, or SPI began before the PLL locked";
    case 0xFF:
      return "no chip drives MISO: the wrong SCSn pin, or SCSn rose within the header";
    case 0x02:
    case 0x82:
      return "MISO sampled one bit early: a clock too many or the wrong clock phase (SPI mode)";
    case 0x08:
    case 0x09:
      return "MISO sampled one bit late: a clock missed or the wrong clock phase (SPI mode)";
    case 0x10:
      return "MISO sampled 2 bits late: clocks missed";
    case 0x03:
      return "the last header byte taken for data: the host reads one byte early";
    default:
      return "no known pattern: look at SCSn, SCLK, MOSI and MISO with an analyser; 00 39 00 xx must give 01 02 03 04";
  }
}

}  // namespace wizloop::bus
