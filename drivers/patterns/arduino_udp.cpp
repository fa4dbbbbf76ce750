#include "drivers/patterns/arduino_udp.hpp"

namespace patterns {

bool ArduinoUdp::udp_send(const Endpoint& to, const uint8_t* data, uint16_t count) {
  if (!udp_begin_packet(to)) return false;
  udp_write(data, count);
  return udp_end_packet();
}

bool ArduinoUdp::udp_begin_packet(const Endpoint& to) {
  udp_filled_ = 0;
  if (udp_ == no_socket || is_zero(to.ip) || to.port == 0) return false;
  const bool addressed = chip_.write_socket_array(udp_, SocketRegister::Sn_DIPR, to.ip, 4);
  write_destination_port(to.port);
  return addressed;
}

uint16_t ArduinoUdp::udp_write(const uint8_t* data, uint16_t count) {
  if (udp_ == no_socket) return 0;
  const uint16_t taking = fitting(count);
  if (!append_to_tx(udp_, udp_filled_, data, taking)) return 0;
  udp_filled_ = static_cast<uint16_t>(udp_filled_ + taking);
  return taking;
}

bool ArduinoUdp::udp_end_packet() {
  if (udp_ == no_socket || !chip_.command(udp_, Sn_CR::SEND)) return false;
  const Deadline deadline(port_, give_up_us);
  while (!chip_.interrupts(udp_).has(Sn_IR::SENDOK)) {
    if (chip_.interrupts(udp_).has(Sn_IR::TIMEOUT)) {
      chip_.clear_interrupts(udp_, Sn_IR::SENDOK | Sn_IR::TIMEOUT);
      return false;
    }
    if (deadline.passed()) return false;
  }
  chip_.clear_interrupts(udp_, Sn_IR::SENDOK);
  return true;
}

uint16_t ArduinoUdp::udp_read(uint8_t* data, uint16_t count) {
  if (udp_ == no_socket || udp_remaining_ == 0) return 0;
  const int32_t got = receive(udp_, data, udp_remaining_ < count ? udp_remaining_ : count);
  if (got <= 0) return 0;
  udp_remaining_ = static_cast<uint16_t>(udp_remaining_ - got);
  return static_cast<uint16_t>(got);
}

}  // namespace patterns
