// MACRAW (datasheet 4.2, Sn_MR; socket 0 only): which frames the filters let through, and a SEND in progress, which is
// one frame. Without MFEN the socket is promiscuous. With it, silicon drops multicast that is not IP and passes IPv6
// multicast in spite of MMB (observed, ESP driver).
#pragma once

#include <cstdint>

#include "sim/chip/quirks.hpp"
#include "sim/core/time.hpp"
#include "sim/wire/ethernet.hpp"

namespace wizloop::chip {

struct MacrawFilter {
  bool mfen;
  bool bcastb;
  bool mmb;
  bool mip6b;

  bool passes(const wire::EthernetHeader& frame, const wire::MacAddress& own, Quirks& quirks) const {
    if (mip6b && frame.type == wire::type_ipv6) return false;
    if (frame.destination == wire::broadcast_mac) return !bcastb;
    if (!wire::is_multicast(frame.destination)) return !mfen || frame.destination == own;
    return passes_multicast(frame.destination, quirks);
  }

 private:
  bool passes_multicast(const wire::MacAddress& mac, Quirks& quirks) const {
    const bool is_ipv4 = mac[0] == 0x01 && mac[1] == 0x00 && mac[2] == 0x5E;
    if (is_ipv4 || !(mfen || mmb)) return !mmb;
    if (quirks.choice<MacrawMulticast>(Quirk::macraw_multicast) == MacrawMulticast::datasheet) return !mmb;
    const bool is_ipv6 = mac[0] == 0x33 && mac[1] == 0x33;
    return is_ipv6 || !mfen;
  }
};

// The whole range of SEND as one frame, destination MAC first.
class RawSend {
 public:
  void start(std::uint16_t from, std::uint16_t length, Instant ready) { *this = RawSend{from, length, ready}; }
  void stop() { *this = RawSend{}; }

  std::uint16_t offset() const { return offset_; }
  std::uint16_t length() const { return length_; }
  Instant next_output() const { return ready_; }

  RawSend() = default;

 private:
  RawSend(std::uint16_t offset, std::uint16_t length, Instant ready)
      : offset_{offset}, length_{length}, ready_{ready} {}

  std::uint16_t offset_ = 0;
  std::uint16_t length_ = 0;
  Instant ready_ = Instant::max();
};

}  // namespace wizloop::chip
