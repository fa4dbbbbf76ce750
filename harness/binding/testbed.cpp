#include "harness/binding/testbed.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "harness/binding/capi_calls.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace wizloop::binding {

void raise(int code) {
  const char* const name = code == WIZLOOP_E_HANG      ? "FirmwareHangs"
                           : code == WIZLOOP_E_MACHINE ? "InfrastructureError"
                                                       : "UsageError";
  const nb::object type = nb::module_::import_("wizloop.errors").attr(name);
  const nb::object message = nb::steal(PyUnicode_DecodeFSDefault(wizloop_error()));
  PyErr_SetObject(type.ptr(), message.ptr());
  throw nb::python_error();
}

namespace {

// A new bytes object of at most `most` bytes, filled by `fill(data)`, which returns how many there are.
template <typename Fill>
nb::bytes filled(std::size_t most, Fill fill) {
  nb::object made = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(most)));
  if (!made.is_valid()) throw nb::python_error();
  const auto size = static_cast<std::size_t>(fill(reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(made.ptr()))));
  if (size < most)
    made = nb::steal(PyBytes_FromStringAndSize(PyBytes_AS_STRING(made.ptr()), static_cast<Py_ssize_t>(size)));
  return nb::borrow<nb::bytes>(made);
}

// A handle. No callbacks are set, so that no call needs the GIL before it returns.
class PyTestbed {
 public:
  PyTestbed(const std::string& name, const std::optional<std::string>& board, std::uint64_t seed,
            const std::vector<std::string>& settings, const std::optional<std::string>& pcap_file,
            const std::optional<std::string>& trace_file, std::uint64_t poll_limit_ns, std::uint64_t run_limit_ns) {
    std::vector<const char*> words;
    for (const std::string& setting : settings) words.push_back(setting.c_str());
    const auto text = [](const std::optional<std::string>& of) { return of ? of->c_str() : nullptr; };
    wizloop_config config = WIZLOOP_CONFIG_INIT;
    config.name = name.c_str();
    config.board = text(board);
    config.seed = seed;
    config.settings = words.data();
    config.setting_count = words.size();
    config.pcap_file = text(pcap_file);
    config.trace_file = text(trace_file);
    config.poll_limit_ns = poll_limit_ns;
    config.run_limit_ns = run_limit_ns;
    config.on_hang = WIZLOOP_HANG_RETURN;
    handle_ = wizloop_create(&config);
    if (handle_ == nullptr) raise(wizloop_error_code());
  }
  PyTestbed(const PyTestbed&) = delete;
  PyTestbed& operator=(const PyTestbed&) = delete;
  ~PyTestbed() { wizloop_destroy(handle_); }

  void close() { checked(wizloop_destroy(handle_)); }
  nb::capsule handle() const { return nb::capsule{handle_}; }

  void set_scsn(bool level) { checked(wizloop_scsn(handle_, level)); }
  void set_rstn(bool level) { checked(wizloop_rstn(handle_, level)); }
  bool intn() { return checked(wizloop_intn(handle_)) != 0; }
  void set_pmode(int code) { checked(wizloop_pmode(handle_, code)); }

  void spi_clock(std::uint32_t hz, int mode) { checked(wizloop_spi_clock(handle_, hz, mode)); }
  void spi_write(nb::handle mosi) {
    const Buffer out{mosi};
    checked(wizloop_spi_transfer(handle_, out.data(), nullptr, out.size()));
  }
  void spi_read(nb::handle miso, std::uint8_t fill) {
    const Buffer in{miso, PyBUF_WRITABLE};
    if (fill == 0) {
      checked(wizloop_spi_transfer(handle_, nullptr, in.data(), in.size()));
      return;
    }
    fill_.assign(in.size(), fill);
    checked(wizloop_spi_transfer(handle_, fill_.data(), in.data(), in.size()));
  }
  void spi_exchange(nb::handle mosi, nb::handle miso) {
    const Buffer out{mosi};
    const Buffer in{miso, PyBUF_WRITABLE};
    if (out.size() != in.size()) throw nb::value_error("both buffers must have the same length");
    checked(wizloop_spi_transfer(handle_, out.data(), in.data(), in.size()));
  }
  void other_select(bool selected) { checked(wizloop_other_select(handle_, selected)); }

