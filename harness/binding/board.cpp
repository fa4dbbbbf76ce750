#include "harness/binding/board.hpp"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/binding/capi_calls.hpp"
#include "harness/binding/errors.hpp"
#include "harness/board/sim_board.hpp"
#include "sim/capi/pc_services.hpp"
#include "sim/core/fiber.hpp"
#include "sim/core/rules.hpp"
#include "sim/rtl/fronts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace wizloop::binding {
namespace {

// As long as a finger stays on a button; the chip needs 500 us of RSTn (datasheet 5.5.1).
constexpr Duration button_time = 10ms;
// The main loop of firmware looks up now and then even if nobody asks; as seldom as the agent allows.
constexpr Duration idle_round = 3000s;

nb::bytes bytes_of(const std::vector<std::uint8_t>& data) {
  return nb::bytes{reinterpret_cast<const char*>(data.data()), data.size()};
}

class PyBoard {
 public:
  PyBoard(const std::filesystem::path& file, std::uint64_t seed,
          const std::vector<std::pair<std::string, std::string>>& settings, std::int64_t baud,
          const std::optional<std::filesystem::path>& pcap_file, const std::string& front) {
    auto profile = bus::load_board(file);
    if (!profile) raise(profile.error());
    queue_ = std::make_unique<EventQueue>();
    board::BoardSetup setup{.testbed = {.board = std::move(profile).value(), .seed = seed}};
    auto maker = rtl::front_maker(front);
    if (!maker) raise(maker.error());
    setup.testbed.front = std::move(maker).value();
    setup.testbed.queue = queue_.get();
    setup.testbed.pcap_file = pcap_file;
    setup.testbed.note = "wizloop test";
    setup.uart.baud = baud;
    for (const auto& [key, value] : settings) {
      if (const auto set = testbed::apply_setting(setup.testbed, key, value); !set) raise(set.error());
    }
    auto made = board::SimBoard::create(std::move(setup));
    if (!made) raise(made.error());
    board_ = std::move(made).value();
    board_->testbed().bus().end_run_at(Instant::max());  // whoever uses it has deadlines of its own
    board_->console().listen([this](Bytes bytes) { said_.insert(said_.end(), bytes.begin(), bytes.end()); });
    pc_.emplace(board_->testbed().pc());
    switch_on();
  }
  PyBoard(const PyBoard&) = delete;
  PyBoard& operator=(const PyBoard&) = delete;
  ~PyBoard() { firmware_.reset(); }

  // Completes the capture.
  void close() {
    firmware_.reset();
    if (const auto failed = board_->testbed().finish_files()) raise(*failed);
  }

  std::int64_t now_ps() const { return queue_->now().time_since_epoch().count(); }
  void type(nb::handle data) {
    const Buffer typed{data};
    if (powered_) board_->console().type(Bytes{typed.data(), typed.size()});
  }
  // Runs the board until it has said something, or until then; what it has said since the last call.
  nb::bytes run_until(std::int64_t deadline_ps) {
    const Instant deadline{Duration{deadline_ps}};
    {
      const nb::gil_scoped_release released;
      while (said_.empty() && queue_->next_deadline() <= deadline) queue_->run_next();
      if (said_.empty() && queue_->now() < deadline) queue_->advance_to(deadline);
    }
    return bytes_of(std::exchange(said_, {}));
  }

  // The button: RSTn goes low and comes back, and the firmware starts again.
  void reset() {
    if (!powered_) return;
    stop();
    chip().set_rstn(false);
    start_in(button_time, [this] {
      chip().set_rstn(true);
      switch_on();
    });
  }
  void cycle_power(std::int64_t off_ps) {
    const Duration off{off_ps};
    stop();
    chip().brown_out(off);
    powered_ = false;
    start_in(off, [this] { switch_on(); });
  }
  void plug(bool in) {
    board_->testbed().link().set_up(in);
    chip().plug(in);
  }

  nb::bytes peek(std::uint8_t block, std::uint16_t offset, std::size_t size) {
    if (block > 31 || size > 0x10000) throw nb::value_error("a block is 0 to 31 and has at most 65536 bytes");
    std::vector<std::uint8_t> data;
    for (std::size_t i = 0; i < size; ++i) {
      data.push_back(chip().peek(chip::Block{block}, static_cast<std::uint16_t>(offset + i)));
    }
    return bytes_of(data);
  }
  nb::list findings() {
    const Findings& all = board_->testbed().findings();
    nb::list found;
    for (const Finding& finding : all.all()) {
      const Announcement* const announced = all.announced(finding.rule);
      nb::dict made;
      made["rule"] = text_of(finding.rule).id;
      made["severity"] = name_of(text_of(finding.rule).severity);
      made["seen"] = finding.seen;
      made["spi"] = finding.evidence.spi;
      made["socket_state"] = finding.evidence.state;
      made["at_ps"] = finding.at.time_since_epoch().count();
      made["count"] = finding.count;
      made["announced"] = announced != nullptr ? nb::object{nb::str(announced->reason.c_str())} : nb::none();
      found.append(made);
    }
    return found;
  }
  std::map<std::string, std::uint64_t> counters() {
    board_->testbed().bus().settle();
    const net::Link& link = board_->testbed().link();
    std::map<std::string, std::uint64_t> counts = {
        {"spi_bytes", board_->testbed().bus().bytes()},
        {"spi_frames", board_->testbed().bus().frames()},
        {"frames_sent", link.counters(net::End::board).transmitted},
        {"frames_received", link.counters(net::End::host).delivered},
    };
    const AccountTotals& totals = board_->testbed().budget().totals();
    for (std::size_t i = 0; i < account_count; ++i) {
      counts[fmt::format("{}_ns", account_names[i])] = static_cast<std::uint64_t>(totals.of[i] / nanoseconds(1));
    }
    return counts;
  }
  std::string fingerprint() { return fmt::format("{:016x}", board_->testbed().fingerprint().value()); }

