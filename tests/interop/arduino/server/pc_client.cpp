// The PC that talks to server.ino, between the calls of the sketch.
#include <cstdio>
#include <string>

#include "wizloop_arduino.h"

namespace {

constexpr uint32_t board_ip = 0xC0A80114;
constexpr uint16_t port = 2323;
const std::string question = "hello\r\nsecond line\nbye\n";
const std::string wanted = "5 characters\r\n11 characters\r\n3 characters\r\n";

struct Pc {
  wizloop_t* bed;
  int socket;
  bool asked;
  std::string answer;
};

void talk(void* context) {
  Pc& pc = *static_cast<Pc*>(context);
  // The first SYN may meet a board that is not listening yet.
  if (pc.socket < 0 || wizloop_pc_state(pc.bed, pc.socket) == WIZLOOP_PC_LOST) {
    pc.socket = wizloop_pc_tcp_connect(pc.bed, board_ip, port);
    return;
  }
  const int state = wizloop_pc_state(pc.bed, pc.socket);
  if (state == WIZLOOP_PC_CONNECTED && !pc.asked) {
    pc.asked = wizloop_pc_send(pc.bed, pc.socket, question.data(), question.size()) > 0;
  }
  char text[256];
  const int got = wizloop_pc_receive(pc.bed, pc.socket, text, sizeof text);
  if (got > 0) pc.answer.append(text, static_cast<std::size_t>(got));
  if (state == WIZLOOP_PC_PEER_CLOSED) {
    wizloop_pc_close(pc.bed, pc.socket);
    if (pc.answer == wanted) wizloop_arduino_end(0);
  }
}

}  // namespace

int driver_test(wizloop_t* bed) {
  constexpr uint64_t ns_per_ms = 1'000'000;
  Pc pc{bed, -1, false, {}};
  wizloop_on_tick(bed, ns_per_ms, talk, &pc);
  const int result = wizloop_arduino_run(bed);
  wizloop_on_tick(bed, 0, nullptr, nullptr);
  if (pc.answer != wanted) std::printf("the PC was answered \"%s\"\n", pc.answer.c_str());
  return pc.answer == wanted ? result : 1;
}
