// The registers of the W5500: name, offset, width, access and reset value (datasheet 4.1 and 4.2). What a register does
// when it is written or read is in chip.cpp and socket_engine.cpp; this is only what holds still.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wizloop::chip {

enum class Access : std::uint8_t {
  read_write,
  read_only,
  write_one_to_clear,
  self_clearing,
};

struct RegisterSpec {
  std::string_view name;
  std::uint16_t offset;
  std::uint8_t width;  // bytes
  Access access;
  std::uint64_t reset;  // big-endian over `width` bytes
};

std::span<const RegisterSpec> common_registers();
std::span<const RegisterSpec> socket_registers();

inline constexpr std::uint16_t common_block_bytes = 0x3A;  // 0x0000 to VERSIONR
inline constexpr std::uint16_t socket_block_bytes = 0x30;  // 0x0000 to Sn_KPALVTR

// The register that holds this byte, or null where the datasheet has none.
const RegisterSpec* common_register_at(std::uint16_t offset);
const RegisterSpec* socket_register_at(std::uint16_t offset);

// Whether there is one, for who asks at each byte.
extern const std::uint64_t common_bytes_held, socket_bytes_held;  // a bit per byte of the block
inline bool is_held(std::uint64_t bytes_held, std::uint16_t offset) {
  return offset < 64 && (bytes_held >> offset & 1) != 0;
}
inline bool holds_common_register(std::uint16_t offset) { return is_held(common_bytes_held, offset); }
inline bool holds_socket_register(std::uint16_t offset) { return is_held(socket_bytes_held, offset); }

// Offsets, for code that handles one register.
namespace common {
inline constexpr std::uint16_t MR = 0x00, GAR = 0x01, SUBR = 0x05, SHAR = 0x09, SIPR = 0x0F, INTLEVEL = 0x13, IR = 0x15,
                               IMR = 0x16, SIR = 0x17, SIMR = 0x18, RTR = 0x19, RCR = 0x1B, PTIMER = 0x1C,
                               PMAGIC = 0x1D, PHAR = 0x1E, PSID = 0x24, PMRU = 0x26, UIPR = 0x28, UPORTR = 0x2C,
                               PHYCFGR = 0x2E, VERSIONR = 0x39;
}
namespace socket {
inline constexpr std::uint16_t Sn_MR = 0x00, Sn_CR = 0x01, Sn_IR = 0x02, Sn_SR = 0x03, Sn_PORT = 0x04, Sn_DHAR = 0x06,
                               Sn_DIPR = 0x0C, Sn_DPORT = 0x10, Sn_MSSR = 0x12, Sn_PROTO = 0x14, Sn_TOS = 0x15,
                               Sn_TTL = 0x16, Sn_RXBUF_SIZE = 0x1E, Sn_TXBUF_SIZE = 0x1F, Sn_TX_FSR = 0x20,
                               Sn_TX_RD = 0x22, Sn_TX_WR = 0x24, Sn_RX_RSR = 0x26, Sn_RX_RD = 0x28, Sn_RX_WR = 0x2A,
                               Sn_IMR = 0x2C, Sn_FRAG = 0x2D, Sn_KPALVTR = 0x2F;
}

// Bits and values (datasheet 4.1, 4.2).
namespace mr {
inline constexpr std::uint8_t RST = 0x80, WOL = 0x20, PB = 0x10, PPPoE = 0x08, FARP = 0x02;
}
namespace ir {
inline constexpr std::uint8_t CONFLICT = 0x80, UNREACH = 0x40, PPPoE = 0x20, MP = 0x10;
}
namespace sn_mr {
inline constexpr std::uint8_t MULTI = 0x80, BCASTB = 0x40, ND = 0x20, UCASTB = 0x10, protocol = 0x0F;
inline constexpr std::uint8_t MC = 0x20;                              // with MULTI: IGMP version 1
inline constexpr std::uint8_t MFEN = 0x80, MMB = 0x20, MIP6B = 0x10;  // in MACRAW
inline constexpr std::uint8_t CLOSED = 0, TCP = 1, UDP = 2, IPRAW = 3, MACRAW = 4,
                              PPPoE = 5;  // socket 0 of older siblings
}  // namespace sn_mr
namespace sn_ir {
inline constexpr std::uint8_t SENDOK = 0x10, TIMEOUT = 0x08, RECV = 0x04, DISCON = 0x02, CON = 0x01, all = 0x1F;
}
namespace sn_cr {
inline constexpr std::uint8_t OPEN = 0x01, LISTEN = 0x02, CONNECT = 0x04, DISCON = 0x08, CLOSE = 0x10, SEND = 0x20,
                              SEND_MAC = 0x21, SEND_KEEP = 0x22, RECV = 0x40;
inline constexpr std::uint8_t PCON = 0x23, PPP_last = 0x28;  // PPPoE commands of older siblings
}  // namespace sn_cr
namespace sn_sr {
inline constexpr std::uint8_t CLOSED = 0x00, ARP = 0x01, INIT = 0x13, LISTEN = 0x14, SYNSENT = 0x15, SYNRECV = 0x16,
                              ESTABLISHED = 0x17, FIN_WAIT = 0x18, CLOSING = 0x1A, TIME_WAIT = 0x1B, CLOSE_WAIT = 0x1C,
                              LAST_ACK = 0x1D, UDP = 0x22, IPRAW = 0x32, MACRAW = 0x42;
}

inline constexpr int socket_count = 8;

}  // namespace wizloop::chip
