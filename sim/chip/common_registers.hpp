// The common register block (datasheet 4.1) as bytes, with the fields that the rest of the chip asks for.
#pragma once

#include <array>
#include <cstdint>

#include "sim/chip/register_map.hpp"
#include "sim/core/bytes.hpp"
#include "sim/core/time.hpp"
#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::chip {

class CommonRegisters {
 public:
  CommonRegisters() { reset(); }

  void reset() {
    bytes_.fill(0);
    for (const RegisterSpec& spec : common_registers()) {
      for (std::size_t i = 0; i < spec.width; ++i) {
        bytes_[spec.offset + i] = static_cast<std::uint8_t>(spec.reset >> (8 * (spec.width - 1 - i)));
      }
    }
  }

  std::uint8_t& operator[](std::uint16_t offset) { return bytes_[offset]; }
  std::uint8_t operator[](std::uint16_t offset) const { return bytes_[offset]; }

  wire::MacAddress shar() const { return wire::load_mac(&bytes_[common::SHAR]); }
  wire::Ipv4Address sipr() const { return load32(&bytes_[common::SIPR]); }
  wire::Ipv4Address subr() const { return load32(&bytes_[common::SUBR]); }
  wire::Ipv4Address gar() const { return load32(&bytes_[common::GAR]); }
  // RTR counts 100 us; 0 acts as 1.
  Duration rtr() const {
    const std::uint16_t units = load16(&bytes_[common::RTR]);
    return 100us * (units == 0 ? 1 : units);
  }
  std::uint8_t rcr() const { return bytes_[common::RCR]; }
  bool mode(std::uint8_t mr_bit) const { return (bytes_[common::MR] & mr_bit) != 0; }

  bool is_own_broadcast(wire::Ipv4Address address) const {
    return address == wire::broadcast_ipv4 || (subr() != 0 && ~subr() != 0 && address == (sipr() | ~subr()));
  }
  // Whom to ask for the MAC of `address`: itself in the own subnet, else the gateway.
  wire::Ipv4Address next_hop(wire::Ipv4Address address) const {
    return (address & subr()) == (sipr() & subr()) ? address : gar();
  }

 private:
  std::array<std::uint8_t, common_block_bytes> bytes_;
};

}  // namespace wizloop::chip
