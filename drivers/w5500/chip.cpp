#include "chip.hpp"

#include "bytes.hpp"
#include "deadline.hpp"

namespace w5500 {
namespace {

// Twice what the datasheet (5.5.1) asks for: RSTn low for 500 us, then 1 ms for the PLL.
constexpr uint32_t reset_low_us = 1000;
constexpr uint32_t reset_settle_us = 2000;
constexpr uint32_t identify_poll_us = 100;

constexpr uint32_t phy_reset_us = 500;
constexpr uint32_t link_poll_us = 1000;

// GAR, SUBR, SHAR and SIPR lie side by side from 0x0001 on.
constexpr uint8_t gateway_at = 0;
constexpr uint8_t subnet_at = 4;
constexpr uint8_t mac_at = 8;
constexpr uint8_t ip_at = 14;
constexpr uint8_t network_bytes = 18;

bool is_buffer_size(uint8_t kib) { return kib <= 16 && (kib & (kib - 1)) == 0; }

bool fits(const uint8_t (&kib)[socket_count]) {
  uint16_t total = 0;
  for (uint8_t size : kib) {
    if (!is_buffer_size(size)) return false;
    total = static_cast<uint16_t>(total + size);
  }
  return total <= buffer_kib_total;
}

Result<void> outcome(bool transferred) { return transferred ? Error::none : Error::bus_failed; }

}  // namespace

Result<void> Chip::reset(uint32_t timeout_us) {
  interrupt_sockets_ = 0;
  if (port_.set_reset_pin(false)) {
    port_.delay_us(reset_low_us);
    port_.set_reset_pin(true);
    port_.delay_us(reset_settle_us);
  } else {
    const uint8_t reset = MR::RST;
    if (!write(CommonRegister::MR, &reset, 1)) return Error::bus_failed;
  }
  return identify(timeout_us);
}

Result<void> Chip::identify(uint32_t timeout_us) {
  const Deadline deadline(port_, timeout_us);
  for (;;) {
    const Error error = probe();
    if (error == Error::none || error == Error::bus_failed || deadline.passed()) return error;
    port_.delay_us(identify_poll_us);
  }
}

// Flips MR.PB, which does nothing while no ping comes, and puts MR back as it was.
Error Chip::probe() {
  uint8_t before = 0;
  if (!read(CommonRegister::MR, &before, 1)) return Error::bus_failed;
  if (MR{before}.has(MR::RST)) return Error::no_chip;
  const uint8_t patterns[2] = {static_cast<uint8_t>(before ^ MR::PB), before};
  for (const uint8_t& pattern : patterns) {
    uint8_t kept = 0;
    if (!write(CommonRegister::MR, &pattern, 1) || !read(CommonRegister::MR, &kept, 1)) return Error::bus_failed;
    if (kept != pattern) return Error::no_chip;
  }
  uint8_t version = 0;
  if (!read(CommonRegister::VERSIONR, &version, 1)) return Error::bus_failed;
  return version == version_w5500 ? Error::none : Error::wrong_version;
}

Result<void> Chip::set_network(const Network& network) {
  uint8_t raw[network_bytes];
  copy_bytes(raw + gateway_at, network.gateway, 4);
  copy_bytes(raw + subnet_at, network.subnet, 4);
  copy_bytes(raw + mac_at, network.mac, 6);
  copy_bytes(raw + ip_at, network.ip, 4);
  return outcome(write(CommonRegister::GAR, raw, sizeof raw));
}

Result<Network> Chip::network() {
  uint8_t raw[network_bytes];
  if (!read(CommonRegister::GAR, raw, sizeof raw)) return Error::bus_failed;
  Network network;
  copy_bytes(network.gateway, raw + gateway_at, 4);
  copy_bytes(network.subnet, raw + subnet_at, 4);
  copy_bytes(network.mac, raw + mac_at, 6);
  copy_bytes(network.ip, raw + ip_at, 4);
  return network;
}

Result<void> Chip::set_retry(uint16_t time_100us, uint8_t count) {
  uint8_t raw[3];  // RTR, RCR
  store16(raw, time_100us);
  raw[2] = count;
  return outcome(write(CommonRegister::RTR, raw, sizeof raw));
}

Result<void> Chip::set_buffer_sizes(const BufferSizes& sizes) {
  if (!fits(sizes.tx_kib) || !fits(sizes.rx_kib)) return Error::invalid_argument;

  uint8_t now[socket_count][2];  // Sn_RXBUF_SIZE, Sn_TXBUF_SIZE
  for (uint8_t n = 0; n < socket_count; ++n) {
    uint8_t state = 0;
    if (!read(n, SocketRegister::Sn_SR, &state, 1)) return Error::bus_failed;
    if (static_cast<Sn_SR>(state) != Sn_SR::SOCK_CLOSED) return Error::wrong_state;
    if (!read(n, SocketRegister::Sn_RXBUF_SIZE, now[n], 2)) return Error::bus_failed;
  }
  for (uint8_t n = 0; n < socket_count; ++n) {
    const uint8_t shrunk[2] = {smaller(now[n][0], sizes.rx_kib[n]), smaller(now[n][1], sizes.tx_kib[n])};
    if (shrunk[0] == now[n][0] && shrunk[1] == now[n][1]) continue;
    if (!write(n, SocketRegister::Sn_RXBUF_SIZE, shrunk, 2)) return Error::bus_failed;
    copy_bytes(now[n], shrunk, 2);
  }
  for (uint8_t n = 0; n < socket_count; ++n) {
    const uint8_t grown[2] = {sizes.rx_kib[n], sizes.tx_kib[n]};
    if (grown[0] == now[n][0] && grown[1] == now[n][1]) continue;
    if (!write(n, SocketRegister::Sn_RXBUF_SIZE, grown, 2)) return Error::bus_failed;
  }
  return Error::none;
}

Result<PHYCFGR> Chip::phy() {
  uint8_t raw = 0;
  if (!read(CommonRegister::PHYCFGR, &raw, 1)) return Error::bus_failed;
  return PHYCFGR{raw};
}

Result<void> Chip::set_phy_mode(OPMDC mode) {
  // The mode is taken over when RST goes from 0 to 1 (datasheet 4.1, PHYCFGR).
  const uint8_t held = PHYCFGR::in_reset(mode).raw;
  if (!write(CommonRegister::PHYCFGR, &held, 1)) return Error::bus_failed;
  port_.delay_us(phy_reset_us);
  const uint8_t released = PHYCFGR::released(mode).raw;
  return outcome(write(CommonRegister::PHYCFGR, &released, 1));
}

Result<void> Chip::wait_for_link(uint32_t timeout_us) {
  const Deadline deadline(port_, timeout_us);
  for (;;) {
    const Result<PHYCFGR> now = phy();
    if (!now) return now.error();
    if (now.value().LNK()) return Error::none;
    if (deadline.passed()) return Error::state_timeout;
    port_.delay_us(link_poll_us);
  }
}

Result<void> Chip::use_interrupt_pin(uint8_t sockets) {
  if (!write(CommonRegister::SIMR, &sockets, 1)) return Error::bus_failed;
  interrupt_sockets_ = sockets;
  return Error::none;
}

Result<void> Chip::set_interrupt_mask(IR mask) { return outcome(write(CommonRegister::IMR, &mask.raw, 1)); }

Result<void> Chip::set_interrupt_pause(uint16_t level) {
  uint8_t raw[2];
  store16(raw, level);
  return outcome(write(CommonRegister::INTLEVEL, raw, sizeof raw));
}

Result<Interrupts> Chip::read_interrupts() {
  uint8_t raw[3];  // IR, IMR, SIR
  if (!read(CommonRegister::IR, raw, sizeof raw)) return Error::bus_failed;
  return Interrupts{IR{raw[0]}, IR{raw[1]}, raw[2]};
}

Result<void> Chip::clear_interrupts(IR causes) { return outcome(write(CommonRegister::IR, &causes.raw, 1)); }

}  // namespace w5500
