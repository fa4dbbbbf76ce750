// What the tests of public cases share: a configured chip on a bench, sockets brought to where a case begins, and a
// look at what the run was found guilty of. A case is told twice: the faulty pattern of firmware, with the finding that
// it earns or the symptom that its author saw, and the cured one, after which nothing is found.
//
//   class B05_TxPointerBeyondTheData : public CaseTest {};
//   TEST_F(B05_TxPointerBeyondTheData, ...) {
//     open_udp(0, 5000);
//     ...
//     EXPECT_THAT(broken(), IsEmpty());
//   }
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/test_board.hpp"

namespace wizloop::test {

using Octets = std::vector<std::uint8_t>;

class CaseTest : public testing::Test {
 protected:
  static constexpr wire::Ipv4Address subnet_broadcast = wire::ipv4(192, 168, 1, 255);
  static constexpr std::uint16_t remote_port = 6000;

  CaseTest() { board.configure(); }

  // The ids of the rules that firmware has broken so far, in the order in which they were first broken; without notes,
  // as the cases begin with a chip as power-up leaves it.
  std::vector<std::string_view> broken() const {
    std::vector<std::string_view> ids;
    for (const Rule rule : board.findings.failing()) ids.push_back(text_of(rule).id);
    return ids;
  }
  // What was seen of one rule.
  std::vector<std::string> seen(Rule rule) const {
    std::vector<std::string> all;
    for (const Finding& finding : board.findings.all()) {
      if (finding.rule == rule) all.push_back(finding.seen);
    }
    return all;
  }

  // How often it was broken.
  std::uint64_t times(Rule rule) const {
    std::uint64_t count = 0;
    for (const Finding& finding : board.findings.all()) count += finding.rule == rule ? finding.count : 0;
    return count;
  }

  // Opens a UDP socket that sends to everybody of the subnet, so that no ARP is asked.
  void open_udp(int socket, std::uint16_t port, std::uint8_t mode_bits = 0) {
    board.set8(socket, chip::socket::Sn_MR, static_cast<std::uint8_t>(chip::sn_mr::UDP | mode_bits));
    board.set16(socket, chip::socket::Sn_PORT, port);
    board.set32(socket, chip::socket::Sn_DIPR, subnet_broadcast);
    board.set16(socket, chip::socket::Sn_DPORT, remote_port);
    board.command(socket, chip::sn_cr::OPEN);
  }
  // A SEND as it should be: data behind what was sent, SENDOK awaited and cleared.
  void send(int socket, const Octets& data) {
    board.send(socket, data);
    finish_send(socket);
  }
  void finish_send(int socket) {
    board.advance(1ms);
    board.set8(socket, chip::socket::Sn_IR, chip::sn_ir::SENDOK);
  }
  std::uint16_t waiting(int socket) { return board.get16(socket, chip::socket::Sn_RX_RSR); }
  std::uint16_t free_space(int socket) { return board.get16(socket, chip::socket::Sn_TX_FSR); }
  // Bytes from the front of the RX ring, without letting go of them.
  Octets peek(int socket, std::size_t count) {
    return board.read(TestBoard::rx_of(socket), board.get16(socket, chip::socket::Sn_RX_RD), count);
  }
  // The same, and RECV.
  Octets receive(int socket, std::size_t count) {
    const Octets data = peek(socket, count);
    release(socket, count);
    return data;
  }
  void release(int socket, std::size_t count) {
    const std::uint16_t from = board.get16(socket, chip::socket::Sn_RX_RD);
    board.set16(socket, chip::socket::Sn_RX_RD, static_cast<std::uint16_t>(from + count));
    board.command(socket, chip::sn_cr::RECV);
  }

  // A datagram of any sender, wholly received when this returns.
  void datagram(wire::Ipv4Address from, std::uint16_t from_port, std::uint16_t to_port, const Octets& data) {
    Octets bytes(42);
    bytes.insert(bytes.end(), data.begin(), data.end());
    wire::EthernetHeader{chip_mac, peer_mac, wire::type_ipv4}.emit(bytes.data());
    wire::Ipv4Header ip;
    ip.protocol = wire::protocol_udp;
    ip.source = from;
    ip.destination = chip_ip;
    ip.total_length = static_cast<std::uint16_t>(28 + data.size());
    ip.emit(&bytes[14]);
    wire::UdpHeader{from_port, to_port, 0}.emit(from, chip_ip, {&bytes[34], 8 + data.size()});
    if (bytes.size() < wire::min_frame_bytes) bytes.resize(wire::min_frame_bytes);
    board.arrive(bytes);
    board.advance(10us);
  }

  // The payload of everything that the chip has sent, headers left out; clears what was sent.
  Octets sent_udp() {
    Octets all;
    for (const SentFrame& frame : board.sent) {
      const Bytes payload = frame.udp_payload();
      all.insert(all.end(), payload.begin(), payload.end());
    }
    board.sent.clear();
    return all;
  }

  static Octets counting(std::size_t count, std::uint8_t from = 0) {
    Octets bytes(count);
    std::iota(bytes.begin(), bytes.end(), from);
    return bytes;
  }
  // The record of a UDP datagram in the RX ring: sender, port, length, payload.
  static Octets udp_record(wire::Ipv4Address from, std::uint16_t from_port, const Octets& data) {
    Octets record(8);
    store32(record.data(), from);
    store16(&record[4], from_port);
    store16(&record[6], static_cast<std::uint16_t>(data.size()));
    record.insert(record.end(), data.begin(), data.end());
    return record;
  }

  TestBoard board;
  TestConnection tcp{board};
};

}  // namespace wizloop::test
