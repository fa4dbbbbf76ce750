// Looks over the firmware's shoulder: the chip tells it what firmware does, before it takes effect, and the judge adds
// a finding where a rule of the datasheet is broken. It never changes what the chip does; without it the chip would
// behave the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/chip/context.hpp"
#include "sim/chip/socket.hpp"
#include "sim/chip/spi_front.hpp"

namespace wizloop::chip {

class Judge {
 public:
  explicit Judge(Context& context) : context_{context} {}

  // SPI. A frame is what lies between select and deselect; `header_bytes` below 3 means that it was cut short.
  void on_select() {}
  void on_deselect(std::size_t /*header_bytes*/, std::size_t /*data_bytes*/) {}
  void on_block_selected(Block block);

  // Registers. A 16-bit register is two calls, high byte first.
  void on_register_read(Block block, std::uint16_t offset, std::uint8_t value);
  void on_register_write(Block block, std::uint16_t offset, std::uint8_t value);

  // Buffer data, in pieces of any size, from a 16-bit offset on that was not folded into the ring yet.
  void on_buffer_read(Block /*block*/, std::uint16_t /*offset*/, std::size_t /*bytes*/) {}
  void on_buffer_write(Block /*block*/, std::uint16_t /*offset*/, std::size_t /*bytes*/) {}

  // Commands.
  void on_illegal_command(const Socket& socket, std::uint8_t code);
  void on_send(const Socket& socket, std::uint16_t length, std::uint16_t free);
  void on_send_while_sending(const Socket& socket);
  void on_not_modelled(std::string_view what);

 private:
  Context& context_;
};

}  // namespace wizloop::chip
