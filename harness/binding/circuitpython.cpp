#include "harness/binding/circuitpython.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/binding/capi_calls.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace wizloop::binding {
namespace {

// Keeps no testbed alive: the C ABI knows a handle that was destroyed, and says so.
class Firmware {
 public:
  Firmware(const nb::capsule& handle, std::uint64_t call_ns)
      : handle_{static_cast<wizloop_t*>(handle.data())}, call_ns_{call_ns} {}

 protected:
  // The interpreter has made a call.
  void charge() const { checked(wizloop_spend_ns(handle_, call_ns_)); }
  wizloop_t* handle() const { return handle_; }

 private:
  wizloop_t* handle_;
  std::uint64_t call_ns_;
};

// The part of a buffer that start and end choose, as a slice does.
struct Part {
  Part(const Buffer& buffer, Py_ssize_t start, Py_ssize_t end) {
    const auto count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(buffer.size()), &start, &end, 1);
    data = buffer.data() + start;
    size = static_cast<std::size_t>(count);
  }
  std::uint8_t* data;
  std::size_t size;
};

class SpiBus : public Firmware {
 public:
  using Firmware::Firmware;

  bool try_lock() {
    charge();
    return !std::exchange(locked_, true);
  }
  void unlock() { locked_ = false; }

  void configure(std::int64_t baudrate, int polarity, int phase, int bits) {
    begin();
    if ((polarity | phase) < 0 || (polarity | phase) > 1) {
      const std::string message = "polarity " + std::to_string(polarity) + " and phase " + std::to_string(phase);
      throw nb::value_error((message + ", expected 0 or 1").c_str());
    }
    if (bits != 8) throw nb::value_error((std::to_string(bits) + " bits, expected 8").c_str());
    if (baudrate < 0 || baudrate > UINT32_MAX) {
      throw nb::value_error(("baudrate " + std::to_string(baudrate) + ", expected 0 to 2**32 - 1").c_str());
    }
    set_clock(static_cast<std::uint32_t>(baudrate), 2 * polarity + phase);
  }
  void set_clock(std::uint32_t hz, int mode) {
    if (hz == hz_ && mode == mode_) return;
    checked(wizloop_spi_clock(handle(), hz, mode));
    hz_ = hz;
    mode_ = mode;
  }
  std::uint32_t frequency() const { return hz_; }

  void write(nb::handle buffer, Py_ssize_t start, Py_ssize_t end) {
    begin();
    const Buffer out{buffer};
    const Part part{out, start, end};
    checked(wizloop_spi_transfer(handle(), part.data, nullptr, part.size));
  }
  void readinto(nb::handle buffer, Py_ssize_t start, Py_ssize_t end, std::uint8_t write_value) {
    begin();
    const Buffer in{buffer, PyBUF_WRITABLE};
    const Part part{in, start, end};
    if (write_value != 0) fill_.assign(part.size, write_value);
    checked(wizloop_spi_transfer(handle(), write_value != 0 ? fill_.data() : nullptr, part.data, part.size));
  }
  void write_readinto(nb::handle out_buffer, nb::handle in_buffer, Py_ssize_t out_start, Py_ssize_t out_end,
                      Py_ssize_t in_start, Py_ssize_t in_end) {
    begin();
    const Buffer out{out_buffer};
    const Buffer in{in_buffer, PyBUF_WRITABLE};
    const Part from{out, out_start, out_end};
    const Part to{in, in_start, in_end};
    if (from.size != to.size) throw nb::value_error("both buffers must have the same length");
    checked(wizloop_spi_transfer(handle(), from.data, to.data, to.size));
  }

 private:
  void begin() {
    if (!locked_) throw std::runtime_error("Function requires lock");
    charge();
  }

  bool locked_ = false;
  std::uint32_t hz_ = 0;
  int mode_ = 0;
  std::vector<std::uint8_t> fill_;
};

class DigitalPin : public Firmware {
 public:
  DigitalPin(const nb::capsule& handle, std::uint64_t call_ns, const std::optional<std::string>& signal)
      : Firmware{handle, call_ns},
        drive_line_{signal == "SCSn"   ? wizloop_scsn
                    : signal == "RSTn" ? wizloop_rstn
                                       : nullptr},
        is_intn_{signal == "INTn"} {}

  bool value() const {
    charge();
    if (is_intn_) return checked(wizloop_intn(handle())) != 0;
    if (is_output) return level_;
    return drive_line_ != nullptr || is_pulled_up;
  }
  void set_value(nb::handle value) {
    if (!is_output) throw nb::attribute_error("Cannot set value when direction is input.");
    drive(value);
  }
  void drive(nb::handle value) {
    const int level = PyObject_IsTrue(value.ptr());
    if (level < 0) throw nb::python_error();
    charge();
    level_ = level != 0;
    if (drive_line_ != nullptr) checked(drive_line_(handle(), level));
  }
  // No output any more: the chip pulls SCSn and RSTn up.
  void let_go() {
    if (std::exchange(is_output, false) && drive_line_ != nullptr) checked(drive_line_(handle(), 1));
  }

  bool is_output = false;
  bool is_pulled_up = false;

 private:
  int (*drive_line_)(wizloop_t*, int);
  bool is_intn_;
  bool level_ = false;
};

}  // namespace

void add_circuitpython(nb::module_& module) {
  constexpr Py_ssize_t whole = PY_SSIZE_T_MAX;
  nb::class_<SpiBus>(module, "SpiBus", "What drivers call of busio.SPI in each frame.")
      .def(nb::init<const nb::capsule&, std::uint64_t>(), "handle"_a, "call_ns"_a)
      .def("try_lock", &SpiBus::try_lock)
      .def("unlock", &SpiBus::unlock)
      .def("configure", &SpiBus::configure, nb::kw_only(), "baudrate"_a = 100'000, "polarity"_a = 0, "phase"_a = 0,
           "bits"_a = 8)
      .def("_set_clock", &SpiBus::set_clock)
      .def_prop_ro("frequency", &SpiBus::frequency)
      .def("write", &SpiBus::write, "buffer"_a, nb::kw_only(), "start"_a = 0, "end"_a = whole)
      .def("readinto", &SpiBus::readinto, "buffer"_a, nb::kw_only(), "start"_a = 0, "end"_a = whole,
           "write_value"_a = 0)
      .def("write_readinto", &SpiBus::write_readinto, "out_buffer"_a, "in_buffer"_a, nb::kw_only(), "out_start"_a = 0,
           "out_end"_a = whole, "in_start"_a = 0, "in_end"_a = whole);
  nb::class_<DigitalPin>(module, "DigitalPin", "What drivers call of digitalio.DigitalInOut in each frame.")
      .def(nb::init<const nb::capsule&, std::uint64_t, const std::optional<std::string>&>(), "handle"_a, "call_ns"_a,
           "signal"_a.none())
      .def_prop_rw("value", &DigitalPin::value, &DigitalPin::set_value)
      .def("_drive", &DigitalPin::drive)
      .def("_let_go", &DigitalPin::let_go)
      .def_rw("_is_output", &DigitalPin::is_output)
      .def_rw("_is_pulled_up", &DigitalPin::is_pulled_up);
}

}  // namespace wizloop::binding
