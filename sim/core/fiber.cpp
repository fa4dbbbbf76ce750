#include "sim/core/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/fiber.hpp>
#include <new>
#include <utility>

#include "sim/core/assert.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define WIZLOOP_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WIZLOOP_ADDRESS_SANITIZER
#endif
#endif

#ifdef WIZLOOP_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace wizloop {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Whole pages, and one more.
std::size_t with_guard(std::size_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes() + page_bytes();
}

struct StackBounds {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

// AddressSanitizer wants to know on which stack it is: before a switch where it leads, after it where it came from.
#ifdef WIZLOOP_ADDRESS_SANITIZER
void before_switch(void** left, const StackBounds& to) { __sanitizer_start_switch_fiber(left, to.bottom, to.bytes); }
void after_switch(void* resumed, StackBounds* from) {
  __sanitizer_finish_switch_fiber(resumed, from != nullptr ? &from->bottom : nullptr,
                                  from != nullptr ? &from->bytes : nullptr);
}
void forget_stack(void* bottom, std::size_t bytes) { __asan_unpoison_memory_region(bottom, bytes); }
#else
void before_switch(void** /*left*/, const StackBounds& /*to*/) {}
void after_switch(void* /*resumed*/, StackBounds* /*from*/) {}
void forget_stack(void* /*bottom*/, std::size_t /*bytes*/) {}
#endif

// The C++ runtime keeps the exceptions that are under way by thread; each stack has its own, since firmware may wait in
// a handler. The layout is that of the Itanium C++ ABI (2.2.2); <cxxabi.h> only names the type.
struct ExceptionsUnderWay {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

void swap_exceptions(ExceptionsUnderWay& other) {
  std::swap(*reinterpret_cast<ExceptionsUnderWay*>(abi::__cxa_get_globals()), other);
}

}  // namespace

struct Fiber::Stack {
  // Below the stack, where it would overflow, lies a page that nobody may touch.
  class Allocator {
   public:
    Allocator(StackBounds& bounds, std::size_t bytes) : bounds_{bounds}, bytes_{bytes} {}

    boost::context::stack_context allocate() {
      void* const pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
      if (pages == MAP_FAILED) throw std::bad_alloc{};
      const int guarded = mprotect(pages, page_bytes(), PROT_NONE);
      WIZ_ASSERT(guarded == 0);
      std::byte* const bottom = static_cast<std::byte*>(pages) + page_bytes();
      bounds_ = {bottom, bytes_ - page_bytes()};
      boost::context::stack_context stack;
      stack.size = bounds_.bytes;
      stack.sp = bottom + stack.size;
      return stack;
    }

    // What the stack was used for is forgotten before it is given back.
    void deallocate(boost::context::stack_context& stack) {
      std::byte* const bottom = static_cast<std::byte*>(stack.sp) - stack.size;
      forget_stack(bottom, stack.size);
      munmap(bottom - page_bytes(), stack.size + page_bytes());
    }

   private:
    StackBounds& bounds_;
    std::size_t bytes_;
  };

  boost::context::fiber firmware;    // where firmware waits; empty while it runs
  boost::context::fiber main_stack;  // where the main stack waits meanwhile
  StackBounds bounds;
  StackBounds main_bounds;
  void* sanitizer_state = nullptr;
  ExceptionsUnderWay exceptions;
};

Fiber::Fiber(EventQueue& queue, std::function<void()> firmware, std::size_t stack_bytes)
    : queue_{queue}, firmware_{std::move(firmware)}, stack_bytes_{stack_bytes}, stack_{std::make_unique<Stack>()} {
  queue_.set_wake(*this, queue_.now());
}

Fiber::~Fiber() { stop(); }

void Fiber::make_stack() {
  stack_->firmware =
      boost::context::fiber{std::allocator_arg, Stack::Allocator{stack_->bounds, with_guard(stack_bytes_)},
                            [this](boost::context::fiber&& main_stack) {
                              after_switch(nullptr, &stack_->main_bounds);
                              stack_->main_stack = std::move(main_stack);
                              run_firmware();
                              before_switch(nullptr, stack_->main_bounds);
                              return std::move(stack_->main_stack);
                            }};
}

void Fiber::run_firmware() noexcept {
  try {
    firmware_();
  } catch (const FiberStopped&) {
  } catch (...) {
    failure_ = std::current_exception();
  }
  stage_ = Stage::ended;
}

void Fiber::stop() {
  if (ended()) return;
  WIZ_ASSERT(!queue_.on_fiber());
  sleep_no_more();
  if (stage_ == Stage::fresh) {
    stage_ = Stage::ended;
    return;
  }
  const Instant horizon = std::exchange(queue_.horizon_, Instant::min());  // no call gets past wait_until()
  stage_ = Stage::stopping;
  go_on();
  queue_.horizon_ = horizon;
  queue_.note_limit();
  WIZ_ASSERT(ended());
}

// On the main stack -------------------------------------------------------------------------------------------------

void Fiber::go_on() {
  WIZ_ASSERT(!queue_.on_fiber());
  if (stage_ == Stage::fresh) make_stack();
  queue_.set_running(this);
  if (stage_ != Stage::stopping) stage_ = Stage::running;
  void* sanitizer_state = nullptr;
  swap_exceptions(stack_->exceptions);
  before_switch(&sanitizer_state, stack_->bounds);
  stack_->firmware = std::move(stack_->firmware).resume();
  after_switch(sanitizer_state, nullptr);
  swap_exceptions(stack_->exceptions);
  queue_.set_running(nullptr);
  if (!ended()) return;
  sleep_no_more();
  firmware_ = nullptr;
}

void Fiber::sleep_no_more() {
  queue_.set_wake(*this, Instant::max());
  queue_.forget_sleeper(*this);
}

// On the stack of the firmware --------------------------------------------------------------------------------------

void Fiber::give_way() {
  if (stage_ == Stage::stopping) {
    if (std::uncaught_exceptions() > 0) return;  // a destructor must not throw
    throw FiberStopped{};
  }
  stage_ = Stage::waiting;
  before_switch(&stack_->sanitizer_state, stack_->main_bounds);
  stack_->main_stack = std::move(stack_->main_stack).resume();
  after_switch(stack_->sanitizer_state, &stack_->main_bounds);
  if (stage_ == Stage::stopping) throw FiberStopped{};
}

void Fiber::wait_until(Instant to) {
  if (stage_ != Stage::stopping) queue_.set_wake(*this, to);
  give_way();
}

void Fiber::wait_for_events(Instant deadline) {
  if (stage_ != Stage::stopping) {
    queue_.set_wake(*this, deadline);
    queue_.sleepers_.push_back({this, queue_.now()});
  }
  give_way();
}

}  // namespace wizloop
