// A value, or the Error that says in one sentence what was wrong, where, and what was expected.
// Stands in for std::expected, which C++20 does not have.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "sim/core/assert.hpp"

namespace wizloop {

// Whose fault it is: what was asked for cannot be, or the machine lacks what it takes.
enum class ErrorKind : std::uint8_t { user, machine };

struct Error {
  std::string message;
  ErrorKind kind = ErrorKind::user;
};

// A path that cannot be opened is the user's fault; a full disk, or too many open files, is the machine's.
inline ErrorKind kind_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return ErrorKind::machine;
    default:
      return ErrorKind::user;
  }
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_{std::move(value)} {}      // NOLINT: implicit, so that `return value;` works
  Result(Error error) : state_{std::move(error)} {}  // NOLINT: implicit, so that `return Error{...};` works

  explicit operator bool() const { return std::holds_alternative<T>(state_); }

  T& value() & {
    WIZ_ASSERT(std::holds_alternative<T>(state_));
    return std::get<T>(state_);
  }
  const T& value() const& {
    WIZ_ASSERT(std::holds_alternative<T>(state_));
    return std::get<T>(state_);
  }
  T&& value() && {
    WIZ_ASSERT(std::holds_alternative<T>(state_));
    return std::get<T>(std::move(state_));
  }
  const Error& error() const {
    WIZ_ASSERT(std::holds_alternative<Error>(state_));
    return std::get<Error>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

}  // namespace wizloop
