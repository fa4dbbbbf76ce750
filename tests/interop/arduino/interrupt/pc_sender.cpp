// The PC sends datagrams to interrupt.ino, one at a time and two at once.
#include <cstddef>

#include "wizloop_arduino.h"

namespace {

constexpr uint32_t board_ip = 0xC0A80114;

struct Pc {
  wizloop_t* bed;
  int socket;
  int ms;
};

void send(void* context) {
  Pc& pc = *static_cast<Pc*>(context);
  ++pc.ms;
  const int sizes[] = {pc.ms == 1200 ? 11 : 0, pc.ms == 1300 ? 22 : 0, pc.ms == 1300 ? 33 : 0, pc.ms == 1400 ? 44 : 0};
  const char data[64] = {};
  for (const int size : sizes) {
    if (size > 0) wizloop_pc_send_to(pc.bed, pc.socket, board_ip, 5000, data, static_cast<std::size_t>(size));
  }
}

}  // namespace

int driver_test(wizloop_t* bed) {
  constexpr uint64_t ns_per_ms = 1'000'000;
  Pc pc{bed, wizloop_pc_udp_open(bed, 0), 0};
  wizloop_on_tick(bed, ns_per_ms, send, &pc);
  const int result = wizloop_arduino_run(bed);
  wizloop_on_tick(bed, 0, nullptr, nullptr);
  return result;
}
