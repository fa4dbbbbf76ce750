// One lwIP and what it takes from outside: a clock, chance and memory. Each stack has a copy of the library to itself
// (lwip_library.hpp), so that a PC and a board, or several runs in one process, know nothing of each other.
//
//   struct Owner final : LwipStack::Clock { std::uint32_t milliseconds() override; ... };
//   std::unique_ptr<LwipStack> stack = LwipStack::create(owner, random.stream("board.lwip")).value();
//   LwipStack::Call lwip{*stack};
//   lwip->lwip_init();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "sim/lwip/lwip_heap.hpp"

struct tcp_pcb;

namespace wizloop {

class LwipLibrary;

class LwipStack {
 public:
  class Clock {
   public:
    // sys_now(): any start, wraps at 2^32.
    virtual std::uint32_t milliseconds() = 0;

   protected:
    ~Clock() = default;
  };

  // The clock outlives the stack. The error is the machine's: lwIP is not installed, or cannot be loaded.
  //
  // Debian's build has TCP buffers of 65535 bytes and scales windows (RFC 7323). With `tcp_buffer_bytes` a connection
  // is as in a build with TCP_WND and TCP_SND_BUF of that size and without scaling. tcp_close() would take the smaller
  // window for data that nobody read, and reset the connection: who has read all sets rcv_wnd to TCP_WND_MAX first.
  static Result<std::unique_ptr<LwipStack>> create(Clock& clock, RandomStream random,
                                                   std::optional<std::uint16_t> tcp_buffer_bytes = std::nullopt);
  LwipStack(const LwipStack&) = delete;
  LwipStack& operator=(const LwipStack&) = delete;
  ~LwipStack();

  // The functions, to hand their addresses to lwIP or to call those that take nothing from outside.
  const LwipLibrary& library() const { return *library_; }

  // The only way into lwIP: while it lives, lwIP's clock, chance and memory are those of this stack.
  class Call {
   public:
    explicit Call(LwipStack& stack) : stack_{stack}, previous_{std::exchange(current_, &stack)} {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { current_ = previous_; }

    const LwipLibrary* operator->() const { return stack_.library_.get(); }
    // Not made from inside another call of this stack.
    bool outermost() const { return previous_ != &stack_; }

   private:
    LwipStack& stack_;
    LwipStack* previous_;
  };

 private:
  LwipStack(Clock& clock, RandomStream random);

  // What lwIP calls in place of sys_now, rand, malloc, calloc and free.
  static std::uint32_t milliseconds();
  static int chance();
  static void* allocate(std::size_t bytes);
  static void* allocate_zeroed(std::size_t count, std::size_t bytes);
  static void release(void* memory);
  // In place of tcp_enqueue_flags, which lwIP calls for each SYN and FIN.
  static std::int8_t enqueue_flags(tcp_pcb* connection, std::uint8_t flags);

  static thread_local LwipStack* current_;  // whose call is in progress

  Clock& clock_;
  RandomStream random_;
  std::uint16_t tcp_buffer_bytes_ = 0;
  LwipHeap heap_;  // outlives the library
  std::unique_ptr<LwipLibrary> library_;
};

}  // namespace wizloop
