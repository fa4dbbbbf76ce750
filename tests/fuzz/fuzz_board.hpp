// A chip on a bench for fuzzers: SPI without bus time, a cable whose far end remembers only what the chip said last, so
// that a frame of random bytes can be made to fit into a connection.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "sim/chip/chip.hpp"
#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"
#include "sim/wire/tcp.hpp"

namespace wizloop::fuzz {

inline constexpr wire::MacAddress chip_mac = {0x02, 0, 0, 0, 0, 0x20};
inline constexpr wire::MacAddress peer_mac = {0x02, 0, 0, 0, 0, 0x10};
inline constexpr wire::Ipv4Address chip_ip = wire::ipv4(192, 168, 1, 20);
inline constexpr wire::Ipv4Address peer_ip = wire::ipv4(192, 168, 1, 10);

class FuzzBoard final : private wire::FrameSink {
 public:
  // Each bit that is set moves every eighth open question of the chip (chip.quirk.NAME) from its default to another
  // answer.
  explicit FuzzBoard(std::uint8_t answers) : chip{queue, frames, trace, findings, random, config(answers)} {
    chip.connect(*this);
    chip.plug_in_settled();
    write(0, chip::common::GAR, {192, 168, 1, 1, 255, 255, 255, 0, 0x02, 0, 0, 0, 0, 0x20, 192, 168, 1, 20});
  }

  wire::FramePool frames;
  EventQueue queue;
  Trace trace;
  Findings findings;
  Random random{1};
  chip::Chip chip;

  void advance(Duration duration) { queue.advance_to(queue.now() + duration); }

  void write(std::uint8_t bsb, std::uint16_t offset, Bytes data) {
    header(bsb, offset, 0x04);
    for (const std::uint8_t byte : data) chip.spi().exchange(byte);
    chip.spi().deselect();
  }
  void write(std::uint8_t bsb, std::uint16_t offset, std::initializer_list<std::uint8_t> data) {
    write(bsb, offset, Bytes{data.begin(), data.size()});
  }
  void read(std::uint8_t bsb, std::uint16_t offset, std::size_t count) {
    header(bsb, offset, 0);
    for (std::size_t i = 0; i < count; ++i) chip.spi().exchange(0);
    chip.spi().deselect();
  }
  void set(int socket, std::uint16_t offset, std::initializer_list<std::uint8_t> data) {
    write(static_cast<std::uint8_t>(4 * socket + 1), offset, data);
  }
  void command(int socket, std::uint8_t code) {
    set(socket, chip::socket::Sn_CR, {code});
    advance(1us);
  }

  // The last bit of a frame comes in now. The MAC that it comes from has padded it.
  void arrive(Bytes bytes) {
    wire::FramePtr frame = frames.copy(bytes);
    frame->pad();
    static_cast<wire::FrameSink&>(chip).accept(std::move(frame), queue.now());
  }
  // The same after its first bit was announced and its time on the wire has passed.
  void arrive_bit_by_bit(Bytes bytes) {
    wire::FramePtr frame = frames.copy(bytes);
    frame->pad();
    static_cast<wire::FrameSink&>(chip).announce(*frame, queue.now());
    advance(wire::time_on_wire(frame->size, Frequency{100'000'000}));
    static_cast<wire::FrameSink&>(chip).accept(std::move(frame), queue.now());
  }

