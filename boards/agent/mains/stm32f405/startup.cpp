// From reset to firmware() (main.cpp) on a Cortex-M4: vectors, static data. Any fault, and any interrupt that nobody handles, resets.
#include <stdint.h>

[[noreturn]] void firmware();

extern "C" {

// By the linker; all are at whole words.
extern uint32_t _stack_top, _data_source, _data, _data_end, _bss;
extern uint8_t _end;

void on_usart1();
[[noreturn]] void on_reset();

[[noreturn]] void on_anything_else() {
  constexpr uint32_t key_and_system_reset = 0x05FA0004;
  *reinterpret_cast<volatile uint32_t*>(0xE000ED0C) = key_and_system_reset;  // SCB AIRCR
  for (;;) {
  }
}

void on_reset() {
  const uint32_t* from = &_data_source;
  for (uint32_t* to = &_data; to < &_data_end;) *to++ = *from++;
  for (uint32_t* to = &_bss; to < reinterpret_cast<uint32_t*>(&_end);) *to++ = 0;
  firmware();
}

}  // extern "C"

namespace {

union Vector {
  uint32_t* stack;
  void (*handler)();
};
constexpr unsigned core_vectors = 16, usart1 = core_vectors + 37, vectors = core_vectors + 82;

struct Vectors {
  Vector of[vectors];
};

constexpr Vectors all_vectors() {
  Vectors table{};
  table.of[0].stack = &_stack_top;
  table.of[1].handler = on_reset;
  for (unsigned i = 2; i < vectors; ++i) table.of[i].handler = on_anything_else;
  table.of[usart1].handler = on_usart1;
  return table;
}

}  // namespace

extern const Vectors vector_table;
__attribute__((section(".vectors"), used)) const Vectors vector_table = all_vectors();
