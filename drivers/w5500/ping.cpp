#include "ping.hpp"

#include "bytes.hpp"
#include "deadline.hpp"

namespace w5500 {
namespace {

constexpr uint8_t header_bytes = 8;  // type, code, checksum, identifier, sequence
constexpr uint8_t checksum_at = 2;
constexpr uint8_t echo_reply = 0;
constexpr uint8_t echo_request = 8;

constexpr uint32_t chip_patience_us = 1000;
constexpr uint32_t run_wait_us = 10000;

constexpr uint8_t piece_bytes = 64;  // an even number

// The Internet checksum (RFC 1071) of pieces of even length, of which the last one may be odd.
class Checksum {
 public:
  void add(const uint8_t* bytes, uint8_t count) {
    for (uint8_t i = 0; i < count; ++i) {
      const uint16_t word = static_cast<uint16_t>(i % 2 == 0 ? bytes[i] << 8 : bytes[i]);
      sum_ += word;
    }
  }
  uint16_t value() const {
    uint32_t folded = (sum_ & 0xFFFF) + (sum_ >> 16);
    folded = (folded & 0xFFFF) + (folded >> 16);
    return static_cast<uint16_t>(~folded & 0xFFFF);
  }

 private:
  uint32_t sum_ = 0;
};

uint8_t size_of_piece(uint16_t left) { return static_cast<uint8_t>(smaller(left, uint16_t{piece_bytes})); }

void fill(uint8_t* piece, uint16_t offset, uint8_t count) {
  for (uint8_t i = 0; i < count; ++i) piece[i] = static_cast<uint8_t>((offset + i) & 0xFF);
}

}  // namespace

Result<void> Ping::start(const uint8_t (&ip)[4], const PingOptions& options) {
  if (options.payload_bytes > max_payload) return Error::invalid_argument;
  copy_bytes(target_, ip, sizeof target_);
  options_ = options;
  stats_ = PingStats();
  awaiting_ = false;
  const Error error = socket_.open(IprawSocket::icmp).error();
  active_ = error == Error::none;
  return error;
}

Result<bool> Ping::poll(uint32_t wait_us) {
  if (!active_) return Error::wrong_state;
  if (awaiting_) {
    const Error error = await(wait_us);
    if (error != Error::none) return error;
    if (awaiting_) return false;
  }
  if (options_.count != 0 && stats_.sent == options_.count) {
    const Error error = stop().error();
    if (error != Error::none) return error;
    return true;
  }
  const uint32_t passed_us = port_.now_us() - sent_us_;
  if (stats_.sent > 0 && passed_us < options_.interval_us) {
    if (wait_us > 0) port_.delay_us(smaller(wait_us, options_.interval_us - passed_us));
    return false;
  }
  const Error error = send();
  if (error != Error::none) return error;
  return false;
}

Result<void> Ping::stop() {
  active_ = false;
  return socket_.close();
}

Result<PingStats> Ping::run(const uint8_t (&ip)[4], const PingOptions& options) {
  if (options.count == 0) return Error::invalid_argument;
  const Result<void> started = start(ip, options);
  if (!started) return started.error();
  for (;;) {
    const Result<bool> done = poll(run_wait_us);
    if (!done) {
      const Result<void> stopped = stop();
      return stopped ? done.error() : stopped.error();
    }
    if (done.value()) return stats_;
  }
}

Error Ping::send() {
  const uint16_t sequence = static_cast<uint16_t>(stats_.sent & 0xFFFF);
  uint8_t header[header_bytes] = {echo_request};
  store16(header + 4, options_.identifier);
  store16(header + 6, sequence);
  Checksum checksum;
  checksum.add(header, sizeof header);
  uint8_t piece[piece_bytes];
  for (uint16_t at = 0; at < options_.payload_bytes; at = static_cast<uint16_t>(at + piece_bytes)) {
    const uint8_t count = size_of_piece(static_cast<uint16_t>(options_.payload_bytes - at));
    fill(piece, at, count);
    checksum.add(piece, count);
  }
  store16(header + checksum_at, checksum.value());

  // A request that waits for ARP still, or in vain, has timed out.
  Error error = socket_.flush(chip_patience_us).error();
  if (error != Error::none && error != Error::peer_timeout) error = socket_.open(IprawSocket::icmp).error();
  if (error != Error::none && error != Error::peer_timeout) return error;
  error = socket_.start_datagram(target_, chip_patience_us).error();
  if (error == Error::none) error = socket_.append(header, sizeof header).error();
  for (uint16_t at = 0; at < options_.payload_bytes && error == Error::none;
       at = static_cast<uint16_t>(at + piece_bytes)) {
    const uint8_t count = size_of_piece(static_cast<uint16_t>(options_.payload_bytes - at));
    fill(piece, at, count);
    error = socket_.append(piece, count).error();
  }
  if (error != Error::none) return error;
  sent_us_ = port_.now_us();
  error = socket_.send_datagram().error();
  if (error != Error::none) return error;
  ++stats_.sent;
  awaiting_ = true;
  return Error::none;
}

// Until the awaited reply is there, the request times out, or wait_us are over.
Error Ping::await(uint32_t wait_us) {
  const uint32_t passed_us = port_.now_us() - sent_us_;
  const uint32_t left_us = options_.timeout_us - smaller(options_.timeout_us, passed_us);
  const Deadline deadline(port_, smaller(wait_us, left_us));
  do {
    const Result<Datagram> datagram = socket_.next_datagram(deadline.left_us());
    const uint32_t rtt_us = port_.now_us() - sent_us_;
    if (datagram) {
      const Error error = take(datagram.value(), rtt_us);
      if (error != Error::none) return error;
    } else if (datagram.error() != Error::no_datagram && datagram.error() != Error::out_of_step) {
      return datagram.error();
    }
  } while (awaiting_ && !deadline.passed());
  if (awaiting_ && port_.now_us() - sent_us_ >= options_.timeout_us) {
    awaiting_ = false;
    ++stats_.timeouts;
  }
  return Error::none;
}

Error Ping::take(const Datagram& datagram, uint32_t rtt_us) {
  if (load32(datagram.from.ip) != load32(target_) || datagram.size < header_bytes) return socket_.skip_rest().error();
  uint8_t header[header_bytes];
  const Result<uint16_t> got = socket_.read(header, sizeof header);
  if (!got) return got.error();
  if (header[0] != echo_reply || header[1] != 0 || load16(header + 4) != options_.identifier ||
      load16(header + 6) != static_cast<uint16_t>((stats_.sent - 1) & 0xFFFF)) {
    return socket_.skip_rest().error();
  }
  Checksum checksum;
  checksum.add(header, sizeof header);
  const uint16_t size = static_cast<uint16_t>(datagram.size - header_bytes);
  bool same = size == options_.payload_bytes;
  for (uint16_t at = 0; at < size; at = static_cast<uint16_t>(at + piece_bytes)) {
    uint8_t piece[piece_bytes];
    const uint8_t count = size_of_piece(static_cast<uint16_t>(size - at));
    const Result<uint16_t> read = socket_.read(piece, count);
    if (!read) return read.error();
    checksum.add(piece, count);
    for (uint8_t i = 0; i < count; ++i) same = same && piece[i] == static_cast<uint8_t>((at + i) & 0xFF);
  }
  awaiting_ = false;
  if (!same || checksum.value() != 0) {
    ++stats_.damaged;
    return Error::none;
  }
  stats_.min_us = stats_.received == 0 ? rtt_us : smaller(stats_.min_us, rtt_us);
  if (rtt_us > stats_.max_us) stats_.max_us = rtt_us;
  stats_.sum_us += rtt_us;
  ++stats_.received;
  return Error::none;
}

}  // namespace w5500
