// A move-only callable of fixed size, so that scheduling an event never allocates.
//
//   InplaceFunction<64> callback = [this, frame = std::move(frame)]() mutable { deliver(std::move(frame)); };
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "sim/core/assert.hpp"

namespace wizloop {

template <std::size_t Capacity>
class InplaceFunction {
 public:
  InplaceFunction() = default;

  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, InplaceFunction> && std::is_invocable_v<F&>)
      InplaceFunction(F&& function) {  // NOLINT: implicit, so that a lambda can be passed where a callback is taken
    using Stored = std::remove_cvref_t<F>;
    static_assert(sizeof(Stored) <= Capacity, "the captures of this callback are too large");
    static_assert(alignof(Stored) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_move_constructible_v<Stored>);
    new (storage_) Stored(std::forward<F>(function));
    operations_ = &operations_of<Stored>;
  }

  InplaceFunction(InplaceFunction&& other) noexcept { take(other); }
  InplaceFunction& operator=(InplaceFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~InplaceFunction() { reset(); }

  explicit operator bool() const { return operations_ != nullptr; }

  void operator()() {
    WIZ_ASSERT(operations_ != nullptr);
    operations_->call(storage_);
  }

  void reset() {
    if (operations_ != nullptr) std::exchange(operations_, nullptr)->destroy(storage_);
  }

 private:
  struct Operations {
    void (*call)(void*);
    void (*move)(void* to, void* from);
    void (*destroy)(void*);
  };

  template <typename Stored>
  static constexpr Operations operations_of{
      [](void* stored) { (*static_cast<Stored*>(stored))(); },
      [](void* to, void* from) {
        new (to) Stored(std::move(*static_cast<Stored*>(from)));
        static_cast<Stored*>(from)->~Stored();
      },
      [](void* stored) { static_cast<Stored*>(stored)->~Stored(); },
  };

  void take(InplaceFunction& other) {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_ != nullptr) operations_->move(storage_, other.storage_);
  }

  const Operations* operations_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[Capacity];
};

}  // namespace wizloop
