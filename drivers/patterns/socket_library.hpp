// The socket calls of a W5500 library as an application sees them, one TCP connection and one UDP port at a time. Each
// pattern in this folder performs, per call, the same SPI frames in the same order as a well-known library; the
// project's own driver stands behind the same interface in wizloop_library.hpp.
#ifndef WIZLOOP_PATTERNS_SOCKET_LIBRARY_HPP
#define WIZLOOP_PATTERNS_SOCKET_LIBRARY_HPP

#include <stdint.h>

namespace patterns {

struct NetConfig {
  uint8_t mac[6];
  uint8_t ip[4];
  uint8_t subnet[4];
  uint8_t gateway[4];
  uint8_t buffer_kib;     // TX and RX memory of socket 0: 2 (the reset layout), 4, 8 or 16
  bool use_intn = false;  // sleep on INTn where the library would poll; most cannot
};

struct Endpoint {
  uint8_t ip[4];
  uint16_t port;
};

class SocketLibrary {
 public:
  // Resets and configures the chip as the library does at start; false if no W5500 answers.
  virtual bool begin(const NetConfig& config) = 0;

  virtual bool tcp_connect(const Endpoint& peer, uint16_t local_port) = 0;
  virtual bool tcp_listen(uint16_t local_port) = 0;
  // Whether a connection is up (a listener: whether somebody has connected).
  virtual bool tcp_connected() = 0;
  // Returns how many bytes the library says it took.
  virtual uint16_t tcp_write(const uint8_t* data, uint16_t count) = 0;
  virtual uint16_t tcp_available() = 0;
  // Returns how many bytes were stored, at most `count`; 0 if none are there.
  virtual uint16_t tcp_read(uint8_t* data, uint16_t count) = 0;
  virtual void tcp_stop() = 0;

  virtual bool udp_open(uint16_t local_port) = 0;
  // One datagram; false if the chip reported a timeout.
  virtual bool udp_send(const Endpoint& to, const uint8_t* data, uint16_t count) = 0;
  // Moves on to the next datagram and returns its payload size; 0 if none is there.
  virtual uint16_t udp_parse() = 0;
  // Reads from the datagram that udp_parse() found; returns how many bytes were stored.
  virtual uint16_t udp_read(uint8_t* data, uint16_t count) = 0;

  // What the library does from a timer of its own while the sketch does something else, if that is due by now. Returns
  // after how many microseconds, at least 1, it is due again. Every other call looks after this by itself: it is for
  // sketches that rest. Most libraries do nothing unless they are called.
  static constexpr uint32_t never_us = 0xFFFFFFFF;
  virtual uint32_t run_background() { return never_us; }

 protected:
  ~SocketLibrary() = default;
};

}  // namespace patterns

#endif
