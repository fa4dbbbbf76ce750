// The W5500's registers as the driver knows them: datasheet names, offsets, bits (datasheet 3.1, 3.2 and 4).
//
//   chip.read(CommonRegister::VERSIONR, &version, 1);      // 00 39 00, then one byte
//   if (PHYCFGR{raw}.LNK()) ...
//
// A state or command outside its enumeration keeps its raw number: Sn_SR is any byte, and a switch over it has a
// default.
#ifndef WIZLOOP_W5500_REGISTERS_HPP
#define WIZLOOP_W5500_REGISTERS_HPP

#include <stdint.h>

namespace w5500 {

constexpr uint8_t socket_count = 8;
constexpr uint8_t buffer_kib_total = 16;  // of TX memory, and as much again of RX memory

// Block select bits (BSB), datasheet 2.2.2.
constexpr uint8_t common_block = 0x00;
constexpr uint8_t socket_block(uint8_t socket) { return static_cast<uint8_t>(socket * 4 + 1); }
constexpr uint8_t tx_buffer_block(uint8_t socket) { return static_cast<uint8_t>(socket * 4 + 2); }
constexpr uint8_t rx_buffer_block(uint8_t socket) { return static_cast<uint8_t>(socket * 4 + 3); }

enum class CommonRegister : uint16_t {
  MR = 0x0000,
  GAR = 0x0001,       // 4 bytes
  SUBR = 0x0005,      // 4 bytes
  SHAR = 0x0009,      // 6 bytes
  SIPR = 0x000F,      // 4 bytes
  INTLEVEL = 0x0013,  // 2 bytes
  IR = 0x0015,
  IMR = 0x0016,
  SIR = 0x0017,
  SIMR = 0x0018,
  RTR = 0x0019,  // 2 bytes, unit 100 us
  RCR = 0x001B,
  PTIMER = 0x001C,
  PMAGIC = 0x001D,
  PHAR = 0x001E,    // 6 bytes
  PSID = 0x0024,    // 2 bytes
  PMRU = 0x0026,    // 2 bytes
  UIPR = 0x0028,    // 4 bytes
  UPORTR = 0x002C,  // 2 bytes
  PHYCFGR = 0x002E,
  VERSIONR = 0x0039,
};

enum class SocketRegister : uint16_t {
  Sn_MR = 0x0000,
  Sn_CR = 0x0001,
  Sn_IR = 0x0002,
  Sn_SR = 0x0003,
  Sn_PORT = 0x0004,   // 2 bytes
  Sn_DHAR = 0x0006,   // 6 bytes
  Sn_DIPR = 0x000C,   // 4 bytes
  Sn_DPORT = 0x0010,  // 2 bytes
  Sn_MSSR = 0x0012,   // 2 bytes
  Sn_PROTO = 0x0014,  // of IPRAW; not in the datasheet but in WIZnet's IPRAW application note
  Sn_TOS = 0x0015,
  Sn_TTL = 0x0016,
  Sn_RXBUF_SIZE = 0x001E,  // KiB
  Sn_TXBUF_SIZE = 0x001F,  // KiB
  Sn_TX_FSR = 0x0020,      // 2 bytes
  Sn_TX_RD = 0x0022,       // 2 bytes
  Sn_TX_WR = 0x0024,       // 2 bytes
  Sn_RX_RSR = 0x0026,      // 2 bytes
  Sn_RX_RD = 0x0028,       // 2 bytes
  Sn_RX_WR = 0x002A,       // 2 bytes
  Sn_IMR = 0x002C,
  Sn_FRAG = 0x002D,  // 2 bytes
  Sn_KPALVTR = 0x002F,
};

constexpr uint8_t version_w5500 = 0x04;  // what VERSIONR reads

struct MR {
  enum Bit : uint8_t { FARP = 0x02, PPPoE = 0x08, PB = 0x10, WOL = 0x20, RST = 0x80 };
  uint8_t raw;
  constexpr bool has(uint8_t bits) const { return (raw & bits) != 0; }
};

// IR, and with the same positions IMR.
struct IR {
  enum Bit : uint8_t { MP = 0x10, PPPoE = 0x20, UNREACH = 0x40, CONFLICT = 0x80 };
  uint8_t raw;
  constexpr bool has(uint8_t bits) const { return (raw & bits) != 0; }
};

// PHY operating mode, the OPMDC field of PHYCFGR.
enum class OPMDC : uint8_t {
  half_10 = 0,
  full_10 = 1,
  half_100 = 2,
  full_100 = 3,
  negotiate_half_100 = 4,
  power_down = 6,
  negotiate_all = 7,
};

struct PHYCFGR {
  uint8_t raw;
  constexpr bool LNK() const { return (raw & 0x01) != 0; }
  constexpr bool SPD() const { return (raw & 0x02) != 0; }  // 100 Mbit/s
  constexpr bool DPX() const { return (raw & 0x04) != 0; }  // full duplex
  constexpr OPMDC mode() const { return static_cast<OPMDC>((raw >> 3) & 0x07); }
  constexpr bool OPMD() const { return (raw & 0x40) != 0; }  // mode by OPMDC, not by the PMODE pins
  constexpr bool RST() const { return (raw & 0x80) != 0; }   // released; 0 holds the PHY in reset

  static constexpr PHYCFGR in_reset(OPMDC mode) {
    return PHYCFGR{static_cast<uint8_t>(0x40 | (static_cast<uint8_t>(mode) << 3))};
  }
  static constexpr PHYCFGR released(OPMDC mode) { return PHYCFGR{static_cast<uint8_t>(0x80 | in_reset(mode).raw)}; }
};

struct Sn_MR {
  enum Protocol : uint8_t { CLOSED = 0x00, TCP = 0x01, UDP = 0x02, IPRAW = 0x03, MACRAW = 0x04 };
  enum Bit : uint8_t { ND = 0x20 };  // TCP: acknowledge at once
  uint8_t raw;
};

enum class Sn_CR : uint8_t {
  NONE = 0x00,  // what it reads once a command is accepted
  OPEN = 0x01,
  LISTEN = 0x02,
  CONNECT = 0x04,
  DISCON = 0x08,
  CLOSE = 0x10,
  SEND = 0x20,
  SEND_MAC = 0x21,
  SEND_KEEP = 0x22,
  RECV = 0x40,
};

// Sn_IR, and with the same positions Sn_IMR. A bit is cleared by writing it as 1.
struct Sn_IR {
  enum Bit : uint8_t { CON = 0x01, DISCON = 0x02, RECV = 0x04, TIMEOUT = 0x08, SENDOK = 0x10, all = 0x1F };
  uint8_t raw;
  constexpr bool has(uint8_t bits) const { return (raw & bits) != 0; }
};

enum class Sn_SR : uint8_t {
  SOCK_CLOSED = 0x00,
  SOCK_INIT = 0x13,
  SOCK_LISTEN = 0x14,
  SOCK_SYNSENT = 0x15,
  SOCK_SYNRECV = 0x16,
  SOCK_ESTABLISHED = 0x17,
  SOCK_FIN_WAIT = 0x18,
  SOCK_CLOSING = 0x1A,
  SOCK_TIME_WAIT = 0x1B,
  SOCK_CLOSE_WAIT = 0x1C,
  SOCK_LAST_ACK = 0x1D,
  SOCK_UDP = 0x22,
  SOCK_IPRAW = 0x32,
  SOCK_MACRAW = 0x42,
};

}  // namespace w5500

#endif
