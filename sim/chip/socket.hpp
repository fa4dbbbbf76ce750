// One of the eight sockets: its registers as the host wrote them, its pointers, and the state of its protocol.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/chip/arp.hpp"
#include "sim/chip/igmp.hpp"
#include "sim/chip/latest_causes.hpp"
#include "sim/chip/macraw.hpp"
#include "sim/chip/register_map.hpp"
#include "sim/chip/tcp.hpp"
#include "sim/chip/udp.hpp"
#include "sim/core/bytes.hpp"
#include "sim/core/timer.hpp"
#include "sim/wire/ethernet.hpp"

namespace wizloop::chip {

struct Socket {
  explicit Socket(EventQueue& queue) : timer{queue} { reset_registers(); }

  int number = 0;

  // Registers that simply hold what was written. Sn_CR, Sn_IR, Sn_SR, the pointers and the size counters are below.
  std::array<std::uint8_t, socket_block_bytes> bytes{};

  std::uint8_t command = 0;  // Sn_CR reads this until
  Instant command_accepted{};
  std::uint8_t interrupts = 0;  // Sn_IR
  LatestCauses latest_causes;
  std::uint8_t plain_status = sn_sr::CLOSED;  // Sn_SR outside TCP
  std::uint8_t stale_status = sn_sr::CLOSED;  // Sn_SR still reads this until
  Instant status_shown{};

  // Pointers are 16-bit and free running; the ring folds them. Sn_TX_WR and Sn_RX_RD are written at any time and taken
  // over by SEND and RECV; a read of Sn_TX_WR gives the value last taken over (observed; Arduino libraries rely on it).
  std::uint16_t tx_wr_written = 0;
  std::uint16_t tx_wr = 0;
  std::uint16_t tx_rd = 0;
  std::uint32_t tx_sequence_base = 0;  // the sequence number at TX pointer 0
  std::uint16_t rx_rd_written = 0;
  std::uint16_t rx_rd = 0;
  std::uint16_t rx_wr = 0;

  // Sn_MSSR as the host wrote it last. The register itself shows what OPEN made of that, and on a passive connection
  // the peer's (datasheet 1.0).
  std::uint16_t own_mss = 0;

  TcpConnection tcp;
  DatagramSend datagrams;  // UDP and IPRAW
  RawSend raw;             // MACRAW
  ArpResolver arp;
  GroupMember group;              // multicast UDP
  wire::Ipv4Address arp_for = 0;  // the address that the MAC is wanted for; arp asks for its next hop
  std::optional<wire::Ipv4Address> known_destination;  // whose MAC Sn_DHAR holds
  bool sending = false;                                // between SEND and SENDOK or TIMEOUT
  std::uint8_t send_again = 0;                         // the SEND or SEND_MAC that was given meanwhile; 0: none
  bool connecting = false;                             // CONNECT waits for ARP
  std::uint16_t ip_identification = 0;                 // where each socket counts for itself
  std::uint8_t open_mode = 0;                          // Sn_MR as of OPEN
  std::uint32_t epoch = 0;  // changes with OPEN, CLOSE and reset, so that late events of an earlier life are dropped

  Timer timer;  // the protocol's next deadline, or something earlier

  bool is_tcp() const { return protocol() == sn_mr::TCP; }
  // Sn_MR takes effect at OPEN; only the filters of MACRAW follow it at once (drivers switch them on an open socket).
  std::uint8_t protocol() const { return open_mode & sn_mr::protocol; }
  bool mode(std::uint8_t sn_mr_bit) const { return (open_mode & sn_mr_bit) != 0; }
  bool macraw_filter(std::uint8_t sn_mr_bit) const { return (bytes[socket::Sn_MR] & sn_mr_bit) != 0; }
  bool sends_datagrams() const { return plain_status == sn_sr::UDP || plain_status == sn_sr::IPRAW; }
  std::uint8_t status() const { return tcp.status() != sn_sr::CLOSED ? tcp.status() : plain_status; }
  // CONNECT was given and the SYN has not left yet.
  bool resolving() const { return connecting || tcp.connecting(); }
  // Sn_SR as read: a command shows in it only after a while.
  std::uint8_t shown_status(Instant now) const { return now < status_shown ? stale_status : status(); }

  std::uint16_t port() const { return load16(&bytes[socket::Sn_PORT]); }
  std::uint16_t dport() const { return load16(&bytes[socket::Sn_DPORT]); }
  std::uint32_t dipr() const { return load32(&bytes[socket::Sn_DIPR]); }
  // The largest payload of one packet: what the host wrote to Sn_MSSR if the mode allows it (datasheet 1.0).
  std::uint16_t largest_payload() const {
    const std::uint16_t most = protocol() == sn_mr::UDP ? 1472 : protocol() == sn_mr::IPRAW ? 1480 : 1460;
    return own_mss == 0 || own_mss > most ? most : own_mss;
  }
  wire::MacAddress dhar() const { return wire::load_mac(&bytes[socket::Sn_DHAR]); }
  void set_dhar(const wire::MacAddress& mac) { std::copy(mac.begin(), mac.end(), &bytes[socket::Sn_DHAR]); }

  std::uint16_t tx_pointer(std::uint32_t sequence) const {
    return static_cast<std::uint16_t>(sequence - tx_sequence_base);
  }
  // Bytes of the TX ring that are not free: to be sent, or in TCP also sent and not yet acknowledged. Any number when
  // firmware has moved Sn_TX_WR too far.
  std::uint16_t tx_used() const {
    return is_tcp() && tcp.status() >= sn_sr::ESTABLISHED ? static_cast<std::uint16_t>(tcp.unacknowledged_bytes())
                                                          : static_cast<std::uint16_t>(tx_wr - tx_rd);
  }
  std::uint16_t received_size() const { return static_cast<std::uint16_t>(rx_wr - rx_rd); }  // Sn_RX_RSR

  // Everything to reset values; the memory is not touched (MR.RST, RSTn).
  void reset() {
    ++epoch;
    reset_registers();
    command = interrupts = 0;
    command_accepted = {};
    plain_status = sn_sr::CLOSED;
    status_shown = {};
    tx_wr_written = tx_wr = tx_rd = rx_rd_written = rx_rd = rx_wr = own_mss = 0;
    open_mode = 0;
    tcp.close();
    stop_sending();
    timer.stop();
  }

  // Whatever SEND or CONNECT started.
  void stop_sending() {
    datagrams.stop();
    raw.stop();
    arp.stop();
    group = GroupMember{};
    known_destination.reset();
    sending = connecting = false;
    send_again = 0;
  }

 private:
  void reset_registers() {
    bytes.fill(0);
    for (const RegisterSpec& spec : socket_registers()) {
      for (std::size_t i = 0; i < spec.width; ++i) {
        bytes[spec.offset + i] = static_cast<std::uint8_t>(spec.reset >> (8 * (spec.width - 1 - i)));
      }
    }
  }
};

}  // namespace wizloop::chip