  nb::bytes read(std::uint8_t block, std::uint16_t offset, std::size_t size) {
    return filled(checked_size(size), [&](std::uint8_t* data) {
      checked(wizloop_read(handle_, block, offset, data, size));
      return size;
    });
  }
  void write(std::uint8_t block, std::uint16_t offset, nb::handle data) {
    const Buffer out{data};
    checked(wizloop_write(handle_, block, offset, out.data(), out.size()));
  }
  nb::bytes peek(std::uint8_t block, std::uint16_t offset, std::size_t size) {
    return filled(checked_size(size), [&](std::uint8_t* data) {
      checked(wizloop_peek(handle_, block, offset, data, size));
      return size;
    });
  }

  std::uint64_t now_ps() { return wizloop_now_ps(handle_); }
  void advance_ns(std::uint64_t ns) {
    checked(without_gil([&] { return wizloop_advance_ns(handle_, ns); }));
  }
  void spend_ns(std::uint64_t ns) { checked(wizloop_spend_ns(handle_, ns)); }
  bool wait_intn(std::uint64_t timeout_ns) {
    return checked(without_gil([&] { return wizloop_wait_intn(handle_, timeout_ns); })) != 0;
  }
  std::optional<std::uint64_t> next_event_ns() {
    const std::uint64_t next = wizloop_next_event_ns(handle_);
    return next != UINT64_MAX ? std::optional{next} : std::nullopt;
  }
  std::optional<double> price(const std::string& key) {
    double value = 0;
    return checked(wizloop_price(handle_, key.c_str(), &value)) != 0 ? std::optional{value} : std::nullopt;
  }

  void set_link(bool plugged) { checked(wizloop_link(handle_, plugged)); }

  int pc_serve(const std::string& service, const std::string& options) {
    return checked(wizloop_pc_serve(handle_, service.c_str(), options.c_str()));
  }
  std::uint64_t pc_count(int service, const std::string& counter) {
    std::uint64_t value = 0;
    checked(wizloop_pc_count(handle_, service, counter.c_str(), &value));
    return value;
  }
  int pc_connect(std::uint32_t ip, std::uint16_t port) { return checked(wizloop_pc_tcp_connect(handle_, ip, port)); }
  int pc_listen(std::uint16_t port) { return checked(wizloop_pc_tcp_listen(handle_, port)); }
  int pc_open_udp(std::uint16_t port) { return checked(wizloop_pc_udp_open(handle_, port)); }
  int pc_state(int socket) { return checked(wizloop_pc_state(handle_, socket)); }
  int pc_send(int socket, nb::handle data) {
    const Buffer out{data};
    return checked(wizloop_pc_send(handle_, socket, out.data(), out.size()));
  }
  nb::bytes pc_receive(int socket, std::size_t most) {
    return filled(checked_size(most),
                  [&](std::uint8_t* data) { return checked(wizloop_pc_receive(handle_, socket, data, most)); });
  }
  int pc_send_to(int socket, std::uint32_t ip, std::uint16_t port, nb::handle data) {
    const Buffer out{data};
    return checked(wizloop_pc_send_to(handle_, socket, ip, port, out.data(), out.size()));
  }
  // None if no datagram is there; the port of an empty one is not 0.
  std::optional<std::tuple<nb::bytes, std::uint32_t, std::uint16_t>> pc_receive_from(int socket) {
    constexpr std::size_t most = 65'536;
    std::uint32_t ip = 0;
    std::uint16_t port = 0;
    nb::bytes data = filled(most, [&](std::uint8_t* to) {
      return checked(wizloop_pc_receive_from(handle_, socket, &ip, &port, to, most));
    });
    if (port == 0) return std::nullopt;
    return std::tuple{std::move(data), ip, port};
  }
  void pc_close(int socket) { checked(wizloop_pc_close(handle_, socket)); }

