#include "sim/lwip/lwip_stack.hpp"

#include <cstdlib>
#include <vector>

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

Result<std::unique_ptr<LwipStack>> LwipStack::create(Clock& clock, RandomStream random,
                                                     std::optional<std::uint16_t> tcp_buffer_bytes) {
  std::vector<LwipLibrary::Replacement> replacements = {
      {"sys_now", address_of(milliseconds)},   {"rand", address_of(chance)},  {"malloc", address_of(allocate)},
      {"calloc", address_of(allocate_zeroed)}, {"free", address_of(release)},
  };
  if (tcp_buffer_bytes) replacements.push_back({"tcp_enqueue_flags", address_of(enqueue_flags)});
  Result<std::unique_ptr<LwipLibrary>> library = LwipLibrary::load(replacements);
  if (!library) return library.error();
  std::unique_ptr<LwipStack> stack{new LwipStack{clock, random}};
  stack->library_ = std::move(library).value();
  stack->tcp_buffer_bytes_ = tcp_buffer_bytes.value_or(0);
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

// A connection's buffers are set before its SYN leaves. lwIP offers to scale windows in the SYN of a connect, and in
// the answer to a SYN that offered it; in the state after such a SYN it offers it only if the connection is to scale.
std::int8_t LwipStack::enqueue_flags(tcp_pcb* connection, std::uint8_t flags) {
  WIZ_ASSERT(current_ != nullptr);
  const LwipLibrary& lwip = current_->library();
  if ((flags & TCP_SYN) == 0) return lwip.tcp_enqueue_flags(connection, flags);
  connection->rcv_wnd = connection->rcv_ann_wnd = connection->snd_buf = current_->tcp_buffer_bytes_;
  tcp_clear_flags(connection, TF_WND_SCALE);
  connection->snd_scale = connection->rcv_scale = 0;
  const tcp_state state = std::exchange(connection->state, SYN_RCVD);
  const err_t error = lwip.tcp_enqueue_flags(connection, flags);
  connection->state = state;
  return error;
}

}  // namespace wizloop
