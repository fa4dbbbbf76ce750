// What the classes over the C ABI share: its errors as Python's, and buffers for the length of a call.
//
//   checked(wizloop_scsn(handle, level));
//   const Buffer out{mosi};
//   checked(wizloop_spi_transfer(handle, out.data(), nullptr, out.size()));
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

#include "sim/capi/wizloop.h"

namespace wizloop::binding {

// What the C ABI said in this thread, as an exception of wizloop.errors.
[[noreturn]] void raise(int code);

inline int checked(int result) {
  if (result < 0) [[unlikely]]
    raise(result);
  return result;
}

// Any object with the buffer protocol, for the length of one call.
class Buffer {
 public:
  explicit Buffer(nanobind::handle object, int flags = PyBUF_SIMPLE) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nanobind::python_error();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }

  std::uint8_t* data() const { return static_cast<std::uint8_t*>(view_.buf); }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

}  // namespace wizloop::binding
