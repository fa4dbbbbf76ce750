// A DHCP client (RFC 2131, options RFC 2132) on a UDP socket: gets an address, gives it to the chip, and keeps it.
//
//   DhcpClient dhcp(chip, 7, {"board-17", serial_number});
//   dhcp.start(mac);                                     // SHAR is written, SIPR is 0 from here on
//   for (;;) {
//     const Result<DhcpState> state = dhcp.poll();       // each 10 ms or so; at least once an hour
//     if (state && state.value() == DhcpState::bound) ...  dhcp.lease().ip is in SIPR, so sockets may be opened
//   }
// or, where nothing else is to be done meanwhile: if (!dhcp.acquire(30000000)) ...
//
// poll() looks at what has come and sends what is due; it waits for the chip alone, some milliseconds at most. Messages
// are made and read in pieces of 64 bytes in the chip's own memory, so that no buffer is needed: about 400 bytes of
// stack. The socket's rings have to be 1 KiB at least; while bound and not renewing, the socket is closed.
//
// What it does on its own:
//   * DISCOVER and REQUEST are repeated after 4, 8, 16, 32 and then each 64 s, each plus or minus up to a second (RFC
//     2131 4.1); a REQUEST without an answer is given up after the fourth.
//   * A granted address is probed before it is used, by a datagram to it while SIPR is 0: the chip then asks for its
//   MAC
//     as an ARP probe does (RFC 5227), which takes RTR x (RCR + 1), 1.8 s by default. If somebody answers, or IR shows
//     CONFLICT later, the address is given back by DECLINE, and ten seconds later all starts anew.
//   * From T1 on the lease is renewed with its server, from T2 on with any, each half of the time that is left but at
//     most once a minute. With the lease, or by a NAK, the address goes: SIPR is 0 again, and all starts anew.
#ifndef WIZLOOP_W5500_DHCP_HPP
#define WIZLOOP_W5500_DHCP_HPP

#include "chip.hpp"
#include "socket.hpp"

namespace w5500 {

struct DhcpOptions {
  const char* host_name = nullptr;  // up to 63 characters, used where it is
  uint32_t seed = 0;                // with the MAC: where transaction numbers and waits begin
  bool probe = true;                // false: an address is used at once
};

// An address that was not given is 0.0.0.0.
struct DhcpLease {
  static constexpr uint32_t infinite = 0xFFFFFFFF;

  uint8_t ip[4];
  uint8_t subnet[4];
  uint8_t router[4];  // the first one
  uint8_t dns[2][4];  // the first two
  uint8_t server[4];
  uint32_t lease_s;
  uint32_t renewal_s;    // T1
  uint32_t rebinding_s;  // T2
};

enum class DhcpState : uint8_t {
  stopped,
  waiting,     // before it starts anew
  selecting,   // DISCOVER was sent, or is about to be
  requesting,  // REQUEST was
  probing,     // asks whether somebody has the address
  bound,       // from here on the address is the chip's
  renewing,
  rebinding,
};

struct DhcpCounters {  // since start()
  uint16_t sent;
  uint16_t naks;
  uint16_t conflicts;
  uint16_t ignored;  // datagrams that were no answer to the last message, or damaged
};

class DhcpClient {
 public:
  DhcpClient(Chip& chip, uint8_t socket, const DhcpOptions& options = DhcpOptions())
      : chip_(chip), socket_(chip, socket), options_(options) {}

  // Forgets what was and begins. The first message leaves with the first poll().
  Result<void> start(const uint8_t (&mac)[6]);

  // An error is the bus's or the chip's; the next poll() tries again.
  Result<DhcpState> poll();

  // start() must have been called; polls until bound: state_timeout if that takes too long, and poll() may go on.
  Result<void> acquire(uint32_t timeout_us);

  // Gives the address back, waits up to timeout_us until the message has left, and stops: SIPR is 0.
  Result<void> release(uint32_t timeout_us = 2000000);

  DhcpState state() const { return state_; }
  bool has_address() const { return state_ >= DhcpState::bound; }
  const DhcpLease& lease() const { return lease_; }  // while has_address()
  uint32_t lease_age_s() const { return age_s_; }
  const DhcpCounters& counters() const { return counters_; }

 private:
  enum class Message : uint8_t { discover = 1, offer, request, decline, ack, nak, release };

  void advance_clock();
  uint32_t random();
  void begin_transaction(DhcpState state);
  void start_anew_in(uint32_t wait_ms);

  Error receive();
  Error take_message(const Datagram& datagram);
  void on_offer(const DhcpLease& offered);
  Error on_ack(const DhcpLease& granted);
  Error on_nak();

  Error send_what_is_due();
  Error watch_probe();
  Error watch_lease();
  Error take_up_lease();
  Error drop_lease();
  Error decline();

  Error open();
  // So that the next datagram can be made: opens the socket anew if the last one is stuck.
  Error make_ready();
  Error transmit(Message type);
  Error set_address(bool leased);
  Error renew(DhcpState as);

  Chip& chip_;
  UdpSocket socket_;
  DhcpOptions options_;
  uint8_t mac_[6] = {};
  DhcpState state_ = DhcpState::stopped;
  bool listening_ = false;  // the socket is open
  uint8_t attempt_ = 0;     // messages of this kind sent so far
  DhcpLease lease_ = {};
  DhcpCounters counters_ = {};
  uint32_t random_ = 0;
  uint32_t xid_ = 0;
  uint32_t clock_us_ = 0;   // up to when time was taken in
  uint32_t wait_ms_ = 0;    // until something is due
  uint16_t second_ms_ = 0;  // of the second under way
  uint32_t age_s_ = 0;      // of the lease: since the REQUEST that brought it (RFC 2131 4.4.5)
  uint32_t asked_s_ = 0;    // since the last REQUEST
  uint32_t began_s_ = 0;    // since the first message of this transaction
};

}  // namespace w5500

#endif
