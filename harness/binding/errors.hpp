// A Result's error as an exception of wizloop.errors.
#pragma once

#include <nanobind/nanobind.h>

#include "sim/core/result.hpp"

namespace wizloop::binding {

// UsageError, or InfrastructureError where the machine is at fault, with the message unchanged.
[[noreturn]] inline void raise(const Error& error) {
  namespace nb = nanobind;
  const char* const name = error.kind == ErrorKind::machine ? "InfrastructureError" : "UsageError";
  const nb::object type = nb::module_::import_("wizloop.errors").attr(name);
  // A message quotes paths, whose bytes need not be UTF-8.
  const auto size = static_cast<Py_ssize_t>(error.message.size());
  const nb::object message = nb::steal(PyUnicode_DecodeFSDefaultAndSize(error.message.data(), size));
  PyErr_SetObject(type.ptr(), message.ptr());
  throw nb::python_error();
}

}  // namespace wizloop::binding
