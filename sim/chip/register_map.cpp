#include "sim/chip/register_map.hpp"

#include <array>

namespace wizloop::chip {
namespace {

using enum Access;

constexpr RegisterSpec common_map[] = {
    {"MR", common::MR, 1, read_write, 0x00},
    {"GAR", common::GAR, 4, read_write, 0},
    {"SUBR", common::SUBR, 4, read_write, 0},
    {"SHAR", common::SHAR, 6, read_write, 0},
    {"SIPR", common::SIPR, 4, read_write, 0},
    {"INTLEVEL", common::INTLEVEL, 2, read_write, 0x0000},
    {"IR", common::IR, 1, write_one_to_clear, 0x00},
    {"IMR", common::IMR, 1, read_write, 0x00},
    {"SIR", common::SIR, 1, read_only, 0x00},
    {"SIMR", common::SIMR, 1, read_write, 0x00},
    {"RTR", common::RTR, 2, read_write, 0x07D0},
    {"RCR", common::RCR, 1, read_write, 0x08},
    {"PTIMER", common::PTIMER, 1, read_write, 0x28},
    {"PMAGIC", common::PMAGIC, 1, read_write, 0x00},
    {"PHAR", common::PHAR, 6, read_write, 0},
    {"PSID", common::PSID, 2, read_write, 0x0000},
    {"PMRU", common::PMRU, 2, read_write, 0xFFFF},
    {"UIPR", common::UIPR, 4, read_only, 0},
    {"UPORTR", common::UPORTR, 2, read_only, 0x0000},
    {"PHYCFGR", common::PHYCFGR, 1, read_write, 0xB8},
    {"VERSIONR", common::VERSIONR, 1, read_only, 0x04},
};

constexpr RegisterSpec socket_map[] = {
    {"Sn_MR", socket::Sn_MR, 1, read_write, 0x00},
    {"Sn_CR", socket::Sn_CR, 1, self_clearing, 0x00},
    {"Sn_IR", socket::Sn_IR, 1, write_one_to_clear, 0x00},
    {"Sn_SR", socket::Sn_SR, 1, read_only, 0x00},
    {"Sn_PORT", socket::Sn_PORT, 2, read_write, 0x0000},
    {"Sn_DHAR", socket::Sn_DHAR, 6, read_write, 0xFFFFFFFFFFFF},
    {"Sn_DIPR", socket::Sn_DIPR, 4, read_write, 0},
    {"Sn_DPORT", socket::Sn_DPORT, 2, read_write, 0x0000},
    {"Sn_MSSR", socket::Sn_MSSR, 2, read_write, 0x0000},
    {"Sn_PROTO", socket::Sn_PROTO, 1, read_write, 0x00},
    {"Sn_TOS", socket::Sn_TOS, 1, read_write, 0x00},
    {"Sn_TTL", socket::Sn_TTL, 1, read_write, 0x80},
    {"Sn_RXBUF_SIZE", socket::Sn_RXBUF_SIZE, 1, read_write, 0x02},
    {"Sn_TXBUF_SIZE", socket::Sn_TXBUF_SIZE, 1, read_write, 0x02},
    {"Sn_TX_FSR", socket::Sn_TX_FSR, 2, read_only, 0x0800},
    {"Sn_TX_RD", socket::Sn_TX_RD, 2, read_only, 0x0000},
    {"Sn_TX_WR", socket::Sn_TX_WR, 2, read_write, 0x0000},
    {"Sn_RX_RSR", socket::Sn_RX_RSR, 2, read_only, 0x0000},
    {"Sn_RX_RD", socket::Sn_RX_RD, 2, read_write, 0x0000},
    {"Sn_RX_WR", socket::Sn_RX_WR, 2, read_only, 0x0000},
    {"Sn_IMR", socket::Sn_IMR, 1, read_write, 0xFF},
    {"Sn_FRAG", socket::Sn_FRAG, 2, read_write, 0x4000},
    {"Sn_KPALVTR", socket::Sn_KPALVTR, 1, read_write, 0x00},
};

// For each offset the index of its register plus one; 0 where there is none.
template <std::size_t Bytes, std::size_t Count>
constexpr std::array<std::uint8_t, Bytes> index_by_offset(const RegisterSpec (&map)[Count]) {
  std::array<std::uint8_t, Bytes> index{};
  for (std::size_t i = 0; i < Count; ++i) {
    for (std::size_t byte = 0; byte < map[i].width; ++byte) {
      index[map[i].offset + byte] = static_cast<std::uint8_t>(i + 1);
    }
  }
  return index;
}

constexpr std::uint64_t bytes_held(std::span<const std::uint8_t> index) {
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at < index.size(); ++at) bits |= std::uint64_t{index[at] != 0} << at;
  return bits;
}

constexpr auto common_index = index_by_offset<common_block_bytes>(common_map);
constexpr auto socket_index = index_by_offset<socket_block_bytes>(socket_map);

static_assert(common_block_bytes <= 64 && socket_block_bytes <= 64);

}  // namespace

const std::uint64_t common_bytes_held = bytes_held(common_index);
const std::uint64_t socket_bytes_held = bytes_held(socket_index);

std::span<const RegisterSpec> common_registers() { return common_map; }
std::span<const RegisterSpec> socket_registers() { return socket_map; }

const RegisterSpec* common_register_at(std::uint16_t offset) {
  if (offset >= common_index.size() || common_index[offset] == 0) return nullptr;
  return &common_map[common_index[offset] - 1];
}

const RegisterSpec* socket_register_at(std::uint16_t offset) {
  if (offset >= socket_index.size() || socket_index[offset] == 0) return nullptr;
  return &socket_map[socket_index[offset] - 1];
}

}  // namespace wizloop::chip
