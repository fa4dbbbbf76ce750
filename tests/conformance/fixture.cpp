#include "tests/conformance/fixture.hpp"

#include <stdexcept>
#include <string>

namespace wizloop::conformance {
namespace {

const Register& find(std::span<const Register> table, std::string_view name) {
  for (const Register& row : table) {
    if (row.name == name) return row;
  }
  throw std::invalid_argument{"no register " + std::string{name}};
}

Octets big_endian(std::uint64_t value, int width) {
  Octets bytes;
  for (int i = width - 1; i >= 0; --i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  return bytes;
}

std::uint64_t number(const Octets& bytes) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

}  // namespace

Octets ConformanceTest::exchange(const Octets& mosi) {
  Octets miso(mosi.size());
  target().exchange(mosi, miso);
  return miso;
}

Octets ConformanceTest::spi(const Octets& mosi) {
  target().select();
  Octets miso = exchange(mosi);
  target().deselect();
  return miso;
}

Octets ConformanceTest::header(std::uint8_t bsb, std::uint16_t offset, bool write) {
  return {static_cast<std::uint8_t>(offset >> 8), static_cast<std::uint8_t>(offset),
          static_cast<std::uint8_t>(bsb << 3 | (write ? 0x04 : 0x00))};
}

Octets ConformanceTest::read(std::uint8_t bsb, std::uint16_t offset, std::size_t count) {
  Octets mosi = header(bsb, offset, false);
  mosi.resize(3 + count);
  const Octets miso = spi(mosi);
  return {miso.begin() + 3, miso.end()};
}

void ConformanceTest::write(std::uint8_t bsb, std::uint16_t offset, const Octets& data) {
  Octets mosi = header(bsb, offset, true);
  mosi.insert(mosi.end(), data.begin(), data.end());
  spi(mosi);
}

std::uint64_t ConformanceTest::get(std::string_view name) {
  const Register& row = find(common_registers, name);
  return number(read(common_block, row.offset, static_cast<std::size_t>(row.width)));
}

void ConformanceTest::set(std::string_view name, std::uint64_t value) {
  const Register& row = find(common_registers, name);
  write(common_block, row.offset, big_endian(value, row.width));
}

std::uint64_t ConformanceTest::get(int socket, std::string_view name) {
  const Register& row = find(socket_registers, name);
  return number(read(registers_of(socket), row.offset, static_cast<std::size_t>(row.width)));
}

void ConformanceTest::set(int socket, std::string_view name, std::uint64_t value) {
  const Register& row = find(socket_registers, name);
  write(registers_of(socket), row.offset, big_endian(value, row.width));
}

std::uint16_t ConformanceTest::offset_of(std::string_view name) {
  return find(name.starts_with("Sn_") ? std::span<const Register>{socket_registers} : common_registers, name).offset;
}

void ConformanceTest::command(int socket, std::uint8_t code) {
  set(socket, "Sn_CR", code);
  wait(1us);
}

void ConformanceTest::open(int socket, std::uint8_t sn_mr, std::uint16_t port) {
  set(socket, "Sn_MR", sn_mr);
  set(socket, "Sn_PORT", port);
  command(socket, cr::OPEN);
}

void ConformanceTest::address(int socket, Ipv4Address ip, std::uint16_t port) {
  set(socket, "Sn_DIPR", ip);
  set(socket, "Sn_DPORT", port);
}

void ConformanceTest::send(int socket, const Octets& data, std::uint8_t code) {
  const std::uint64_t at = get(socket, "Sn_TX_WR");
  write(tx_of(socket), static_cast<std::uint16_t>(at), data);
  set(socket, "Sn_TX_WR", (at + data.size()) & 0xFFFF);
  command(socket, code);
}

Octets ConformanceTest::receive(int socket, std::size_t count) {
  const std::uint64_t at = get(socket, "Sn_RX_RD");
  Octets data = read(rx_of(socket), static_cast<std::uint16_t>(at), count);
  set(socket, "Sn_RX_RD", (at + count) & 0xFFFF);
  command(socket, cr::RECV);
  return data;
}

void ConformanceTest::configure() {
  set("GAR", gateway_ip);
  set("SUBR", 0xFFFFFF00);
  set("SHAR", number(Octets(chip_mac.begin(), chip_mac.end())));
  set("SIPR", chip_ip);
}

void ConfiguredTest::SetUp() {
  configure();
  if (target().has(Feature::peer)) peer().talk_to({chip_mac, chip_ip});
}

void ConfiguredTest::broadcast(int socket, const Octets& data) {
  address(socket, wire::broadcast_ipv4, 9);
  send(socket, data);
  wait(1ms);
}

void ConfiguredTest::address_nobody(int socket) {
  set("SUBR", 0);  // all addresses are neighbours: no gateway takes the packet
  address(socket, wire::ipv4(192, 0, 2, 99), 9);
}

void PeerTest::SetUp() {
  REQUIRES(peer);
  ConfiguredTest::SetUp();
}

void TcpTest::SetUp() {
  PeerTest::SetUp();
  if (IsSkipped()) return;
  tcp_.emplace(peer(), peer_port, chip_port);
}

void TcpTest::listen(std::uint8_t mode_bits) {
  open(0, static_cast<std::uint8_t>(mode::TCP | mode_bits), chip_port);
  command(0, cr::LISTEN);
}

void TcpTest::connect(std::uint8_t mode_bits) {
  peer().answer_arp(true);
  open(0, static_cast<std::uint8_t>(mode::TCP | mode_bits), chip_port);
  address(0, peer_ip(), peer_port);
  command(0, cr::CONNECT);
}

void TcpTest::establish(std::uint8_t mode_bits, std::uint16_t mss) {
  listen(mode_bits);
  ASSERT_TRUE(tcp().establish_to_listener([this](Duration duration) { wait(duration); }, mss));
  ASSERT_EQ(status(0), sr::ESTABLISHED);
  clear_interrupts(0);
}

Octets TcpTest::stream() {
  Octets bytes;
  std::uint32_t next = chip_seq(0);
  for (const net::SeenFrame& frame : peer().seen()) {
    if (frame.kind() != Kind::tcp) continue;
    const Octets data = frame.data();
    const std::uint32_t skip = next - frame.tcp().sequence;
    if (skip >= data.size()) continue;  // seen before
    bytes.insert(bytes.end(), data.begin() + static_cast<std::ptrdiff_t>(skip), data.end());
    next = frame.tcp().sequence + static_cast<std::uint32_t>(data.size());
  }
  return bytes;
}

}  // namespace wizloop::conformance
