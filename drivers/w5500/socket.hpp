// TCP and UDP on one of the chip's eight sockets (datasheet 4.2).
//
//   TcpSocket socket(chip, 0);
//   if (!socket.open(50000) || !socket.connect({{192, 168, 1, 10}, 5001})) ...
//   const Progress sent = socket.write(data, sizeof data);  // all of it, or how much and why no more
//   const Result<uint16_t> got = socket.read(buffer, sizeof buffer);
//   const Result<void> closed = socket.disconnect();
//
// Each wait has a deadline. Where a call takes timeout_us it bounds each wait of that call in which nothing moves;
// calls without one are bounded by the 100 ms that the chip gets to accept a command. A call that fails leaves the
// socket usable for close() and open() at least.
//
// How frames are saved, and why that is safe:
//   * Sn_CR, Sn_IR and Sn_SR are neighbours, so one frame (a poll) shows whether the last command was accepted, whether
//     the last SEND is done and whether the connection is up.
//   * SENDOK is not awaited after a SEND but before the next one, when the next data are already in the buffer. It is
//     cleared as soon as a poll shows it. There is never a SEND while another is under way.
//   * Between the driver's own commands Sn_TX_FSR and Sn_RX_RSR only grow, so that the last stable reading, less what
//     was used since, is a safe lower bound. They are read again only when that bound is not enough, and then not
//     before the last command was accepted.
//   * Sn_TX_WR and Sn_RX_RD are moved by the host alone once a connection is up (or a UDP socket open); they are read
//     at that moment and kept here.
#ifndef WIZLOOP_W5500_SOCKET_HPP
#define WIZLOOP_W5500_SOCKET_HPP

#include <stddef.h>
#include <stdint.h>

#include "chip.hpp"
#include "deadline.hpp"
#include "endpoint.hpp"
#include "registers.hpp"
#include "result.hpp"

namespace w5500 {

// What TCP and UDP share: commands, buffer pointers, counters.
class Socket {
 public:
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  uint8_t number() const { return number_; }

  // As the chip has it now.
  Result<Sn_SR> state() { return poll(); }

 protected:
  static constexpr uint32_t command_timeout_us = 100000;  // the chip needs about 1 us
  static constexpr uint32_t sendok_timeout_us = 1000000;  // from when on SENDOK is overdue if the TX ring is empty

  Socket(Chip& chip, uint8_t number) : chip_(chip), number_(number) {}
  ~Socket() = default;

  Chip& chip() { return chip_; }
  Port& port() { return chip_.port(); }

  // Closes what is open, then OPENs in this mode and waits for `opened`.
  Error open_as(uint8_t mode, uint16_t local_port, Sn_SR opened);
  Error close_now();
  // Takes over the pointers that OPEN, and once more the connection, has set.
  Error adopt_pointers();

  // Takes in Sn_CR, Sn_IR and Sn_SR, of which it returns the last: one frame, and one more if there are events to
  // clear.
  Result<Sn_SR> poll();
  // Polls at least once, until the last command is accepted.
  Result<Sn_SR> settle(const Deadline& deadline);
  // The same, until the last SEND is done too or the socket is closed. A peer may keep a SEND waiting up to the
  // deadline; but with the TX ring empty nothing is left to wait for but a SENDOK that the chip has lost: send_timeout,
  // sooner.
  Result<Sn_SR> finish_send(const Deadline& deadline);
  Error wait_for_state(Sn_SR wanted, const Deadline& deadline);
  Error command(Sn_CR command, const Deadline& deadline);
  // Between two polls. INTn announces what sets a bit of Sn_IR, and nothing else.
  void pause(const Deadline& deadline, bool interrupt_expected);

  // Two equal readings in a row. 0 counts at once, since a torn reading of a counter that grows errs to the low side.
  Result<uint16_t> read_counter(SocketRegister counter, uint16_t limit);

  // Data behind what was sent and `behind` bytes more, which the chip does not look at before send().
  Error load(const uint8_t* data, uint16_t count, uint16_t behind = 0);
  Error send(uint16_t count, const Deadline& deadline);
  // After a SEND that gave up: the next data go to where the chip will start, whatever it did with the last ones.
  Error forget_unsent();

  // `unreleased`: bytes that were fetched or skipped since the last release().
  Error refresh_received(uint16_t unreleased = 0);
  // Data from the front of the RX ring; skip() passes over them. The chip keeps their memory until release().
  Error fetch(uint8_t* data, uint16_t count);
  void skip(uint16_t count);
  Error release(const Deadline& deadline);