  // What a frame needs to get past the first checks; how much of it is the fuzzer's choice.
  static constexpr std::uint8_t mend_ethernet = 0x01;  // to the chip's MAC
  static constexpr std::uint8_t mend_ip = 0x02;        // from the peer to the chip, with a good length and checksum
  static constexpr std::uint8_t mend_sequence = 0x04;  // TCP: sequence numbers near to what the connection expects
  static constexpr std::uint8_t mend_checksum = 0x08;  // of TCP, UDP, ICMP or IGMP
  void mend(MutableBytes frame, std::uint8_t how) const {
    if (frame.size() < transport_at) return;
    if ((how & mend_ethernet) != 0) std::copy(chip_mac.begin(), chip_mac.end(), frame.begin());
    if ((how & mend_ip) != 0) {
      store16(&frame[12], wire::type_ipv4);
      frame[14] = 0x45;
      store16(&frame[16], static_cast<std::uint16_t>(frame.size() - wire::ethernet_header_bytes));
      store32(&frame[26], peer_ip);
      store32(&frame[30], chip_ip);
      store16(&frame[24], 0);
      store16(&frame[24], wire::internet_checksum(frame.subspan(14, wire::Ipv4Header::bytes)));
    }
    const MutableBytes message = frame.subspan(transport_at);
    const std::uint8_t protocol = frame[23];
    if ((how & mend_sequence) != 0 && protocol == wire::protocol_tcp && message.size() >= wire::TcpHeader::bytes) {
      store32(&message[4], expected_sequence_ + near(load32(&message[4])));
      store32(&message[8], sent_up_to_ + near(load32(&message[8])));
    }
    if ((how & mend_checksum) != 0) mend_transport(load32(&frame[26]), load32(&frame[30]), protocol, message);
  }

 private:
  static chip::ChipConfig config(std::uint8_t answers) {
    chip::ChipConfig config;
    std::size_t number = 0;
    for (const chip::QuirkSpec& spec : chip::quirk_table()) {
      const std::size_t others = spec.choices.size() - 1;
      if ((answers >> (number++ % 8) & 1) == 0 || others == 0) continue;
      WIZ_ASSERT(config.quirks.set(spec.name, spec.choices[1 + answers % others]));
    }
    return config;
  }

  static constexpr std::size_t transport_at = wire::ethernet_header_bytes + wire::Ipv4Header::bytes;

  // -128 to 127, or a little further out, from any number.
  static std::uint32_t near(std::uint32_t value) {
    return static_cast<std::uint32_t>(static_cast<std::int8_t>(value)) * ((value & 0x300) == 0x300 ? 64U : 1U);
  }

  static void mend_transport(wire::Ipv4Address from, wire::Ipv4Address to, std::uint8_t protocol,
                             MutableBytes message) {
    const auto seal = [&](std::size_t at, bool pseudo) {
      if (message.size() < at + 2) return;
      store16(&message[at], 0);
      store16(&message[at],
              pseudo ? wire::transport_checksum(from, to, protocol, message) : wire::internet_checksum(message));
    };
    switch (protocol) {
      case wire::protocol_tcp:
        return seal(16, true);
      case wire::protocol_udp:
        if (message.size() >= 8) store16(&message[4], static_cast<std::uint16_t>(message.size()));
        return seal(6, true);
      case wire::protocol_icmp:
      case wire::protocol_igmp:
        return seal(2, false);
      default:
        return;
    }
  }

  void header(std::uint8_t bsb, std::uint16_t offset, std::uint8_t write_bit) {
    chip.spi().select();
    chip.spi().exchange(static_cast<std::uint8_t>(offset >> 8));
    chip.spi().exchange(static_cast<std::uint8_t>(offset));
    chip.spi().exchange(static_cast<std::uint8_t>(bsb << 3 | write_bit));
  }

  void accept(wire::FramePtr frame, Instant) override {
    const Bytes bytes = frame->data();
    if (bytes.size() < transport_at || load16(&bytes[12]) != wire::type_ipv4) return;
    const auto ip = wire::Ipv4Header::parse(bytes.subspan(wire::ethernet_header_bytes));
    if (!ip || ip->protocol != wire::protocol_tcp) return;
    const Bytes segment = bytes.subspan(14 + ip->header_bytes, ip->total_length - ip->header_bytes);
    const auto tcp = wire::TcpHeader::parse(*ip, segment);
    if (!tcp) return;
    const std::uint32_t flags = (tcp->has(wire::TcpHeader::syn) ? 1U : 0U) + (tcp->has(wire::TcpHeader::fin) ? 1U : 0U);
    sent_up_to_ = tcp->sequence + static_cast<std::uint32_t>(segment.size() - tcp->header_bytes) + flags;
    if (tcp->has(wire::TcpHeader::ack)) expected_sequence_ = tcp->acknowledgment;
  }

  std::uint32_t sent_up_to_ = 0;
  std::uint32_t expected_sequence_ = 1000;
};

}  // namespace wizloop::fuzz
