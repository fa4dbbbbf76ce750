// A chip on a bench: its SPI without any bus time, the frames that it sends with their instants, and frames of the
// test's own to send to it. For tests of the chip alone; TestConnection plays the peer of a TCP connection.
//
//   TestBoard board;
//   board.configure();
//   board.set8(0, chip::socket::Sn_MR, chip::sn_mr::UDP);
//   board.command(0, chip::sn_cr::OPEN);
//   board.advance(1ms);
#pragma once

#include <initializer_list>
#include <vector>

#include "sim/chip/chip.hpp"
#include "sim/wire/arp.hpp"
#include "sim/wire/icmp.hpp"
#include "sim/wire/tcp.hpp"
#include "sim/wire/udp.hpp"

namespace wizloop::test {

inline constexpr wire::MacAddress chip_mac = {0x02, 0, 0, 0, 0, 0x20};
inline constexpr wire::MacAddress peer_mac = {0x02, 0, 0, 0, 0, 0x10};
inline constexpr wire::Ipv4Address chip_ip = wire::ipv4(192, 168, 1, 20);
inline constexpr wire::Ipv4Address peer_ip = wire::ipv4(192, 168, 1, 10);

struct SentFrame {
  Instant at;  // first preamble bit
  std::vector<std::uint8_t> bytes;

  wire::EthernetHeader ethernet() const { return wire::EthernetHeader::parse(bytes).value(); }
  bool is_arp() const { return ethernet().type == wire::type_arp; }
  wire::Arp arp() const { return wire::Arp::parse(Bytes{bytes}.subspan(14)).value(); }
  wire::Ipv4Header ip() const { return wire::Ipv4Header::parse(Bytes{bytes}.subspan(14)).value(); }
  Bytes ip_payload() const {
    return Bytes{bytes}.subspan(14 + ip().header_bytes, ip().total_length - ip().header_bytes);
  }
  wire::TcpHeader tcp() const { return wire::TcpHeader::parse(ip(), ip_payload()).value(); }
  Bytes tcp_payload() const { return ip_payload().subspan(tcp().header_bytes); }
  wire::UdpHeader udp() const { return wire::UdpHeader::parse(ip(), ip_payload()).value(); }
  Bytes udp_payload() const { return ip_payload().subspan(wire::UdpHeader::bytes); }
};

class TestBoard : private wire::FrameSink {
 public:
  explicit TestBoard(std::uint64_t seed = 1, const chip::ChipConfig& config = {})
      : random{seed}, chip{queue, frames, trace, findings, random, config} {
    chip.connect(*this);
    chip.plug_in_settled();
  }

  // A chip with one option of its own: TestBoard board{TestBoard::with("chip.quirk.psh", "last_segment")};
  static chip::ChipConfig with(std::string_view name, std::string_view value) {
    chip::ChipConfig config;
    const auto set = chip::set_chip_option(config, name, value);
    WIZ_ASSERT(set);
    return config;
  }
  explicit TestBoard(const chip::ChipConfig& config) : TestBoard{1, config} {}

  wire::FramePool frames;
  EventQueue queue;
  Trace trace;
  Findings findings;
  Random random;
  chip::Chip chip;
  std::vector<SentFrame> sent;

  Instant now() const { return queue.now(); }
  void advance(Duration duration) { queue.advance_to(queue.now() + duration); }
  void advance_to(Duration since_start) { queue.advance_to(Instant{since_start}); }

  // One SPI frame, without time. Returns what MISO showed, header included.
  std::vector<std::uint8_t> spi(std::initializer_list<std::uint8_t> mosi) {
    return spi(std::vector<std::uint8_t>(mosi));
  }
  std::vector<std::uint8_t> spi(const std::vector<std::uint8_t>& mosi) {
    std::vector<std::uint8_t> miso;
    chip.spi().select();
    for (const std::uint8_t byte : mosi) miso.push_back(chip.spi().exchange(byte));
    chip.spi().deselect();
    return miso;
  }

  void write(std::uint8_t bsb, std::uint16_t offset, const std::vector<std::uint8_t>& data) {
    std::vector<std::uint8_t> mosi = {static_cast<std::uint8_t>(offset >> 8), static_cast<std::uint8_t>(offset),
                                      static_cast<std::uint8_t>(bsb << 3 | 0x04)};
    mosi.insert(mosi.end(), data.begin(), data.end());
    spi(mosi);
  }
  std::vector<std::uint8_t> read(std::uint8_t bsb, std::uint16_t offset, std::size_t count) {
    std::vector<std::uint8_t> mosi = {static_cast<std::uint8_t>(offset >> 8), static_cast<std::uint8_t>(offset),
                                      static_cast<std::uint8_t>(bsb << 3)};
    mosi.resize(3 + count);
    const std::vector<std::uint8_t> miso = spi(mosi);
    return {miso.begin() + 3, miso.end()};
  }

