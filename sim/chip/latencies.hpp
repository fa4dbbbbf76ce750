// How long the chip takes inside, one named constant per event. No logic-analyser trace of a W5500 is public: each
// value is an assumption, bounded by what drivers rely on (SEND to SENDOK of a full frame within 200 us at 100 Mbit/s).
// The chip takes each through LatenciesInUse, which remembers it: so a run can tell on which its figures rest.
//
//   queue.schedule_at(last_bit + latencies.use(&Latencies::frame_to_sendok), ...);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/chip/trust.hpp"
#include "sim/core/time.hpp"

namespace wizloop::chip {

struct Latencies {
  // Sn_CR write until Sn_CR reads 0. Shorter than the shortest next SPI frame: drivers find it 0 on their first poll.
  Duration command_accepted = 200ns;

  // OPEN, CLOSE, LISTEN, DISCON until Sn_SR shows it. At 33.3 MHz the next frame fetches its first data byte 750 ns
  // after the command byte, and drivers that never poll Sn_CR (Mongoose, NuttX) expect the new state there.
  Duration command_to_status = 500ns;

  // Until the first preamble bit of the frame leaves:
  // After SEND with a known MAC: headers, and a checksum pass over the data at 4 bytes per clock of the 150 MHz PLL. A
  // full frame comes to 5 us. A small datagram must take much less: 21514 per second were seen (SEED018), 46.5 us each,
  // of which SPI leaves hardly 10 us for everything between SEND and SENDOK.
  Duration send_to_frame = 2500ns;
  Duration send_to_frame_per_byte = picoseconds(1'667);
  Duration macraw_to_frame = 3us;   // after SEND in MACRAW: the copy to the MAC
  Duration between_segments = 5us;  // after the inter-packet gap that follows the last segment of the same SEND
  Duration arp_to_reply = 10us;     // after the request's last bit
  Duration ping_to_reply = 10us;    // after the request's last bit, and per byte of the IP packet:
  Duration ping_to_reply_per_byte = 10ns;
  Duration segment_to_ack = 5us;     // after the segment's last bit
  Duration receive_to_update = 5us;  // after RECV: the pure ACK that reopens the window
  Duration syn_to_syn_ack = 10us;    // after the SYN's last bit

  Duration frame_to_sendok = 1us;    // after the last bit out: Sn_TX_RD and SENDOK
  Duration frame_to_received = 3us;  // after the last bit in: Sn_RX_WR, Sn_RX_RSR and RECV; FCS and checksum known

  Duration query_to_report = 10us;  // IGMP: after the query's last bit

  Duration pll_lock = 1ms;    // RSTn high until SPI answers: datasheet 5.5.1, TPL
  Duration software_reset{};  // MR.RST reads 1 and writes are lost for so long
  Duration versionr_valid{};  // after any reset, VERSIONR reads 0 for so long

  Duration event_to_intn = picoseconds(26'667);  // 4 clocks of the 150 MHz PLL
  Duration link_lost = 1ms;                      // cable out until PHYCFGR.LNK falls
  Duration link_negotiated = 2s;                 // cable in or PHY reset until LNK rises, with auto-negotiation
  Duration link_forced = 500ms;                  // the same with a forced mode
};

struct LatencySpec {
  std::string_view name;  // as in chip.latency.NAME_ns
  Duration Latencies::*member;
  Trust trust;
  std::string_view source;
  std::string_view question;  // one line
};

std::span<const LatencySpec> latency_table();  // in the order of the members

class LatenciesInUse {
 public:
  explicit LatenciesInUse(const Latencies& values) : values_{values} {}

  // How long it takes; it counts as touched from now on.
  Duration use(Duration Latencies::*latency) {
    touch(latency);
    return peek(latency);
  }

  // The same without touching it: for what ends before anybody looks. touch() follows when somebody does.
  Duration peek(Duration Latencies::*latency) const { return values_.*latency; }
  void touch(Duration Latencies::*latency) { touched_ |= std::uint32_t{1} << index_of(latency); }

  std::vector<LatencySpec> touched() const;

 private:
  // Latencies is nothing but durations, one behind the other.
  std::ptrdiff_t index_of(Duration Latencies::*latency) const {
    return &(values_.*latency) - reinterpret_cast<const Duration*>(&values_);
  }
  static_assert(sizeof(Latencies) <= 32 * sizeof(Duration));

  Latencies values_;
  std::uint32_t touched_ = 0;
};

}  // namespace wizloop::chip
