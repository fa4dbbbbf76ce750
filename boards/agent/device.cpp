#include "device.hpp"

namespace agent {

using w5500::Error;

namespace {

constexpr uint16_t first_local_port = 49152;
constexpr uint8_t version_frame[3] = {0x00, 0x39, 0x00};  // reads VERSIONR
constexpr uint32_t dma_patience_us = 10000;
constexpr uint32_t interrupt_probe_us = 200;

// By a frame that reads VERSIONR, its data by DMA.
bool probe_dma(w5500::Port& port) {
  uint8_t version = 0;
  port.select();
  port.exchange(version_frame, nullptr, sizeof version_frame);
  const bool started = port.start_dma(nullptr, &version, 1);
  if (!started) {
    port.exchange(nullptr, &version, 1);
  } else if (!port.wait_dma(dma_patience_us)) {
    port.abort_dma();
  }
  port.deselect();
  return started;
}

// A port without the wire returns at once, another one sleeps.
bool probe_interrupt_pin(w5500::Port& port) {
  const uint32_t start_us = port.now_us();
  return port.wait_for_interrupt(interrupt_probe_us) || port.now_us() - start_us >= interrupt_probe_us;
}

}  // namespace

Error Device::start_chip() {
  memory_kib = 0;
  memory_sockets = 0;
  release_select();
  has_reset_pin = port.set_reset_pin(true);
  w5500::Result<void> done = chip.reset();
  if (done) done = chip.set_network(network);
  chip_error = done.error();
  if (chip_error == Error::none) {
    has_dma = probe_dma(port);
    has_interrupt_pin = probe_interrupt_pin(port);
  }
  return chip_error;
}

uint16_t Device::next_local_port() {
  const uint16_t port_number = local_port;
  local_port = port_number == 65535 ? first_local_port : static_cast<uint16_t>(port_number + 1);
  return port_number;
}

Error Device::share_memory(uint8_t sockets, uint8_t kib) {
  if (memory_kib == kib && memory_sockets >= sockets) return Error::none;
  w5500::BufferSizes sizes = {};
  uint8_t left = w5500::buffer_kib_total;
  uint8_t given = 0;
  for (; given < w5500::socket_count && left >= kib; ++given) {
    sizes.tx_kib[given] = sizes.rx_kib[given] = kib;
    left = static_cast<uint8_t>(left - kib);
  }
  if (given < sockets) return Error::invalid_argument;
  const w5500::Result<void> done = chip.set_buffer_sizes(sizes);
  if (done) {
    memory_kib = kib;
    memory_sockets = given;
  }
  return done.error();
}

uint8_t Device::largest_share_kib(uint8_t sockets) {
  uint8_t kib = w5500::buffer_kib_total;
  while (kib * sockets > w5500::buffer_kib_total) kib = static_cast<uint8_t>(kib / 2);
  return kib;
}

void Device::fill_with_pattern() {
  for (uint16_t i = 0; i < buffers.data_bytes; ++i) buffers.data[i] = static_cast<uint8_t>(i & 0xFF);
}

void Device::release_select() {
  if (selected) port.deselect();
  selected = false;
}

uint16_t count_mismatches(const uint8_t* data, uint16_t count, uint64_t position) {
  uint16_t mismatches = 0;
  uint8_t expected = static_cast<uint8_t>(position & 0xFF);
  for (uint16_t i = 0; i < count; ++i) {
    if (data[i] != expected) ++mismatches;
    ++expected;
  }
  return mismatches;
}

}  // namespace agent
