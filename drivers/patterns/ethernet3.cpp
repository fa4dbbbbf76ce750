#include "drivers/patterns/ethernet3.hpp"

namespace patterns {

bool Ethernet3::begin(const NetConfig& config) {
  port_.delay_us(1000000);
  uint8_t sockets = socket_count;
  uint8_t kib = 2;
  if (config.buffer_kib == 4 || config.buffer_kib == 8 || config.buffer_kib == 16) {
    kib = config.buffer_kib;
    sockets = static_cast<uint8_t>(16 / kib);
  }
  // The sockets without memory come first.
  write_buffer_sizes(sockets, socket_count, 0);
  write_buffer_sizes(0, sockets, kib);
  return write_addresses(config);
}

void Ethernet3::wait_for_closed(uint8_t socket) {
  const Deadline deadline(port_, close_limit_us);
  do {
    if (status(socket) == Sn_SR::SOCK_CLOSED) return;
    port_.delay_us(1000);
  } while (!deadline.passed());
}

}  // namespace patterns
