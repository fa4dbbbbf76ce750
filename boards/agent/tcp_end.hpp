// How a TCP verb gets its connection: with ip= the board connects to ip:port, without it waits on its own port for a
// peer. And how it lets go of it.
//
//   TcpEnd end(device, request);
//   ...
//   w5500::TcpSocket socket(device.chip, 0);
//   w5500::Error error = end.open(socket, watch);
//   end.close(socket, watch);                     // after watch.stop()
#ifndef WIZLOOP_AGENT_TCP_END_HPP
#define WIZLOOP_AGENT_TCP_END_HPP

#include "drivers/w5500/socket.hpp"
#include "watch.hpp"

namespace agent {

class TcpEnd {
 public:
  // Reads ip, port, local, kib and tries.
  TcpEnd(Device& device, Request& request);

  bool is_client() const { return is_client_; }
  w5500::Error open(w5500::TcpSocket& socket, Watch& watch);
  // Politely, in no more than the time that is left to a verb that was cut short.
  void close(w5500::TcpSocket& socket, const Watch& watch);

  // What the connection came to: connect_us, retries, peer, close_us, closed.
  void tell(Answer& answer) const;
  w5500::Error closed() const { return closed_; }

 private:
  w5500::Error connect(w5500::TcpSocket& socket, Watch& watch);
  w5500::Error accept(w5500::TcpSocket& socket, Watch& watch);

  Device& device_;
  bool is_client_;
  w5500::Endpoint peer_ = {};
  uint16_t local_ = 0;
  uint8_t kib_;
  uint8_t tries_;
  uint16_t retries_ = 0;
  uint64_t connect_us_ = 0;
  uint64_t close_us_ = 0;
  bool was_open_ = false;
  w5500::Error closed_ = w5500::Error::none;
};

// The rate in kbit/s; 0 if it took no time.
uint64_t kbit_per_second(uint64_t bytes, uint64_t us);

}  // namespace agent

#endif
