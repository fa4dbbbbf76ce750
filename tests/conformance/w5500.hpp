// The registers of the W5500 once more, transcribed by hand from the datasheet (4.1, 4.2) for the tests alone: neither
// the model's map nor the driver's is used, so a slip in one of them shows.
#pragma once

#include <cstdint>
#include <string_view>

namespace wizloop::conformance {

enum class Access : std::uint8_t {
  RW,    // keeps what is written
  R,     // ignores writes
  RW1C,  // clears the bits that are written as 1
  RWSC,  // clears itself
};

struct Register {
  std::string_view name;
  std::uint16_t offset;
  int width;  // bytes, the high one first
  Access access;
  std::uint64_t reset;
  std::uint64_t kept;  // RW: the bits that read back as written at any time
};

// clang-format off
inline constexpr Register common_registers[] = {
    {"MR",       0x0000, 1, Access::RW,   0x00,         0x3A},  // RST clears itself; 6, 2, 0 reserved
    {"GAR",      0x0001, 4, Access::RW,   0,            0xFFFFFFFF},
    {"SUBR",     0x0005, 4, Access::RW,   0,            0xFFFFFFFF},
    {"SHAR",     0x0009, 6, Access::RW,   0,            0xFFFFFFFFFFFF},
    {"SIPR",     0x000F, 4, Access::RW,   0,            0xFFFFFFFF},
    {"INTLEVEL", 0x0013, 2, Access::RW,   0x0000,       0xFFFF},
    {"IR",       0x0015, 1, Access::RW1C, 0x00,         0},
    {"IMR",      0x0016, 1, Access::RW,   0x00,         0xF0},  // 3:0 reserved, as in IR
    {"SIR",      0x0017, 1, Access::R,    0x00,         0},
    {"SIMR",     0x0018, 1, Access::RW,   0x00,         0xFF},
    {"RTR",      0x0019, 2, Access::RW,   0x07D0,       0xFFFF},
    {"RCR",      0x001B, 1, Access::RW,   0x08,         0xFF},
    {"PTIMER",   0x001C, 1, Access::RW,   0x28,         0xFF},
    {"PMAGIC",   0x001D, 1, Access::RW,   0x00,         0xFF},
    {"PHAR",     0x001E, 6, Access::RW,   0,            0xFFFFFFFFFFFF},
    {"PSID",     0x0024, 2, Access::RW,   0x0000,       0xFFFF},
    {"PMRU",     0x0026, 2, Access::RW,   0xFFFF,       0xFFFF},
    {"UIPR",     0x0028, 4, Access::R,    0,            0},
    {"UPORTR",   0x002C, 2, Access::R,    0x0000,       0},
    {"PHYCFGR",  0x002E, 1, Access::RW,   0xB8,         0xF8},  // 2:0 follow the link
    {"VERSIONR", 0x0039, 1, Access::R,    0x04,         0},
};

inline constexpr Register socket_registers[] = {
    {"Sn_MR",         0x0000, 1, Access::RW,   0x00,           0xFF},
    {"Sn_CR",         0x0001, 1, Access::RWSC, 0x00,           0},
    {"Sn_IR",         0x0002, 1, Access::RW1C, 0x00,           0},
    {"Sn_SR",         0x0003, 1, Access::R,    0x00,           0},
    {"Sn_PORT",       0x0004, 2, Access::RW,   0x0000,         0xFFFF},
    {"Sn_DHAR",       0x0006, 6, Access::RW,   0xFFFFFFFFFFFF, 0xFFFFFFFFFFFF},
    {"Sn_DIPR",       0x000C, 4, Access::RW,   0,              0xFFFFFFFF},
    {"Sn_DPORT",      0x0010, 2, Access::RW,   0x0000,         0xFFFF},
    {"Sn_MSSR",       0x0012, 2, Access::RW,   0x0000,         0xFFFF},
    {"Sn_PROTO",      0x0014, 1, Access::RW,   0x00,           0xFF},
    {"Sn_TOS",        0x0015, 1, Access::RW,   0x00,           0xFF},
    {"Sn_TTL",        0x0016, 1, Access::RW,   0x80,           0xFF},
    {"Sn_RXBUF_SIZE", 0x001E, 1, Access::RW,   0x02,           0x1F},
    {"Sn_TXBUF_SIZE", 0x001F, 1, Access::RW,   0x02,           0x1F},
    {"Sn_TX_FSR",     0x0020, 2, Access::R,    0x0800,         0},
    {"Sn_TX_RD",      0x0022, 2, Access::R,    0x0000,         0},
    {"Sn_TX_WR",      0x0024, 2, Access::RW,   0x0000,         0},  // a read gives the value of the last SEND
    {"Sn_RX_RSR",     0x0026, 2, Access::R,    0x0000,         0},
    {"Sn_RX_RD",      0x0028, 2, Access::RW,   0x0000,         0xFFFF},
    {"Sn_RX_WR",      0x002A, 2, Access::R,    0x0000,         0},
    {"Sn_IMR",        0x002C, 1, Access::RW,   0xFF,           0xFF},
    {"Sn_FRAG",       0x002D, 2, Access::RW,   0x4000,         0xFFFF},
    {"Sn_KPALVTR",    0x002F, 1, Access::RW,   0x00,           0xFF},
};
// clang-format on

inline constexpr std::uint8_t common_block = 0x00;
constexpr std::uint8_t registers_of(int socket) { return static_cast<std::uint8_t>(4 * socket + 1); }
constexpr std::uint8_t tx_of(int socket) { return static_cast<std::uint8_t>(4 * socket + 2); }
constexpr std::uint8_t rx_of(int socket) { return static_cast<std::uint8_t>(4 * socket + 3); }

namespace cr {
inline constexpr std::uint8_t OPEN = 0x01, LISTEN = 0x02, CONNECT = 0x04, DISCON = 0x08, CLOSE = 0x10, SEND = 0x20,
                              SEND_MAC = 0x21, SEND_KEEP = 0x22, RECV = 0x40;
}
namespace sr {
inline constexpr std::uint8_t CLOSED = 0x00, INIT = 0x13, LISTEN = 0x14, SYNSENT = 0x15, SYNRECV = 0x16,
                              ESTABLISHED = 0x17, FIN_WAIT = 0x18, CLOSING = 0x1A, TIME_WAIT = 0x1B, CLOSE_WAIT = 0x1C,
                              LAST_ACK = 0x1D, UDP = 0x22, IPRAW = 0x32, MACRAW = 0x42;
}
namespace ir {  // Sn_IR
inline constexpr std::uint8_t SENDOK = 0x10, TIMEOUT = 0x08, RECV = 0x04, DISCON = 0x02, CON = 0x01;
}
namespace mode {  // Sn_MR
inline constexpr std::uint8_t TCP = 0x01, UDP = 0x02, IPRAW = 0x03, MACRAW = 0x04;
inline constexpr std::uint8_t ND = 0x20;                                                   // TCP
inline constexpr std::uint8_t MULTI = 0x80, BCASTB = 0x40, IGMP_V1 = 0x20, UCASTB = 0x10;  // UDP
inline constexpr std::uint8_t MFEN = 0x80, MMB = 0x20, MIP6B = 0x10;                       // MACRAW, BCASTB as in UDP
}  // namespace mode

}  // namespace wizloop::conformance
