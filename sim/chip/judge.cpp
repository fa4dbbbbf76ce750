#include "sim/chip/judge.hpp"

#include <fmt/format.h>

namespace wizloop::chip {
namespace {

const RegisterSpec* spec_of(Block block, std::uint16_t offset) {
  return block.is_common() ? common_register_at(offset) : socket_register_at(offset);
}

std::string place_of(Block block) {
  return block.is_common() ? std::string{"common"} : fmt::format("S{}", block.socket());
}

}  // namespace

void Judge::on_block_selected(Block block) {
  if (!block.is_reserved()) return;
  context_.findings.add(context_.queue.now(), Rule::reserved_block, fmt::format("BSB {}", block.bsb));
}

void Judge::on_register_read(Block block, std::uint16_t offset, std::uint8_t /*value*/) {
  if (block.is_reserved() || spec_of(block, offset) != nullptr) return;
  context_.findings.add(context_.queue.now(), Rule::reserved_register,
                        fmt::format("read of {} 0x{:04X}", place_of(block), offset));
}

void Judge::on_register_write(Block block, std::uint16_t offset, std::uint8_t /*value*/) {
  if (block.is_reserved()) return;
  const RegisterSpec* spec = spec_of(block, offset);
  if (spec == nullptr) {
    context_.findings.add(context_.queue.now(), Rule::reserved_register,
                          fmt::format("write to {} 0x{:04X}", place_of(block), offset));
  } else if (spec->access == Access::read_only) {
    context_.findings.add(context_.queue.now(), Rule::write_to_read_only,
                          fmt::format("{} {}", place_of(block), spec->name));
  }
}

void Judge::on_illegal_command(const Socket& socket, std::uint8_t code) {
  context_.findings.add(
      context_.queue.now(), Rule::illegal_command,
      fmt::format("S{} Sn_CR = 0x{:02X} while Sn_SR = 0x{:02X}", socket.number, code, socket.status()));
}

void Judge::on_send(const Socket& socket, std::uint16_t length, std::uint16_t free) {
  if (length <= free) return;
  context_.findings.add(context_.queue.now(), Rule::write_beyond_free,
                        fmt::format("S{} Sn_TX_WR advanced by {} with Sn_TX_FSR = {}", socket.number, length, free));
}

void Judge::on_send_while_sending(const Socket& socket) {
  context_.findings.add(context_.queue.now(), Rule::send_while_sending, fmt::format("S{}", socket.number));
}

void Judge::on_not_modelled(std::string_view what) {
  context_.findings.add(context_.queue.now(), Rule::not_modelled, what);
}

}  // namespace wizloop::chip
