#include "sim/lwip/lwip_stack.hpp"

#include <cstdlib>

#include "sim/core/assert.hpp"
#include "sim/lwip/lwip_library.hpp"

namespace wizloop {
namespace {

template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

thread_local LwipStack* LwipStack::current_ = nullptr;

Result<std::unique_ptr<LwipStack>> LwipStack::create(Clock& clock, RandomStream random) {
  const LwipLibrary::Replacement replacements[] = {
      {"sys_now", address_of(milliseconds)},   {"rand", address_of(chance)},  {"malloc", address_of(allocate)},
      {"calloc", address_of(allocate_zeroed)}, {"free", address_of(release)},
  };
  Result<std::unique_ptr<LwipLibrary>> library = LwipLibrary::load(replacements);
  if (!library) return library.error();
  std::unique_ptr<LwipStack> stack{new LwipStack{clock, random}};
  stack->library_ = std::move(library).value();
  return stack;
}

LwipStack::LwipStack(Clock& clock, RandomStream random) : clock_{clock}, random_{random} {}

LwipStack::~LwipStack() = default;

std::uint32_t LwipStack::milliseconds() {
  WIZ_ASSERT(current_ != nullptr);
  return current_->clock_.milliseconds();
}

int LwipStack::chance() {
  WIZ_ASSERT(current_ != nullptr);
  return static_cast<int>(current_->random_.below(std::uint64_t{RAND_MAX} + 1));
}

void* LwipStack::allocate(std::size_t bytes) {
  WIZ_ASSERT(current_ != nullptr);
  return current_->heap_.allocate(bytes);
}

void* LwipStack::allocate_zeroed(std::size_t count, std::size_t bytes) {
  WIZ_ASSERT(current_ != nullptr);
  return current_->heap_.allocate_zeroed(count * bytes);
}

void LwipStack::release(void* memory) {
  WIZ_ASSERT(current_ != nullptr);
  current_->heap_.release(memory);
}

}  // namespace wizloop
