#include "harness/gateway/virtual_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "sim/core/rules.hpp"

namespace wizloop::gateway {

namespace {

// As long as a finger stays on a button; the chip needs 500 us of RSTn (datasheet 5.5.1).
constexpr Duration button_time = 10ms;
// Of what was typed, so much is on the line at a time. Whoever types is asked for more when half of it has come in, so
// that the line stays busy.
constexpr std::size_t most_on_line = 256;
constexpr std::int64_t bits_per_byte = 10;
// The main loop of firmware looks up now and then even if nobody asks; as seldom as the agent allows.
constexpr Duration idle_round = 3000s;

w5500::Network network_of(const BoardAddresses& addresses) {
  w5500::Network network{};
  std::ranges::copy(addresses.mac, network.mac);
  store32(network.ip, addresses.ip);
  store32(network.subnet, addresses.mask);
  store32(network.gateway, addresses.gateway);
  return network;
}

std::string line_of(const std::string& board, const Findings& findings, const Finding& finding) {
  const RuleText& text = text_of(finding.rule);
  const bool announced = findings.announced(finding.rule) != nullptr;
  return fmt::format("finding board={} rule={} severity={}{} at_s={:.6f} count={} seen=\"{}\"", board, text.id,
                     name_of(text.severity), announced ? " announced=1" : "",
                     static_cast<double>(finding.at.time_since_epoch() / nanoseconds(1)) / 1e9, finding.count,
                     finding.seen);
}

}  // namespace

Result<std::unique_ptr<VirtualBoard>> VirtualBoard::create(const RackSite& site, const BoardOptions& options,
                                                           const BoardAddresses& addresses, net::SwitchPort& port,
                                                           std::uint64_t seed) {
  auto profile = bus::load_board(options.file);
  if (!profile) return profile.error();
  std::unique_ptr<VirtualBoard> board{new VirtualBoard{site, options, addresses}};
  board::BoardSetup setup{.testbed = {.board = std::move(profile).value(), .seed = seed}};
  setup.testbed.queue = &site.queue;
  setup.testbed.switch_port = &port;
  setup.testbed.pcap_file = options.pcap;
  setup.testbed.transcript_file = options.spi;
  setup.testbed.write_through = true;
  setup.testbed.in_real_time = true;
  setup.testbed.note = fmt::format("wizloop serve, board {}", options.name);
  setup.uart.baud = options.baud;
  setup.network = network_of(addresses);
  setup.more_stats = board.get();
  for (const auto& [key, value] : options.settings) {
    if (const auto set = testbed::apply_setting(setup.testbed, key, value); !set) {
      return Error{fmt::format("--set {}={}: {}", key, value, set.error().message), set.error().kind};
    }
  }
  auto made = board::SimBoard::create(std::move(setup));
  if (!made) return made.error();
  board->board_ = std::move(made).value();
  board->board_->testbed().bus().end_run_at(Instant::max());  // it is served as long as its process lives
  board->board_->console().listen([console = &board->console_](Bytes bytes) { console->show(bytes); });
  board->board_->testbed().chip().set_power(false);
  if (auto failed = board->open_ports()) return *failed;
  return board;
}

VirtualBoard::VirtualBoard(const RackSite& site, BoardOptions options, const BoardAddresses& addresses)
    : site_{site},
      options_{std::move(options)},
      addresses_{addresses},
      console_{*this},
      button_{site.queue},
      room_{site.queue},
      byte_time_{Frequency{options_.baud}.periods(bits_per_byte)} {}

VirtualBoard::~VirtualBoard() = default;

std::optional<Error> VirtualBoard::open_ports() {
  auto pty = PtyPort::create(site_.io, console_, options_.serial);
  if (!pty) return pty.error();
  pty_ = std::move(pty).value();
  if (options_.tcp) {
    tcp_.emplace(site_.io, console_, Protocol::raw, site_.token);
    if (auto failed = tcp_->open(*options_.tcp)) return failed;
  }
  if (options_.rfc2217) {
    rfc2217_.emplace(site_.io, console_, Protocol::rfc2217, site_.token);
    if (auto failed = rfc2217_->open(*options_.rfc2217)) return failed;
  }
  return std::nullopt;
}

void VirtualBoard::set_power(bool on) {
  if (console_.powered() == on) return;
  site_.pacer.catch_up();
  if (on) {
    board_->testbed().chip().set_power(true);
    powered_since_ = site_.queue.now();
    console_.set_powered(true);
    start_firmware();
    return;
  }
  button_.stop();
  firmware_.reset();
  board_->restart();
  board_->testbed().chip().set_rstn(true);
  board_->testbed().chip().set_power(false);
  console_.set_powered(false);
  console_.has_room();  // what is typed from now on is lost on the line
}

bool VirtualBoard::reset() {
  if (!console_.powered()) return false;
  site_.pacer.catch_up();
  firmware_.reset();
  board_->restart();
  board_->testbed().chip().set_rstn(false);
  button_.start(button_time, [this] {
    board_->testbed().chip().set_rstn(true);
    start_firmware();
  });
  return true;
}

void VirtualBoard::start_firmware() {
  board_->restart();
  line_busy_until_ = site_.queue.now();
  crashed_ = false;
  firmware_ = std::make_unique<Fiber>(site_.queue, [this] { run_firmware(); });
}

void VirtualBoard::run_firmware() {
  try {
    board_->boot();
    for (;;) {
      board_->run_once(idle_round);
      tell_news();
    }
  } catch (const bus::FirmwareHangs&) {
    crash("hangs");
  } catch (const FiberStopped&) {
    throw;
  } catch (const std::exception& error) {
    crash(fmt::format("has crashed: {}", error.what()));
  } catch (...) {
    crash("has crashed");
  }
}

void VirtualBoard::crash(std::string_view why) {
  crashed_ = true;
  site_.say(fmt::format("error board={} the firmware {}; reset or power it off and on", options_.name, why));
}

void VirtualBoard::plug(bool in) {
  if (plugged_ == in) return;
  site_.pacer.catch_up();
  plugged_ = in;
  board_->testbed().link().set_up(in);
  board_->testbed().chip().plug(in);
}

std::string VirtualBoard::status() {
  site_.pacer.catch_up();
  tell_news();
  const Findings& findings = board_->testbed().findings();
  const bool on = console_.powered();
  const std::string_view firmware = firmware_ == nullptr ? "stopped" : crashed_ ? "crashed" : "running";
  return fmt::format("board={} power={} firmware={} cable={} console={} clients={} up_ms={} typed_lost={} findings={}",
                     options_.name, on ? "on" : "off", firmware, plugged_ ? "in" : "out",
                     console_.holder().empty() ? "free" : console_.holder(), console_.clients(),
                     on ? (site_.queue.now() - powered_since_) / 1ms : 0, board_->console().counters().lost,
                     findings.all().size());
}

void VirtualBoard::tell_news() {
  const Findings& findings = board_->testbed().findings();
  for (; findings_told_ < findings.all().size(); ++findings_told_) {
    site_.say(line_of(options_.name, findings, findings.all()[findings_told_]));
  }
  const Error* error = board_->testbed().capture_error();
  if (error != nullptr && !std::exchange(file_error_told_, true)) {
    site_.say(fmt::format("error board={} {}", options_.name, error->message));
  }
  if (board_->testbed().capture_dropped() != 0 && !std::exchange(drops_told_, true)) {
    site_.say(fmt::format("error board={} the reader of its capture stalls: frames are dropped", options_.name));
  }
}

void VirtualBoard::finish() {
  firmware_.reset();
  tell_news();
  if (const auto error = board_->testbed().finish_files(); error && !file_error_told_) {
    site_.say(fmt::format("error board={} {}", options_.name, error->message));
  }
  if (const std::uint64_t dropped = board_->testbed().capture_dropped(); dropped != 0) {
    site_.say(
        fmt::format("error board={} its capture lacks {} frames that its reader has missed", options_.name, dropped));
  }
  const Findings& findings = board_->testbed().findings();
  for (const Finding& finding : findings.all()) {
    if (finding.count > 1) site_.say(line_of(options_.name, findings, finding));
  }
  site_.say(fmt::format("end board={} virtual_s={:.3f} findings={}", options_.name,
                        static_cast<double>(site_.queue.now().time_since_epoch() / microseconds(1)) / 1e6,
                        findings.all().size()));
}

std::size_t VirtualBoard::type(std::span<const std::uint8_t> bytes) {
  if (!console_.powered()) return bytes.size();
  const Instant now = std::max(site_.pacer.catch_up(), line_busy_until_);
  const auto waiting = static_cast<std::size_t>((now - site_.queue.now()) / byte_time_);
  const std::size_t taken = std::min(bytes.size(), most_on_line - std::min(most_on_line, waiting));
  board_->console().type(bytes.first(taken));
  line_busy_until_ = now + byte_time_ * static_cast<std::int64_t>(taken);
  if (taken < bytes.size()) {
    const Instant half = line_busy_until_ - byte_time_ * static_cast<std::int64_t>(most_on_line / 2);
    // By way of the io_context, since clients are its handlers' business.
    room_.start_at(std::max(half, site_.queue.now()),
                   [this] { boost::asio::post(site_.io, [this] { console_.has_room(); }); });
  }
  return taken;
}

void VirtualBoard::set_dtr(bool on) {
  if (on && options_.reset_on_dtr) reset();
}

bool VirtualBoard::stat(std::uint8_t index, const char** key, std::uint64_t* value) {
  const realtime::Lateness& lateness = site_.pacer.lateness();
  const auto us = [](auto span) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::microseconds>(span).count()));
  };
  switch (index) {
    case 0:
      *key = "late_last_us";
      *value = us(lateness.last);
      return true;
    case 1:
      *key = "late_max_us";
      *value = us(lateness.max);
      return true;
    case 2:
      *key = "slipped_us";
      *value = us(lateness.slipped);
      return true;
    default:
      return false;
  }
}

}  // namespace wizloop::gateway