  static std::uint8_t registers_of(int socket) { return static_cast<std::uint8_t>(4 * socket + 1); }
  static std::uint8_t tx_of(int socket) { return static_cast<std::uint8_t>(4 * socket + 2); }
  static std::uint8_t rx_of(int socket) { return static_cast<std::uint8_t>(4 * socket + 3); }

  void set8(int socket, std::uint16_t offset, std::uint8_t value) { write(registers_of(socket), offset, {value}); }
  void set16(int socket, std::uint16_t offset, std::uint16_t value) {
    write(registers_of(socket), offset, {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)});
  }
  void set32(int socket, std::uint16_t offset, std::uint32_t value) {
    std::vector<std::uint8_t> bytes(4);
    store32(bytes.data(), value);
    write(registers_of(socket), offset, bytes);
  }
  std::uint8_t get8(int socket, std::uint16_t offset) { return read(registers_of(socket), offset, 1)[0]; }
  std::uint16_t get16(int socket, std::uint16_t offset) {
    const auto bytes = read(registers_of(socket), offset, 2);
    return load16(bytes.data());
  }
  // Gives a command and lets the time pass that Sn_SR needs to show it.
  void command(int socket, std::uint8_t code) {
    set8(socket, chip::socket::Sn_CR, code);
    advance(chip::Latencies{}.command_to_status);
  }
  std::uint8_t status(int socket) { return get8(socket, chip::socket::Sn_SR); }
  std::uint8_t interrupts(int socket) { return get8(socket, chip::socket::Sn_IR); }

  // MAC, IP and a /24 subnet with a gateway at .1.
  void configure() {
    write(0, chip::common::GAR, {192, 168, 1, 1, 255, 255, 255, 0, 0x02, 0, 0, 0, 0, 0x20, 192, 168, 1, 20});
  }

  // Puts data behind what was sent and issues SEND.
  void send(int socket, const std::vector<std::uint8_t>& data) {
    const std::uint16_t at = get16(socket, chip::socket::Sn_TX_WR);
    write(tx_of(socket), at, data);
    set16(socket, chip::socket::Sn_TX_WR, static_cast<std::uint16_t>(at + data.size()));
    command(socket, chip::sn_cr::SEND);
  }

  // A frame whose last bit comes in now.
  void arrive(Bytes bytes) { static_cast<wire::FrameSink&>(chip).accept(frames.copy(bytes), queue.now()); }
  // A frame whose first bit comes in now and whose last bit comes in when this returns.
  void arrive_bit_by_bit(Bytes bytes) {
    wire::FramePtr frame = frames.copy(bytes);
    static_cast<wire::FrameSink&>(chip).announce(*frame, queue.now());
    advance(wire::time_on_wire(frame->size, Frequency{100'000'000}));
    static_cast<wire::FrameSink&>(chip).accept(std::move(frame), queue.now());
  }
  void arrive_arp(wire::Arp::Operation operation, const wire::MacAddress& sender_mac, wire::Ipv4Address sender_ip,
                  wire::Ipv4Address target_ip) {
    std::vector<std::uint8_t> bytes(60);
    wire::EthernetHeader{operation == wire::Arp::Operation::request ? wire::broadcast_mac : chip_mac, sender_mac,
                         wire::type_arp}
        .emit(bytes.data());
    wire::Arp{operation, sender_mac, sender_ip, chip_mac, target_ip}.emit(&bytes[14]);
    arrive(bytes);
  }
  void answer_arp() { arrive_arp(wire::Arp::Operation::reply, peer_mac, peer_ip, chip_ip); }

  void arrive_ip(std::uint8_t protocol, const std::vector<std::uint8_t>& payload, wire::Ipv4Address to = chip_ip,
                 wire::MacAddress mac = chip_mac, std::uint16_t flags = 0x4000) {
    arrive(ip_frame(protocol, payload, to, mac, flags));
  }
  static std::vector<std::uint8_t> ip_frame(std::uint8_t protocol, const std::vector<std::uint8_t>& payload,
                                            wire::Ipv4Address to = chip_ip, wire::MacAddress mac = chip_mac,
                                            std::uint16_t flags = 0x4000) {
    std::vector<std::uint8_t> bytes(34);
    wire::EthernetHeader{mac, peer_mac, wire::type_ipv4}.emit(bytes.data());
    wire::Ipv4Header header;
    header.protocol = protocol;
    header.source = peer_ip;
    header.destination = to;
    header.flags_and_fragment = flags;
    header.total_length = static_cast<std::uint16_t>(20 + payload.size());
    header.emit(&bytes[14]);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    if (bytes.size() < wire::min_frame_bytes) bytes.resize(wire::min_frame_bytes);
    return bytes;
  }
  void arrive_udp(std::uint16_t from, std::uint16_t to, const std::vector<std::uint8_t>& data,
                  wire::Ipv4Address to_ip = chip_ip, wire::MacAddress mac = chip_mac) {
    arrive_ip(wire::protocol_udp, udp_message(from, to, data, to_ip), to_ip, mac);
  }
  static std::vector<std::uint8_t> udp_message(std::uint16_t from, std::uint16_t to,
                                               const std::vector<std::uint8_t>& data,
                                               wire::Ipv4Address to_ip = chip_ip) {
    std::vector<std::uint8_t> message(wire::UdpHeader::bytes);
    message.insert(message.end(), data.begin(), data.end());
    wire::UdpHeader{from, to, 0}.emit(peer_ip, to_ip, message);
    return message;
  }
  void arrive_tcp(const wire::TcpHeader& header, const std::vector<std::uint8_t>& data = {}) {
    std::vector<std::uint8_t> segment(header.emitted_header_bytes());
    segment.insert(segment.end(), data.begin(), data.end());
    header.emit(peer_ip, chip_ip, segment);
    arrive_ip(wire::protocol_tcp, segment);
  }
  void arrive_ping(std::uint16_t sequence, std::size_t data_bytes) {
    std::vector<std::uint8_t> message(wire::IcmpHeader::bytes + data_bytes, std::uint8_t{0xA5});
    wire::IcmpHeader{wire::IcmpHeader::echo_request, 0, 7, sequence}.emit(message);
    arrive_ip(wire::protocol_icmp, message);
  }

