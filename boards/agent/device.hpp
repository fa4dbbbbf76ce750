// What every verb works with: console, chip, buffers, clock, counters. One of it in an Agent.
#ifndef WIZLOOP_AGENT_DEVICE_HPP
#define WIZLOOP_AGENT_DEVICE_HPP

#include "answer.hpp"
#include "clock.hpp"
#include "identity.hpp"
#include "line_reader.hpp"
#include "switch_bus.hpp"
#include "writer.hpp"

namespace agent {

// Memory that a main sets aside. `data` takes whole payloads; with less than min_data_bytes the agent does not work.
struct Buffers {
  char* line;
  uint16_t line_bytes;
  uint8_t* data;
  uint16_t data_bytes;
};
constexpr uint16_t min_line_bytes = 96;
constexpr uint16_t min_data_bytes = 320;

struct Counters {
  uint32_t requests = 0;
  uint32_t errors = 0;  // of the answers
  uint32_t crc_errors = 0;
  uint32_t bad_lines = 0;  // too long, bad bytes, no request
  uint32_t overruns = 0;
  uint32_t busy = 0;
  uint32_t cancelled = 0;
  uint32_t timeouts = 0;
  uint32_t last_us = 0;  // from the end of a request to the end of its answer
  uint32_t longest_us = 0;
};

struct Device {
  Device(Console& console_, w5500::Port& port_, const Identity& identity_, const Buffers& buffers_)
      : console(console_),
        port(port_),
        identity(identity_),
        buffers(buffers_),
        clock(port_),
        bus(port_),
        chip(bus, port_),
        in(console_, buffers_.line, buffers_.line_bytes),
        out(console_),
        network(identity_.network) {}

  // Resets the chip, gives it its addresses and finds out what the port offers.
  w5500::Error start_chip();
  // Local ports of clients, as RFC 6335 has them: 49152 and up, another one each time.
  uint16_t next_local_port();
  // The same memory, both ways, for at least the first `sockets`, and for as many as there is memory.
  w5500::Error share_memory(uint8_t sockets, uint8_t kib);
  // What share_memory() can give to each of so many sockets.
  static uint8_t largest_share_kib(uint8_t sockets);
  // Byte i of every stream is i mod 256: fills the buffer so that any 256 bytes from its start on may begin a piece.
  void fill_with_pattern();
  uint16_t longest_piece() const { return static_cast<uint16_t>(buffers.data_bytes - 256); }
  void release_select();

  Console& console;
  w5500::Port& port;
  const Identity& identity;
  Buffers buffers;
  Clock clock;
  SwitchBus bus;
  w5500::Chip chip;
  LineReader in;
  Writer out;
  w5500::Network network;
  uint8_t dns_servers[2][4] = {};                   // of the last DHCP lease
  w5500::Error chip_error = w5500::Error::no_chip;  // of the last start
  bool has_dma = false;
  bool has_reset_pin = false;
  bool has_interrupt_pin = false;
  bool selected = false;  // SCSn was left low by the verb spi
  uint16_t local_port = 49152;
  uint8_t memory_kib = 0;  // as share_memory() left it; 0: as after a reset
  uint8_t memory_sockets = 0;
  Counters counters;
};

// What goes wrong when bytes i, i + 1 ... of a stream are not what the pattern says.
uint16_t count_mismatches(const uint8_t* data, uint16_t count, uint64_t position);

}  // namespace agent

#endif
