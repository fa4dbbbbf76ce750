// How the libraries reach the chip's registers and buffers (datasheet 3 and 4): the parts that two or more patterns
// have in common. Each function states its SPI frames.
//
// A library moves single registers and buffers through different functions of its own. Somebody who speeds it up with
// bursts or DMA changes the second kind only, so the two kinds go to different buses here.
#ifndef WIZLOOP_PATTERNS_CHIP_ACCESS_HPP
#define WIZLOOP_PATTERNS_CHIP_ACCESS_HPP

#include <stdint.h>

#include "drivers/w5500/bus.hpp"
#include "drivers/w5500/deadline.hpp"
#include "drivers/w5500/registers.hpp"

namespace patterns {

using w5500::CommonRegister;
using w5500::Deadline;
using w5500::MR;
using w5500::Sn_CR;
using w5500::Sn_IR;
using w5500::Sn_MR;
using w5500::Sn_SR;
using w5500::socket_count;
using w5500::SocketRegister;

constexpr uint8_t no_socket = socket_count;

// The libraries leave most waits unbounded. Here a chip that never answers makes a call fail instead of hanging the
// process, after longer than the 31.8 s in which a chip with the reset values of RTR and RCR gives up a connection by
// itself. Looking at the clock adds no SPI frame to a pattern.
constexpr uint32_t give_up_us = 60000000;

// What the chip puts before each datagram in the receive buffer: peer address, peer port, payload size.
constexpr uint16_t datagram_header_bytes = 8;
uint16_t payload_size_of(const uint8_t (&header)[datagram_header_bytes]);

inline bool is_zero(const uint8_t (&ip)[4]) { return (ip[0] | ip[1] | ip[2] | ip[3]) == 0; }
inline bool is_all_ones(const uint8_t (&ip)[4]) { return (ip[0] & ip[1] & ip[2] & ip[3]) == 0xFF; }

class ChipAccess {
 public:
  // `registers` carries what a library moves through its single-register functions, `data` what it moves through its
  // buffer functions. They may be one bus.
  ChipAccess(w5500::Bus& registers, w5500::Bus& data) : registers_(registers), data_(data) {}

  Sn_SR status(uint8_t socket) { return static_cast<Sn_SR>(read_socket(socket, SocketRegister::Sn_SR)); }
  Sn_IR interrupts(uint8_t socket) { return Sn_IR{read_socket(socket, SocketRegister::Sn_IR)}; }
  void clear_interrupts(uint8_t socket, uint8_t bits) { write_socket(socket, SocketRegister::Sn_IR, bits); }

  // One frame each. A read that the bus could not do gives 0, which the libraries take for a closed socket.
  uint8_t read_common(CommonRegister from);
  void write_common(CommonRegister to, uint8_t value);
  uint8_t read_socket(uint8_t socket, SocketRegister from);
  void write_socket(uint8_t socket, SocketRegister to, uint8_t value);

  // A 16-bit register as two one-byte frames, high byte first: Ethernet2, Ethernet3, ioLibrary.
  uint16_t read_socket_halves(uint8_t socket, SocketRegister from);
  void write_socket_halves(uint8_t socket, SocketRegister to, uint16_t value);
  // A 16-bit register as one two-byte frame: PJRC Ethernet.
  uint16_t read_socket_word(uint8_t socket, SocketRegister from);
  void write_socket_word(uint8_t socket, SocketRegister to, uint16_t value);

  // A counter that the chip may change between its halves, read as pairs until the two of a pair agree; the second of a
  // pair is skipped where the first is 0. Two frames for 0, else four. Ethernet2, Ethernet3, ioLibrary.
  uint16_t read_socket_counter(uint8_t socket, SocketRegister from);

  // Writes Sn_CR, then reads it until it is 0. False if it never is.
  bool command(uint8_t socket, Sn_CR command);
  // Writes Sn_CR and does not look whether the chip took the command.
  void issue(uint8_t socket, Sn_CR command) {
    write_socket(socket, SocketRegister::Sn_CR, static_cast<uint8_t>(command));
  }

  // The check of a W5500 that began with the Arduino library Ethernet 2: MR reads back as 08, 10 and 00, VERSIONR is 4.
  // Seven frames; ends at the first that differs. PJRC Ethernet, QNEthernet.
  bool has_registers_of_w5500();

  // One frame each on the data bus.
  bool write_common_array(CommonRegister to, const uint8_t* data, uint16_t count);
  bool read_common_array(CommonRegister from, uint8_t* data, uint16_t count);
  bool write_socket_array(uint8_t socket, SocketRegister to, const uint8_t* data, uint16_t count);
  bool write_tx_buffer(uint8_t socket, uint16_t address, const uint8_t* data, uint16_t count);
  bool read_rx_buffer(uint8_t socket, uint16_t address, uint8_t* data, uint16_t count);

  // Copies to the TX buffer `offset` bytes behind Sn_TX_WR and moves Sn_TX_WR behind the copy: 2 + 1 + 2 frames.
  // Ethernet2, Ethernet3, ioLibrary.
  bool append_to_tx(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count);
  // Copies from Sn_RX_RD on and moves Sn_RX_RD: 2 + 1 + 2 frames. The same libraries.
  bool take_from_rx(uint8_t socket, uint8_t* data, uint16_t count);

 private:
  // Far more than the microsecond that the chip needs to take a command or to complete an update of a counter.
  static constexpr uint32_t poll_limit = 100000;

  w5500::Bus& registers_;
  w5500::Bus& data_;
};

}  // namespace patterns

#endif