 private:
  void accept(wire::FramePtr frame, Instant at) override {
    sent.push_back({at, {frame->data().begin(), frame->data().end()}});
  }
};

// A TCP connection of socket 0 from the peer's side: state builders, so that a test begins where it matters.
class TestConnection {
 public:
  static constexpr std::uint16_t chip_port = 5000;
  static constexpr std::uint16_t peer_port = 40000;
  static constexpr std::uint32_t peer_iss = 1000;

  explicit TestConnection(TestBoard& of) : board{of} {}

  TestBoard& board;
  std::uint32_t iss = 0;             // the chip's
  std::uint32_t seq = peer_iss + 1;  // what the peer sends next
  std::uint16_t window = 65535;      // what the peer advertises

  void open(std::uint8_t mode_bits = 0) {
    board.set8(0, chip::socket::Sn_MR, static_cast<std::uint8_t>(chip::sn_mr::TCP | mode_bits));
    board.set16(0, chip::socket::Sn_PORT, chip_port);
    board.command(0, chip::sn_cr::OPEN);
  }
  void listen(std::uint8_t mode_bits = 0) {
    open(mode_bits);
    board.command(0, chip::sn_cr::LISTEN);
  }
  void connect() {
    open();
    board.set32(0, chip::socket::Sn_DIPR, peer_ip);
    board.set16(0, chip::socket::Sn_DPORT, peer_port);
    board.command(0, chip::sn_cr::CONNECT);
  }

  wire::TcpHeader header(std::uint8_t flags, std::uint32_t acknowledgment) const {
    wire::TcpHeader header;
    header.source_port = peer_port;
    header.destination_port = chip_port;
    header.sequence = seq;
    header.acknowledgment = acknowledgment;
    header.flags = flags;
    header.window = window;
    return header;
  }
  void syn(std::uint16_t mss = 1460) {
    wire::TcpHeader syn = header(wire::TcpHeader::syn, 0);
    syn.sequence = peer_iss;
    syn.mss = mss;
    board.arrive_tcp(syn);
  }

  // Passive open up to ESTABLISHED; leaves nothing in board.sent.
  void establish(std::uint8_t mode_bits = 0, std::uint16_t mss = 1460) {
    listen(mode_bits);
    syn(mss);
    board.advance(1ms);
    iss = board.sent.back().tcp().sequence;
    acknowledge(iss + 1);
    board.advance(1ms);
    board.sent.clear();
    board.set8(0, chip::socket::Sn_IR, 0xFF);
  }
  void acknowledge(std::uint32_t up_to) { board.arrive_tcp(header(wire::TcpHeader::ack, up_to)); }
  void data(const std::vector<std::uint8_t>& bytes) {
    board.arrive_tcp(header(wire::TcpHeader::ack | wire::TcpHeader::psh, board_next()), bytes);
    seq += static_cast<std::uint32_t>(bytes.size());
  }
  void fin() {
    board.arrive_tcp(header(wire::TcpHeader::ack | wire::TcpHeader::fin, board_next()));
    ++seq;
  }
  void rst() { board.arrive_tcp(header(wire::TcpHeader::rst, 0)); }

 private:
  // What the chip has sent so far.
  std::uint32_t board_next() const {
    std::uint32_t next = iss + 1;
    for (const SentFrame& frame : board.sent) {
      if (frame.is_arp() || frame.ip().protocol != wire::protocol_tcp) continue;
      const wire::TcpHeader tcp = frame.tcp();
      const auto end = tcp.sequence + static_cast<std::uint32_t>(frame.tcp_payload().size()) +
                       (tcp.has(wire::TcpHeader::fin) ? 1U : 0U);
      if (wire::seq_before(next, end)) next = end;
    }
    return next;
  }
};

}  // namespace wizloop::test
