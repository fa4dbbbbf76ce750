#include "harness/gateway/rack.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/wire/ipv4_text.hpp"

namespace wizloop::gateway {

namespace {

std::string text_of(const wire::MacAddress& mac) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

net::SwitchProfile profile_for(std::size_t boards) {
  net::SwitchProfile profile;
  profile.ports = boards + 1;
  return profile;
}

}  // namespace

BoardAddresses addresses_of(const ServeOptions& options, std::size_t number) {
  const BoardOptions& board = options.boards[number];
  BoardAddresses addresses{.mac = board.mac.value_or(testbed::board_mac)};
  if (!board.mac) addresses.mac.back() = static_cast<std::uint8_t>(addresses.mac.back() + number);
  const auto* slirp = std::get_if<realtime::SlirpConfig>(&options.net);
  const auto ahead = static_cast<wire::Ipv4Address>(number);
  addresses.ip = board.ip.value_or((slirp != nullptr ? slirp->board() : testbed::board_ip) + ahead);
  const unsigned bits = slirp != nullptr && !board.ip ? slirp->prefix_bits : board.prefix_bits;
  addresses.mask = ~wire::Ipv4Address{0} << (32 - bits);
  const wire::Ipv4Address first = (addresses.ip & addresses.mask) + 1;
  addresses.gateway = board.gateway.value_or(slirp != nullptr ? slirp->host() : first);
  return addresses;
}

Rack::Rack(ServeOptions options, Say say)
    : options_{std::move(options)},
      say_{std::move(say)},
      pacer_{queue_, io_, {.speed = options_.speed}},
      lan_{queue_, frames_, profile_for(options_.boards.size())} {
  queue_.set_lookahead(net::Switch::shortest_passage);  // boards meet at the switch alone
}

Rack::~Rack() = default;

std::optional<Error> Rack::set_up() {
  auto token = load_token(options_.token_file);
  if (!token) return token.error();
  token_ = std::move(token).value();
  const RackSite site{io_, queue_, pacer_, token_ ? &*token_ : nullptr, say_};
  for (std::size_t i = 0; i < options_.boards.size(); ++i) {
    auto board =
        VirtualBoard::create(site, options_.boards[i], addresses_of(options_, i), lan_.port(i), options_.seed + i);
    if (!board) {
      return Error{fmt::format("board {}: {}", options_.boards[i].name, board.error().message), board.error().kind};
    }
    boards_.push_back(std::move(board).value());
  }
  if (auto failed = open_bridge()) return failed;
  if (options_.control) {
    control_.emplace(io_, static_cast<ControlledRack&>(*this), site.token);
    if (auto failed = control_->open(*options_.control)) return failed;
  }
  for (const auto& board : boards_) board->set_power(true);
  return std::nullopt;
}

std::optional<Error> Rack::open_bridge() {
  const realtime::BridgeSite site{io_, queue_, frames_, [this](const std::string& news) { say_("note " + news); },
                                  [this] { pacer_.catch_up(); }};
  auto bridge = realtime::open_bridge(options_.net, site);
  if (!bridge) return bridge.error();
  bridge_ = std::move(bridge).value();
  if (bridge_ == nullptr) return std::nullopt;
  bridge_link_.emplace(queue_, Random{options_.seed}, net::LinkProfile{});
  lan_.port(boards_.size()).plug_into(*bridge_link_, net::End::board);
  bridge_->plug_into(*bridge_link_, net::End::host);
  return std::nullopt;
}

std::optional<Error> Rack::say_ready() {
  nlohmann::json all{{"pid", ::getpid()}, {"speed", options_.speed}, {"net", bridge_ ? bridge_->name() : "none"}};
  std::vector<std::string> lines;
  for (const auto& board : boards_) {
    const BoardOptions& options = board->options();
    nlohmann::json json{{"name", options.name},
                        {"file", options.file.string()},
                        {"pty", board->pty()},
                        {"mac", text_of(board->addresses().mac)},
                        {"ip", wire::to_text(board->addresses().ip)}};
    if (options.serial) json["serial"] = options.serial->string();
    if (board->tcp()) json["tcp"] = to_string(*board->tcp());
    if (board->rfc2217()) json["rfc2217"] = to_string(*board->rfc2217());
    std::string line = "ready board=" + options.name;
    for (const auto* key : {"pty", "serial", "tcp", "rfc2217", "mac", "ip"}) {
      if (json.contains(key)) line += fmt::format(" {}={}", key, json[key].get<std::string>());
    }
    lines.push_back(std::move(line));
    all["boards"].push_back(std::move(json));
  }
  lines.push_back(fmt::format("serving boards={} net={}", boards_.size(), all["net"].get<std::string>()));
  if (control_) {
    all["control"] = to_string(control_->endpoint());
    lines.back() += " control=" + to_string(control_->endpoint());
  }
  if (options_.ready_file) {
    auto written = ReadyFile::write(*options_.ready_file, all.dump(2) + '\n');
    if (!written) return written.error();
    ready_file_.emplace(std::move(written).value());
  }
  for (const std::string& line : lines) say_(line);
  return std::nullopt;
}

void Rack::serve() {
  signals_.async_wait([this](const boost::system::error_code& failed, int /*number*/) {
    if (!failed) pacer_.stop();
  });
  pacer_.run();
  for (const auto& board : boards_) board->finish();
}

std::vector<std::string> Rack::boards() const {
  std::vector<std::string> names;
  for (const auto& board : boards_) names.push_back(board->options().name);
  return names;
}

Result<std::string> Rack::command(std::size_t number, BoardCommand command) {
  VirtualBoard& board = *boards_[number];
  switch (command) {
    case BoardCommand::off:
    case BoardCommand::on:
      board.set_power(command == BoardCommand::on);
      return std::string{};
    case BoardCommand::reset:
      if (!board.reset()) return Error{"the board has no power"};
      return std::string{};
    case BoardCommand::unplug:
    case BoardCommand::replug:
      board.plug(command == BoardCommand::replug);
      return std::string{};
    case BoardCommand::release:
      if (!board.release()) return Error{"nobody holds the console"};
      return std::string{};
    case BoardCommand::status:
      break;
  }
  return board.status();
}

}  // namespace wizloop::gateway
