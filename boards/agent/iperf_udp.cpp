#include "iperf_udp.hpp"

#include "drivers/w5500/bytes.hpp"

namespace agent {

using w5500::Datagram;
using w5500::Endpoint;
using w5500::Error;
using w5500::load32;
using w5500::Result;
using w5500::store32;
using w5500::UdpSocket;

namespace {

constexpr uint32_t million = 1000000;
constexpr uint16_t report_bytes = 56;        // the header and ten words
constexpr uint32_t has_report = 0x80000000;  // in the first of them
constexpr uint8_t most_tries = 10;
constexpr uint32_t report_wait_us = 250000;

}  // namespace

void IperfUdp::write_header(uint8_t* data, int32_t id, uint64_t now_us) {
  store32(data, static_cast<uint32_t>(id));
  store32(data + 4, static_cast<uint32_t>(now_us / million));
  store32(data + 8, static_cast<uint32_t>(now_us % million));
  store32(data + 12, id < 0 ? 0xFFFFFFFFu : 0);
}

uint64_t IperfUdp::sent_us(const uint8_t* data) { return uint64_t{load32(data + 4)} * million + load32(data + 8); }

bool IperfUdp::finish(Device& device, UdpSocket& socket, Watch& watch, const Endpoint& peer, uint32_t sent,
                      uint16_t size, Report* report) {
  uint8_t* const data = device.buffers.data;
  for (uint8_t attempt = 0; attempt < most_tries && !watch.over(); ++attempt) {
    device.fill_with_pattern();
    write_header(data, -static_cast<int32_t>(sent + 1 + attempt), device.clock.now_us());
    if (!socket.send_to(peer, data, size)) continue;
    const Result<Datagram> got = socket.receive_from(data, device.buffers.data_bytes, report_wait_us);
    if (!got || got.value().stored < report_bytes || (load32(data + 16) & has_report) == 0) continue;
    report->bytes = (uint64_t{load32(data + 20)} << 32) | load32(data + 24);
    report->us = uint64_t{load32(data + 28)} * million + load32(data + 32);
    report->lost = load32(data + 36);
    report->late = load32(data + 40);
    report->datagrams = load32(data + 44);
    report->jitter_us = uint64_t{load32(data + 48)} * million + load32(data + 52);
    return true;
  }
  return false;
}

Error IperfUdp::send_report(UdpSocket& socket, const Endpoint& peer, uint8_t* data, const Report& report) {
  store32(data + 16, has_report);
  store32(data + 20, static_cast<uint32_t>(report.bytes >> 32));
  store32(data + 24, static_cast<uint32_t>(report.bytes & 0xFFFFFFFFu));
  store32(data + 28, static_cast<uint32_t>(report.us / million));
  store32(data + 32, static_cast<uint32_t>(report.us % million));
  store32(data + 36, report.lost);
  store32(data + 40, report.late);
  store32(data + 44, report.datagrams);
  store32(data + 48, static_cast<uint32_t>(report.jitter_us / million));
  store32(data + 52, static_cast<uint32_t>(report.jitter_us % million));
  return socket.send_to(peer, data, report_bytes).error();
}

}  // namespace agent