  bool timed_out() const { return Sn_IR{events_}.has(Sn_IR::TIMEOUT); }  // in a poll since OPEN
  void forget_timeout() { events_ = static_cast<uint8_t>(events_ & ~Sn_IR::TIMEOUT); }

  bool read_register(SocketRegister from, uint8_t* data, uint16_t count) {
    return chip_.read(number_, from, data, count);
  }
  bool write_register(SocketRegister to, const uint8_t* data, uint16_t count) {
    return chip_.write(number_, to, data, count);
  }

  uint16_t tx_bytes() const { return tx_bytes_; }  // ring sizes
  uint16_t rx_bytes() const { return rx_bytes_; }
  uint16_t received() const { return received_; }  // at least so many bytes wait in the RX ring
  bool busy() const { return command_pending_ || sending_; }

 private:
  Chip& chip_;
  uint8_t number_;
  uint8_t events_ = 0;  // Sn_IR bits seen, and cleared in the chip, since OPEN
  bool command_pending_ = false;
  bool sending_ = false;  // a SEND has shown neither SENDOK nor TIMEOUT yet
  uint16_t tx_bytes_ = 0;
  uint16_t rx_bytes_ = 0;
  uint16_t tx_wr_ = 0;
  uint16_t rx_rd_ = 0;
  uint16_t received_ = 0;
};

struct TcpOptions {
  // Sn_MR.ND: received segments are acknowledged at once. Otherwise the ACK of a lone segment may take RTR, 200 ms.
  bool immediate_ack = true;
};

class TcpSocket : public Socket {
 public:
  TcpSocket(Chip& chip, uint8_t number, const TcpOptions& options = TcpOptions())
      : Socket(chip, number), options_(options) {}

  // First of all, for a client as for a server. `local_port` 0 is refused: ephemeral ports are the host's business.
  Result<void> open(uint16_t local_port);

  // The chip's own limit is 33.6 s with its default RTR and RCR: peer_timeout. RST: refused. A connection that fails
  // leaves the socket closed: open() again.
  Result<void> connect(const Endpoint& peer, uint32_t timeout_us = 35000000);

  Result<void> listen();
  // Whether a peer has connected; waits up to timeout_us for one, 0 looks once. The listening socket becomes the
  // connection. A handshake that fails half-way closes the socket: peer_timeout or closed_by_peer; then open() and
  // listen() again.
  Result<bool> accept(uint32_t timeout_us = 0);

  Result<Endpoint> peer();

  // Sends all of it, in pieces that let one be loaded while another is on the wire. Accepted means that the chip has
  // it.
  Progress write(const uint8_t* data, size_t count, uint32_t timeout_us = 10000000);
  // What can be accepted now, without waiting for space or for the last SEND; count 0 if that is nothing.
  Progress try_write(const uint8_t* data, uint16_t count);
  // Waits until what was written has left the chip; whether it arrived is not known then.
  Result<void> flush(uint32_t timeout_us = 10000000);

  // Bytes that can be read now; closed_by_peer when none are left and none will come.
  Result<uint16_t> available();
  // The same, but waits up to timeout_us for the first one; 0 if none came.
  Result<uint16_t> wait_available(uint32_t timeout_us);
  // Up to `count` bytes, 0 if none wait; closed_by_peer as above.
  Result<uint16_t> read(uint8_t* data, uint16_t count);
  // As read, without reading: only the pointer moves.
  Result<uint16_t> discard(uint16_t count);

  // Sends FIN after what was written and waits until both directions are closed. A connection that is still half open,
  // or a peer that does not follow in time, is dropped with CLOSE and reported: wrong_state, state_timeout.
  Result<void> disconnect(uint32_t timeout_us = 5000000);
  // The same without waiting, for who has others to serve: to be called until it is true or an error. The first call
  // after the last SEND is over sends FIN; from then on there is nothing to read. TIME_WAIT is not waited out, so that
  // a server has its socket back. Whoever loses patience calls close().
  Result<bool> try_disconnect();
  // CLOSE: at once, and without a word to the peer.
  Result<void> close();

 private:
  Error adopt_connection();
  // none while data can be sent and received; otherwise why they cannot.
  Error connection_error(Sn_SR state);
  // Of a socket that was seen closed: peer_timeout if the chip gave up, otherwise as given.
  Error closed_error(Error otherwise);
  // Until `wanted` bytes are free. `ready`: the last poll on the way saw the connection up and no SEND under way.
  Error wait_for_space(uint16_t wanted, const Deadline& deadline, bool* ready);
  Error wait_until_ready(const Deadline& deadline);
  Error refresh_free();
  Error send_piece(uint16_t count, const Deadline& deadline);
  // Until `wanted` bytes are known to wait, or all that do.
  Error refresh(uint16_t wanted);
  Error drop(Error reason);

