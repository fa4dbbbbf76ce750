// How much of the memory between static data and stack no call has ever written to: the verb stats tells it as
// stack_free_bytes. A buffer in the deepest call that stayed as it was counts as free. From the constructor on, which
// fills that memory; so it comes first in main().
#ifndef WIZLOOP_AGENT_FREE_STACK_HPP
#define WIZLOOP_AGENT_FREE_STACK_HPP

#include "../identity.hpp"

extern "C" uint8_t _end;  // of static data, by the linker

namespace agent {

class FreeStack final : public StatsSource {
 public:
  FreeStack() {
    for (uint8_t* at = &_end; at < here() - margin_bytes; ++at) *at = mark;
  }

  bool stat(uint8_t index, const char** key, uint64_t* value) override {
    if (index != 0) return false;
    const uint8_t* at = &_end;
    const uint8_t* const top = here();
    while (at < top && *at == mark) ++at;
    *key = "stack_free_bytes";
    *value = static_cast<uint64_t>(at - &_end);
    return true;
  }

 private:
  static constexpr uint8_t mark = 0xA5;
  static constexpr uint8_t margin_bytes = 64;  // what this function itself, and an interrupt, may be using

  static uint8_t* here() { return static_cast<uint8_t*>(__builtin_frame_address(0)); }
};

}  // namespace agent

#endif
