// What iperf 2 puts into its datagrams: a number and the time of sending, a last datagram with a negative number, and
// the server's report in answer to that.
#ifndef WIZLOOP_AGENT_IPERF_UDP_HPP
#define WIZLOOP_AGENT_IPERF_UDP_HPP

#include "drivers/w5500/socket.hpp"
#include "watch.hpp"

namespace agent {

// Jitter as RFC 3550 6.4.1 has it: the mean change of the transit time, smoothed by 16. The clocks of both ends may
// differ.
class Jitter {
 public:
  void add(uint64_t sent_us, uint64_t received_us) {
    const int64_t transit = static_cast<int64_t>(received_us - sent_us);
    if (seen_) {
      const int64_t change = transit > transit_ ? transit - transit_ : transit_ - transit;
      sixteenfold_ += static_cast<uint64_t>(change) - sixteenfold_ / 16;
    }
    transit_ = transit;
    seen_ = true;
  }
  uint64_t us() const { return sixteenfold_ / 16; }

 private:
  bool seen_ = false;
  int64_t transit_ = 0;
  uint64_t sixteenfold_ = 0;
};

struct IperfUdp {
  static constexpr uint16_t header_bytes = 16;  // number, seconds, microseconds, upper half of the number

  struct Report {
    uint64_t bytes;
    uint64_t us;
    uint32_t lost;
    uint32_t late;
    uint32_t datagrams;  // the highest number
    uint64_t jitter_us;
  };

  static void write_header(uint8_t* data, int32_t id, uint64_t now_us);
  static uint64_t sent_us(const uint8_t* data);

  // Sends the last datagram until the server answers with its report, ten times at most; false if it does not.
  static bool finish(Device& device, w5500::UdpSocket& socket, Watch& watch, const w5500::Endpoint& peer, uint32_t sent,
                     uint16_t size, Report* report);
  // `data` holds the client's last datagram and is overwritten.
  static w5500::Error send_report(w5500::UdpSocket& socket, const w5500::Endpoint& peer, uint8_t* data,
                                  const Report& report);
};

}  // namespace agent

#endif