  TcpOptions options_;
  bool connected_ = false;
  uint16_t free_ = 0;   // at least so many bytes of the TX ring are free
  uint16_t piece_ = 0;  // what write() sends at once
};

struct Datagram {
  Endpoint from;
  uint16_t size;    // of the payload as it was sent
  uint16_t stored;  // of it in the caller's buffer; less than size: the rest is lost
};

// What UDP and IPRAW (ipraw_socket.hpp) share: each SEND is a datagram, and each datagram received has a header in the
// RX ring. IPRAW knows no ports: they are 0, and stay out of headers and registers.
class DatagramSocket : public Socket {
 public:
  // Whether the chip has sent the last datagram: peer_timeout if ARP stayed unanswered.
  Result<void> flush(uint32_t timeout_us = 2000000);

  // The payload of a started datagram, piece by piece into the TX ring; then SEND.
  Result<void> append(const uint8_t* data, uint16_t count);
  Result<void> send_datagram();

  // The next datagram into the caller's buffer, or no_datagram.
  Result<Datagram> receive_from(uint8_t* data, uint16_t capacity);
  // Waits up to timeout_us for one; no_datagram if none came.
  Result<Datagram> receive_from(uint8_t* data, uint16_t capacity, uint32_t timeout_us);

  // The same in steps: on to the next datagram, dropping what is left of the one before; then its payload piece by
  // piece. `stored` is 0. Its memory is given back with its last byte, or by skip_rest().
  Result<Datagram> next_datagram();
  // Waits up to timeout_us for it; no_datagram if none came.
  Result<Datagram> next_datagram(uint32_t timeout_us);
  Result<uint16_t> read(uint8_t* data, uint16_t count);
  Result<void> skip_rest();

  // CLOSE: at once; a datagram that has not left yet is lost.
  Result<void> close();

 protected:
  enum class Kind : uint8_t { udp, ipraw };

  DatagramSocket(Chip& chip, uint8_t number, Kind kind) : Socket(chip, number), kind_(kind) {}
  ~DatagramSocket() = default;

  bool is_open() const { return open_; }
  Error open_as(uint8_t mode, uint16_t local_port);
  Error send_whole(const Endpoint& to, const uint8_t* data, uint16_t count, uint32_t timeout_us);
  Error start(const Endpoint& to, uint32_t timeout_us);

 private:
  Sn_SR opened() const { return kind_ == Kind::udp ? Sn_SR::SOCK_UDP : Sn_SR::SOCK_IPRAW; }
  // In registers and in headers: with the port, or without.
  uint8_t address_bytes() const { return kind_ == Kind::udp ? endpoint_bytes : uint8_t{4}; }
  uint16_t largest() const { return smaller(kind_ == Kind::udp ? uint16_t{1472} : uint16_t{1480}, tx_bytes()); }

  Error finish(const Deadline& deadline);
  Error address(const Endpoint& to);
  // Whether `wanted` bytes wait. Looks once more if the counter says no, before the ring is emptied for nothing: a
  // counter can tear twice alike.
  Error expect(uint16_t wanted, uint16_t unreleased, const Deadline& deadline);
  Error resynchronise();
  // A datagram that was found, into the caller's buffer.
  Result<Datagram> take(const Result<Datagram>& found, uint8_t* data, uint16_t capacity);

  Kind kind_;
  bool open_ = false;
  bool addressed_ = false;  // destination_ is in Sn_DIPR and Sn_DPORT
  uint8_t destination_[endpoint_bytes] = {};
  uint16_t in_flight_ = 0;  // bytes of the SEND under way
  uint16_t appended_ = 0;   // payload bytes of the datagram that is being made
  uint16_t unread_ = 0;     // payload bytes left of the current datagram
};

class UdpSocket : public DatagramSocket {
 public:
  static constexpr uint16_t max_payload = 1472;

  UdpSocket(Chip& chip, uint8_t number) : DatagramSocket(chip, number, Kind::udp) {}

  Result<void> open(uint16_t local_port);

  // One datagram of 1 to 1472 bytes that fits the TX ring. Returns once the chip has it; that ARP stayed unanswered is
  // known later and reported by flush() or by the next call, which then sends nothing: peer_timeout.
  Result<void> send_to(const Endpoint& to, const uint8_t* data, uint16_t count, uint32_t timeout_us = 2000000);

  // The same in steps, for those who never have all of it in RAM: to whom, then append(), then send_datagram(). Waits
  // in the first step only, for the last datagram to leave.
  Result<void> start_datagram(const Endpoint& to, uint32_t timeout_us = 2000000);
};

}  // namespace w5500

#endif
