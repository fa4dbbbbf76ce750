// TCP segments (RFC 9293): the header, the MSS option, and sequence number arithmetic.
#pragma once

#include <optional>

#include "sim/wire/ipv4.hpp"

namespace wizloop::wire {

// Sequence numbers compare modulo 2^32 (RFC 9293 3.4).
constexpr bool seq_before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }
constexpr bool seq_not_after(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) <= 0; }

struct TcpHeader {
  static constexpr std::size_t bytes = 20;  // without options
  static constexpr std::size_t mss_option_bytes = 4;

  static constexpr std::uint8_t fin = 0x01;
  static constexpr std::uint8_t syn = 0x02;
  static constexpr std::uint8_t rst = 0x04;
  static constexpr std::uint8_t psh = 0x08;
  static constexpr std::uint8_t ack = 0x10;
  static constexpr std::uint8_t urg = 0x20;

  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgment = 0;
  std::uint8_t flags = 0;
  std::uint16_t window = 0;
  std::uint16_t mss = 0;             // 0: no MSS option
  std::size_t header_bytes = bytes;  // 20 to 60 as parsed

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }

  // Nothing if too short or with a wrong checksum. The payload is segment[header_bytes, end).
  static std::optional<TcpHeader> parse(const Ipv4Header& ip, Bytes segment) {
    if (segment.size() < bytes) return std::nullopt;
    TcpHeader header;
    header.header_bytes = static_cast<std::size_t>(segment[12] >> 4) * 4;
    if (header.header_bytes < bytes || header.header_bytes > segment.size()) return std::nullopt;
    if (transport_checksum(ip.source, ip.destination, protocol_tcp, segment) != 0) return std::nullopt;
    header.source_port = load16(&segment[0]);
    header.destination_port = load16(&segment[2]);
    header.sequence = load32(&segment[4]);
    header.acknowledgment = load32(&segment[8]);
    header.flags = segment[13];
    header.window = load16(&segment[14]);
    header.mss = find_mss(segment.subspan(bytes, header.header_bytes - bytes));
    return header;
  }

  std::size_t emitted_header_bytes() const { return mss != 0 ? bytes + mss_option_bytes : bytes; }

  // Writes the header in front of a payload that is already in place; `segment` holds both, the payload starting at
  // emitted_header_bytes().
  void emit(Ipv4Address source, Ipv4Address destination, MutableBytes segment) const {
    store16(&segment[0], source_port);
    store16(&segment[2], destination_port);
    store32(&segment[4], sequence);
    store32(&segment[8], acknowledgment);
    segment[12] = static_cast<std::uint8_t>(emitted_header_bytes() / 4 << 4);
    segment[13] = flags;
    store16(&segment[14], window);
    store16(&segment[16], 0);
    store16(&segment[18], 0);
    if (mss != 0) {
      segment[20] = 2;
      segment[21] = 4;
      store16(&segment[22], mss);
    }
    store16(&segment[16], transport_checksum(source, destination, protocol_tcp, segment));
  }

 private:
  static std::uint16_t find_mss(Bytes options) {
    std::size_t i = 0;
    while (i < options.size()) {
      const std::uint8_t kind = options[i];
      if (kind == 0) break;
      if (kind == 1) {
        ++i;
        continue;
      }
      if (i + 1 >= options.size() || options[i + 1] < 2 || i + options[i + 1] > options.size()) break;
      if (kind == 2 && options[i + 1] == 4) return load16(&options[i + 2]);
      i += options[i + 1];
    }
    return 0;
  }
};

}  // namespace wizloop::wire
