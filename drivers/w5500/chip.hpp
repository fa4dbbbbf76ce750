// The W5500 as a whole: reset and identity, addresses, retry timing, buffer sizes, PHY, interrupt masks. Sockets are in
// socket.hpp. Each call's frames are counted in README.md.
//
//   BurstBus bus(port);
//   Chip chip(bus, port);
//   if (!chip.reset()) ...                       // no chip, or not a W5500
//   chip.set_network({mac, ip, subnet, gateway});
//
// Calls into one Chip and its sockets come from one thread at a time.
#ifndef WIZLOOP_W5500_CHIP_HPP
#define WIZLOOP_W5500_CHIP_HPP

#include <stdint.h>

#include "bus.hpp"
#include "port.hpp"
#include "registers.hpp"
#include "result.hpp"

namespace w5500 {

struct Network {
  uint8_t mac[6];  // SHAR; the chip has none of its own
  uint8_t ip[4];   // SIPR
  uint8_t subnet[4];
  uint8_t gateway[4];
};

// KiB for each socket: 0, 1, 2, 4, 8 or 16, and at most 16 in all in each direction.
struct BufferSizes {
  uint8_t tx_kib[socket_count];
  uint8_t rx_kib[socket_count];
};

struct Interrupts {
  IR common;
  IR mask;          // IMR
  uint8_t sockets;  // SIR: bit n for socket n
};

class Chip {
 public:
  Chip(Bus& bus, Port& port) : bus_(bus), port_(port), interrupt_sockets_(0) {}

  // By RSTn where it is wired, otherwise by MR.RST; then waits until the chip shows who it is. Sockets are closed and
  // all settings are gone, on the wired path the PHY's too.
  Result<void> reset(uint32_t timeout_us = 100000);
  // MR keeps what is written to it and VERSIONR reads 0x04. Some units answer 0 for a while after reset: polled.
  Result<void> identify(uint32_t timeout_us = 100000);

  // GAR, SUBR, SHAR and SIPR are neighbours: one frame.
  Result<void> set_network(const Network& network);
  Result<Network> network();

  // RTR in units of 100 us and RCR: with the chip's defaults (2000, 8) ARP gives up after 1.8 s, TCP after 31.8 s.
  Result<void> set_retry(uint16_t time_100us, uint8_t count);

  // All sockets must be closed, since a size moves the rings of the sockets above it. Shrinks before it grows, so that
  // the sum of what the chip holds is never above 16 KiB, not even between two frames.
  Result<void> set_buffer_sizes(const BufferSizes& sizes);

  Result<PHYCFGR> phy();
  // Restarts the PHY in this mode. Forcing a mode against a peer that negotiates makes a duplex mismatch.
  Result<void> set_phy_mode(OPMDC mode);
  // Polls LNK each millisecond; state_timeout if there is no link in time. Negotiation takes some seconds.
  Result<void> wait_for_link(uint32_t timeout_us);

  // Lets INTn follow these sockets (SIMR), and lets them sleep on Port::wait_for_interrupt() where they would poll.
  Result<void> use_interrupt_pin(uint8_t sockets);
  bool uses_interrupt_pin(uint8_t socket) const { return ((interrupt_sockets_ >> socket) & 1) != 0; }
  // Which bits of IR reach INTn.
  Result<void> set_interrupt_mask(IR mask);
  // How long INTn stays high between two interrupts: (level + 1) * 4 / 150 MHz, 0 for no pause.
  Result<void> set_interrupt_pause(uint16_t level);
  Result<Interrupts> read_interrupts();  // interrupts() is a macro of Arduino cores
  Result<void> clear_interrupts(IR causes);

  // Registers by name, for what has no call of its own. False: the bus failed.
  bool read(CommonRegister from, uint8_t* data, uint16_t count) {
    return bus_.read(common_block, static_cast<uint16_t>(from), data, count);
  }
  bool write(CommonRegister to, const uint8_t* data, uint16_t count) {
    return bus_.write(common_block, static_cast<uint16_t>(to), data, count);
  }
  bool read(uint8_t socket, SocketRegister from, uint8_t* data, uint16_t count) {
    return bus_.read(socket_block(socket), static_cast<uint16_t>(from), data, count);
  }
  bool write(uint8_t socket, SocketRegister to, const uint8_t* data, uint16_t count) {
    return bus_.write(socket_block(socket), static_cast<uint16_t>(to), data, count);
  }

  Bus& bus() { return bus_; }
  Port& port() { return port_; }

 private:
  Error probe();

  Bus& bus_;
  Port& port_;
  uint8_t interrupt_sockets_;
};

}  // namespace w5500

#endif
