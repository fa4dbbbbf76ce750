#include "drivers/patterns/ethernet2.hpp"

namespace patterns {

bool Ethernet2::begin(const NetConfig& config) {
  port_.delay_us(1000000);
  chip_.write_common(CommonRegister::MR, static_cast<uint8_t>(chip_.read_common(CommonRegister::MR) | MR::RST));
  write_buffer_sizes(0, socket_count, 2);
  return write_addresses(config);
}

// Reads the status before it looks at the clock: one more frame than Ethernet3 when time runs out.
void Ethernet2::wait_for_closed(uint8_t socket) {
  const Deadline deadline(port_, close_limit_us);
  while (status(socket) != Sn_SR::SOCK_CLOSED && !deadline.passed()) port_.delay_us(1000);
}

}  // namespace patterns