  nb::list findings() {
    nb::list found;
    const int count = checked(wizloop_finding_count(handle_));
    for (int i = 0; i < count; ++i) {
      wizloop_finding finding;
      checked(wizloop_finding_get(handle_, i, &finding));
      nb::dict made;
      made["rule"] = finding.rule;
      made["severity"] = finding.severity;
      made["seen"] = finding.seen;
      made["spi"] = finding.spi;
      made["socket_state"] = finding.state;
      made["at_ps"] = finding.at_ps;
      made["count"] = finding.count;
      const char* const announced = wizloop_announced(handle_, finding.rule);
      made["announced"] = announced != nullptr ? nb::object{nb::str(announced)} : nb::none();
      found.append(made);
    }
    return found;
  }
  void announce(const std::string& rule, const std::string& reason) {
    checked(wizloop_announce(handle_, rule.c_str(), reason.c_str()));
  }
  std::uint64_t counter(const std::string& name) {
    std::uint64_t value = 0;
    checked(wizloop_counter(handle_, name.c_str(), &value));
    return value;
  }
  std::string report() { return wizloop_report(handle_); }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 24;

  // What Python asks for at once, before memory is taken for it.
  static std::size_t checked_size(std::size_t size) {
    if (size > most_bytes) throw nb::value_error("more than 16 MiB at once");
    return size;
  }
  template <typename Call>
  static int without_gil(Call call) {
    const nb::gil_scoped_release released;
    return call();
  }

  wizloop_t* handle_ = nullptr;
  std::vector<std::uint8_t> fill_;
};

}  // namespace

void add_testbed(nb::module_& module) {
  nb::class_<PyTestbed>(module, "Testbed", "One W5500 with board, cable and PC: sim/capi/wizloop.h as a class.")
      .def(nb::init<const std::string&, const std::optional<std::string>&, std::uint64_t,
                    const std::vector<std::string>&, const std::optional<std::string>&,
                    const std::optional<std::string>&, std::uint64_t, std::uint64_t>(),
           "name"_a, "board"_a.none(), "seed"_a, "settings"_a, "pcap_file"_a.none(), "trace_file"_a.none(),
           "poll_limit_ns"_a, "run_limit_ns"_a)
      .def("close", &PyTestbed::close)
      .def_prop_ro("handle", &PyTestbed::handle)
      .def("set_scsn", &PyTestbed::set_scsn)
      .def("set_rstn", &PyTestbed::set_rstn)
      .def("intn", &PyTestbed::intn)
      .def("set_pmode", &PyTestbed::set_pmode)
      .def("spi_clock", &PyTestbed::spi_clock)
      .def("spi_write", &PyTestbed::spi_write)
      .def("spi_read", &PyTestbed::spi_read)
      .def("spi_exchange", &PyTestbed::spi_exchange)
      .def("other_select", &PyTestbed::other_select)
      .def("read", &PyTestbed::read)
      .def("write", &PyTestbed::write)
      .def("peek", &PyTestbed::peek)
      .def("now_ps", &PyTestbed::now_ps)
      .def("advance_ns", &PyTestbed::advance_ns)
      .def("spend_ns", &PyTestbed::spend_ns)
      .def("wait_intn", &PyTestbed::wait_intn)
      .def("next_event_ns", &PyTestbed::next_event_ns)
      .def("price", &PyTestbed::price)
      .def("set_link", &PyTestbed::set_link)
      .def("pc_serve", &PyTestbed::pc_serve)
      .def("pc_count", &PyTestbed::pc_count)
      .def("pc_connect", &PyTestbed::pc_connect)
      .def("pc_listen", &PyTestbed::pc_listen)
      .def("pc_open_udp", &PyTestbed::pc_open_udp)
      .def("pc_state", &PyTestbed::pc_state)
      .def("pc_send", &PyTestbed::pc_send)
      .def("pc_receive", &PyTestbed::pc_receive)
      .def("pc_send_to", &PyTestbed::pc_send_to)
      .def("pc_receive_from", &PyTestbed::pc_receive_from)
      .def("pc_close", &PyTestbed::pc_close)
      .def("findings", &PyTestbed::findings)
      .def("announce", &PyTestbed::announce)
      .def("counter", &PyTestbed::counter)
      .def("report", &PyTestbed::report);
}

}  // namespace wizloop::binding