  // The PC. A socket that is not there, or was closed, is nobody's: ValueError.
  int pc_serve(std::string_view service, std::string_view options) { return number(pc_->serve(service, options)); }
  std::map<std::string_view, std::uint64_t> pc_counts(int service) {
    const capi::Service* const found = pc_->service(service);
    if (found == nullptr) throw nb::value_error("there is no such service");
    const auto counts = found->counts();
    return {counts.begin(), counts.end()};
  }
  int pc_connect(std::uint32_t ip, std::uint16_t port) { return number(pc_->connect(ip, port)); }
  int pc_listen(std::uint16_t port) { return number(pc_->listen(port)); }
  int pc_open_udp(std::uint16_t port) { return number(pc_->open_udp(port)); }
  int pc_state(int socket) { return static_cast<int>(stream(socket).state()); }
  std::size_t pc_send(int socket, nb::handle data) {
    const Buffer out{data};
    return stream(socket).send(Bytes{out.data(), out.size()});
  }
  nb::bytes pc_receive(int socket, std::size_t most) {
    std::vector<std::uint8_t> data(std::min<std::size_t>(most, 0x10000));
    data.resize(stream(socket).receive(data.data(), data.size()));
    return bytes_of(data);
  }
  // How many bytes were sent: all, or none where the PC could not take it.
  std::size_t pc_send_to(int socket, std::uint32_t ip, std::uint16_t port, nb::handle data) {
    const Buffer out{data};
    return this->port(socket).send({ip, port}, Bytes{out.data(), out.size()}) ? out.size() : 0;
  }
  std::optional<std::tuple<nb::bytes, std::uint32_t, std::uint16_t>> pc_receive_from(int socket) {
    const auto datagram = port(socket).receive();
    if (!datagram) return std::nullopt;
    return std::tuple{bytes_of(datagram->payload), datagram->from.ip, datagram->from.port};
  }
  void pc_close(int socket) { pc_->close(socket); }
  void pc_abort(int socket) { stream(socket).abort(); }

 private:
  chip::Chip& chip() { return board_->testbed().chip(); }

  void stop() {
    firmware_.reset();
    board_->restart();
  }
  template <typename Start>
  void start_in(Duration wait, Start start) {
    queue_->cancel(start_);
    start_ = queue_->schedule(wait, start);
  }
  void switch_on() {
    powered_ = true;
    board_->restart();
    firmware_ = std::make_unique<Fiber>(*queue_, [this] {
      board_->boot();
      for (;;) board_->run_once(idle_round);
    });
  }

  static int number(const Result<int>& made) {
    if (!made) raise(made.error());
    return made.value();
  }
  capi::PcStream& stream(int socket) {
    capi::PcStream* const found = pc_->stream(socket);
    if (found == nullptr) throw nb::value_error("no such connection");
    return *found;
  }
  capi::PcPort& port(int socket) {
    capi::PcPort* const found = pc_->port(socket);
    if (found == nullptr) throw nb::value_error("no such UDP port");
    return *found;
  }

  std::unique_ptr<EventQueue> queue_;
  std::unique_ptr<board::SimBoard> board_;
  std::optional<capi::PcServices> pc_;
  std::unique_ptr<Fiber> firmware_;
  EventQueue::EventId start_;
  bool powered_ = false;
  std::vector<std::uint8_t> said_;
};

}  // namespace

void add_board(nb::module_& module) {
  nb::class_<PyBoard>(module, "Board", "A simulated board that runs the agent firmware, in virtual time.")
      .def(
          nb::init<const std::filesystem::path&, std::uint64_t, const std::vector<std::pair<std::string, std::string>>&,
                   std::int64_t, const std::optional<std::filesystem::path>&, const std::string&>(),
          "file"_a, "seed"_a, "settings"_a, "baud"_a, "pcap_file"_a.none(), "front"_a = "cpp")
      .def("close", &PyBoard::close)
      .def("now_ps", &PyBoard::now_ps)
      .def("type", &PyBoard::type)
      .def("run_until", &PyBoard::run_until)
      .def("reset", &PyBoard::reset)
      .def("cycle_power", &PyBoard::cycle_power)
      .def("plug", &PyBoard::plug)
      .def("peek", &PyBoard::peek)
      .def("findings", &PyBoard::findings)
      .def("counters", &PyBoard::counters)
      .def("fingerprint", &PyBoard::fingerprint)
      .def("pc_serve", &PyBoard::pc_serve)
      .def("pc_counts", &PyBoard::pc_counts)
      .def("pc_connect", &PyBoard::pc_connect)
      .def("pc_listen", &PyBoard::pc_listen)
      .def("pc_open_udp", &PyBoard::pc_open_udp)
      .def("pc_state", &PyBoard::pc_state)
      .def("pc_send", &PyBoard::pc_send)
      .def("pc_receive", &PyBoard::pc_receive)
      .def("pc_send_to", &PyBoard::pc_send_to)
      .def("pc_receive_from", &PyBoard::pc_receive_from)
      .def("pc_close", &PyBoard::pc_close)
      .def("pc_abort", &PyBoard::pc_abort);
}

}  // namespace wizloop::binding
