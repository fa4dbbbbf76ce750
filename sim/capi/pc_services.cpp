#include "sim/capi/pc_services.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "sim/net/services/dhcp_server.hpp"
#include "sim/net/services/dns_server.hpp"
#include "sim/net/services/ntp_server.hpp"
#include "sim/net/services/pinger.hpp"
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "sim/net/services/udp_echo.hpp"
#include "sim/net/services/udp_sink.hpp"
#include "sim/wire/ipv4_text.hpp"

namespace wizloop::capi {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The "key=value" words given to one service.
class Options {
 public:
  // Whether a port is taken already.
  using Taken = std::function<bool(std::uint16_t)>;

  Options(std::string_view service, std::string_view text, Taken tcp_taken, Taken udp_taken)
      : service_{service}, tcp_taken_{std::move(tcp_taken)}, udp_taken_{std::move(udp_taken)} {
    while (true) {
      const std::size_t begin = text.find_first_not_of(' ');
      if (begin == std::string_view::npos) break;
      text.remove_prefix(begin);
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(word.size());
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        fail(fmt::format("{}: \"{}\", expected key=value", service_, word));
      } else {
        words_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
      }
    }
  }

  std::uint64_t number(std::string_view key, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    const auto text = take(key);
    if (!text) return value;
    const auto given = number_of(*text);
    if (given && *given >= least && *given <= most) return *given;
    fail(fmt::format("{}: {} is \"{}\", expected a whole number from {} to {}", service_, key, *text, least, most));
    return value;
  }
  std::uint16_t tcp_port(std::uint16_t value) {
    return tcp = fixed(static_cast<std::uint16_t>(number("port", value, 1, 65535)), tcp_taken_);
  }
  std::uint16_t udp_port(std::uint16_t value) {
    return udp = fixed(static_cast<std::uint16_t>(number("port", value, 1, 65535)), udp_taken_);
  }
  // One that the service is known by.
  void own_udp_port(std::uint16_t value) { udp = fixed(value, udp_taken_); }

  // What the service takes, 0: nothing.
  std::uint16_t tcp = 0;
  std::uint16_t udp = 0;

  std::optional<wire::Ipv4Address> address(std::string_view key) {
    const auto text = take(key);
    if (!text) return std::nullopt;
    const auto given = wire::ipv4_of(*text);
    if (!given) fail(fmt::format("{}: {} is \"{}\", expected an address such as 192.168.1.20", service_, key, *text));
    return given;
  }

  void require(bool there, std::string_view what) {
    if (!there) fail(fmt::format("{}: expected {}", service_, what));
  }

  // All that was not asked for.
  std::vector<std::pair<std::string, std::string>> rest() { return std::exchange(words_, {}); }

  // What was wrong first, unknown words included.
  std::optional<Error> error() {
    if (!error_ && !words_.empty()) {
      fail(fmt::format("{}: unknown option \"{}\", expected {}", service_, words_.front().first,
                       asked_.empty() ? "none" : fmt::format("{}", fmt::join(asked_, ", "))));
    }
    return error_;
  }

 private:
  std::optional<std::string> take(std::string_view key) {
    asked_.emplace_back(key);
    const auto found = std::ranges::find(words_, key, [](const auto& word) { return std::string_view{word.first}; });
    if (found == words_.end()) return std::nullopt;
    std::string value = std::move(found->second);
    words_.erase(found);
    return value;
  }
  std::uint16_t fixed(std::uint16_t port, const Taken& taken) {
    if (taken(port)) fail(fmt::format("{}: port {} is in use on the PC", service_, port));
    return port;
  }
  void fail(std::string message) {
    if (!error_) error_ = Error{std::move(message)};
  }

  std::string service_;
  Taken tcp_taken_;
  Taken udp_taken_;
  std::vector<std::pair<std::string, std::string>> words_;
  std::vector<std::string> asked_;
  std::optional<Error> error_;
};

// A service of sim/net/services, with its counters under the names that callers use.
template <typename Of>
class Counted final : public Service {
 public:
  using Names = Counts (*)(const Of&);

  template <typename... Arguments>
  explicit Counted(Names names, net::LwipHost& host, Arguments&&... arguments)
      : of{host, std::forward<Arguments>(arguments)...}, names_{names} {}
  Counts counts() const override { return names_(of); }

  Of of;

 private:
  Names names_;
};

using Made = std::unique_ptr<Service>;
using Counts = Service::Counts;

Made make_tcp_echo(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::TcpEcho& of) -> Counts {
    return {{"bytes", of.counters().bytes}, {"connections", of.counters().connections}, {"lost", of.counters().lost}};
  };
  const std::uint16_t port = options.tcp_port(7);
  if (options.error()) return nullptr;
  return std::make_unique<Counted<net::TcpEcho>>(counts, host, port);
}

Made make_tcp_sink(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::TcpSink& of) -> Counts {
    return {{"bytes", of.counters().bytes},
            {"connections", of.counters().connections},
            {"lost", of.counters().lost},
            {"mismatches", of.counters().mismatches}};
  };
  const std::uint16_t port = options.tcp_port(9);
  if (options.error()) return nullptr;
  return std::make_unique<Counted<net::TcpSink>>(counts, host, port);
}

Made make_tcp_source(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::TcpSource& of) -> Counts {
    return {{"bytes", of.counters().bytes_acknowledged}, {"connections", of.counters().connections}};
  };
  const std::uint16_t port = options.tcp_port(19);
  const std::uint64_t bytes = options.number("bytes", net::TcpSource::endless, 1, net::TcpSource::endless);
  if (options.error()) return nullptr;
  auto source = std::make_unique<Counted<net::TcpSource>>(counts, host, net::TcpSource::Config{.bytes = bytes});
  source->of.listen(port);
  return source;
}

Made make_udp_echo(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::UdpEcho& of) -> Counts {
    return {{"bytes", of.counters().bytes}, {"packets", of.counters().datagrams}};
  };
  const std::uint16_t port = options.udp_port(7);
  if (options.error()) return nullptr;
  return std::make_unique<Counted<net::UdpEcho>>(counts, host, port);
}

Made make_udp_sink(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::UdpSink& of) -> Counts {
    return {{"bytes", of.counters().bytes}, {"packets", of.counters().datagrams}};
  };
  const std::uint16_t port = options.udp_port(9);
  if (options.error()) return nullptr;
  return std::make_unique<Counted<net::UdpSink>>(counts, host, port);
}

Made make_ping(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::Pinger& of) -> Counts {
    return {{"packets", of.counters().sent}, {"answered", of.counters().answered}, {"lost", of.counters().lost}};
  };
  const auto to = options.address("to");
  const net::Pinger::Config config{.target = to.value_or(0),
                                   .payload_bytes = static_cast<std::size_t>(options.number("payload", 56, 0, 1472)),
                                   .count = options.number("count", 1, 1, 1'000'000),
                                   .interval = std::chrono::milliseconds(
                                       static_cast<std::int64_t>(options.number("interval_ms", 1000, 1, 3'600'000))),
                                   .start = host.queue().now()};
  options.require(to.has_value(), "to=IP");
  options.require(to != host.config().ip && to.value_or(0) >> 24 != 127, "an address that is not the PC's own");
  if (options.error()) return nullptr;
  return std::make_unique<Counted<net::Pinger>>(counts, host, config);
}

constexpr std::uint64_t most = UINT32_MAX;

std::vector<wire::Ipv4Address> only(std::optional<wire::Ipv4Address> address) {
  return address ? std::vector{*address} : std::vector<wire::Ipv4Address>{};
}

Duration delay_of(Options& options) {
  return std::chrono::milliseconds{static_cast<std::int64_t>(options.number("delay_ms", 0, 0, 3'600'000))};
}

Made make_dhcp(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::DhcpServer& of) -> Counts {
    return {{"discovers", of.counters().discovers}, {"offers", of.counters().offers},
            {"requests", of.counters().requests},   {"leases", of.counters().acks},
            {"naks", of.counters().naks},           {"releases", of.counters().releases},
            {"malformed", of.counters().malformed}};
  };
  const wire::Ipv4Address own = host.config().ip;
  net::DhcpServer::Config config{.first = options.address("first").value_or(wire::ipv4(192, 168, 1, 100)),
                                 .addresses = static_cast<std::uint32_t>(options.number("count", 16, 1, 65536)),
                                 .routers = {options.address("router").value_or(own)},
                                 .dns_servers = {options.address("dns").value_or(own)},
                                 .ntp_servers = only(options.address("ntp")),
                                 .lease_s = static_cast<std::uint32_t>(options.number("lease_s", 3600, 1, most)),
                                 .ignored_discovers = options.number("ignored_discovers", 0, 0, most),
                                 .ignored_requests = options.number("ignored_requests", 0, 0, most),
                                 .refused_requests = options.number("refused_requests", 0, 0, most),
                                 .answer_delay = delay_of(options)};
  options.own_udp_port(67);
  if (options.error()) return nullptr;
  return std::make_unique<Counted<net::DhcpServer>>(counts, host, config);
}

Made make_dns(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::DnsServer& of) -> Counts {
    return {{"queries", of.counters().queries},
            {"answered", of.counters().answered},
            {"unknown", of.counters().unknown},
            {"malformed", of.counters().malformed}};
  };
  net::DnsServer::Config config{.ignored_queries = options.number("ignored_queries", 0, 0, most),
                                .failed_queries = options.number("failed_queries", 0, 0, most),
                                .truncated_queries = options.number("truncated_queries", 0, 0, most),
                                .answer_delay = delay_of(options)};
  for (const auto& [name, text] : options.rest()) {
    const auto ip = wire::ipv4_of(text);
    options.require(ip.has_value(), fmt::format("{}=IP, such as 192.168.1.20, not \"{}\"", name, text));
    config.names.push_back({name, ip.value_or(0)});
  }
  options.own_udp_port(53);
  if (options.error()) return nullptr;
  return std::make_unique<Counted<net::DnsServer>>(counts, host, config);
}

Made make_ntp(net::LwipHost& host, Options& options) {
  const auto counts = [](const net::NtpServer& of) -> Counts {
    return {{"queries", of.counters().queries},
            {"answered", of.counters().answered},
            {"malformed", of.counters().malformed}};
  };
  const net::NtpServer::Config config{.ignored_queries = options.number("ignored_queries", 0, 0, most),
                                      .refused_queries = options.number("refused_queries", 0, 0, most),
                                      .answer_delay = delay_of(options)};
  options.own_udp_port(123);
  if (options.error()) return nullptr;
  return std::make_unique<Counted<net::NtpServer>>(counts, host, config);
}

struct Kind {
  std::string_view name;
  Made (*make)(net::LwipHost&, Options&);
};
constexpr Kind kinds[] = {
    {"tcp-echo", make_tcp_echo}, {"tcp-sink", make_tcp_sink}, {"tcp-source", make_tcp_source},
    {"udp-echo", make_udp_echo}, {"udp-sink", make_udp_sink}, {"ping", make_ping},
    {"dhcp", make_dhcp},         {"dns", make_dns},           {"ntp", make_ntp},
};

}  // namespace

// Sockets ------------------------------------------------------------------------------------------------------------

void PcStream::listen(std::uint16_t port) {
  port_ = port;
  listener_.emplace(host_, port, [this](tcp_pcb* pcb) {
    if (state_ != State::waiting) return false;
    connection_.adopt(pcb);
    state_ = State::connected;
    return true;
  });
}

std::size_t PcStream::send(Bytes data) {
  const bool may = (state_ == State::connected || state_ == State::peer_closed) && !shut_;
  return may ? connection_.write(data) : 0;
}

std::size_t PcStream::receive(std::uint8_t* data, std::size_t bytes) {
  const std::size_t count = std::min(bytes, received_.size());
  const auto end = received_.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(received_.begin(), end, data);
  received_.erase(received_.begin(), end);
  if (count > 0 && connection_.open()) connection_.consume(count);
  return count;
}

void PcStream::close() {
  listener_.reset();
  if (state_ == State::peer_closed) {
    connection_.close();
    state_ = State::closed;
  } else if (state_ == State::connected) {
    shut_ = true;
    connection_.shut_down();
  } else if (state_ == State::waiting) {
    connection_.close();
    state_ = State::closed;
  }
}

void PcStream::abort() {
  listener_.reset();
  connection_.abort();
  received_.clear();
  state_ = State::lost;
}

std::size_t PcStream::on_data(Bytes data) {
  received_.insert(received_.end(), data.begin(), data.end());
  return 0;
}

void PcStream::on_peer_closed() {
  state_ = shut_ ? State::closed : State::peer_closed;
  if (shut_) connection_.close();
}

void PcStream::on_lost(std::string_view /*why*/) { state_ = State::lost; }

PcPort::PcPort(net::LwipHost& host, std::uint16_t port)
    : number_{port}, port_{host, port, [this](const net::UdpPort::Address& from, Bytes payload) {
                             if (waiting_.size() < most_waiting)
                               waiting_.push_back({from, {payload.begin(), payload.end()}});
                           }} {}

std::optional<PcPort::Datagram> PcPort::receive() {
  if (waiting_.empty()) return std::nullopt;
  Datagram first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

// The PC -------------------------------------------------------------------------------------------------------------

Result<int> PcServices::serve(std::string_view service, std::string_view text) {
  const auto kind = std::ranges::find(kinds, service, &Kind::name);
  if (kind == std::end(kinds)) {
    std::vector<std::string_view> names;
    for (const Kind& known : kinds) names.push_back(known.name);
    return Error{fmt::format("unknown service \"{}\", expected {}", service, fmt::join(names, ", "))};
  }
  Options options{service, text, [this](std::uint16_t port) { return tcp_taken(port); },
                  [this](std::uint16_t port) { return udp_taken(port); }};
  Made made = kind->make(host_, options);
  if (const auto error = options.error()) return *error;
  if (options.tcp != 0) tcp_served_.push_back(options.tcp);
  if (options.udp != 0) udp_served_.push_back(options.udp);
  services_.push_back(std::move(made));
  return static_cast<int>(services_.size()) - 1;
}

const Service* PcServices::service(int number) const {
  const bool there = number >= 0 && static_cast<std::size_t>(number) < services_.size();
  return there ? services_[static_cast<std::size_t>(number)].get() : nullptr;
}

bool PcServices::tcp_taken(std::uint16_t port) const {
  const auto listens = [port](const Socket& socket) {
    const auto* stream = std::get_if<std::unique_ptr<PcStream>>(&socket);
    return stream != nullptr && (*stream)->listens_on() == port;
  };
  return std::ranges::find(tcp_served_, port) != tcp_served_.end() || std::ranges::any_of(sockets_, listens);
}

bool PcServices::udp_taken(std::uint16_t port) const {
  const auto has = [port](const Socket& socket) {
    const auto* open = std::get_if<std::unique_ptr<PcPort>>(&socket);
    return open != nullptr && (*open)->number() == port;
  };
  return port != 0 && (std::ranges::find(udp_served_, port) != udp_served_.end() || std::ranges::any_of(sockets_, has));
}

Result<int> PcServices::add(Socket socket) {
  sockets_.push_back(std::move(socket));
  return static_cast<int>(sockets_.size()) - 1;
}

std::optional<Error> PcServices::full() const {
  if (sockets_.size() < most_sockets) return std::nullopt;
  return Error{fmt::format("the PC has had {} sockets, which is the most in one run", most_sockets)};
}

Result<int> PcServices::connect(wire::Ipv4Address ip, std::uint16_t port) {
  if (const auto error = full()) return *error;
  if (is_itself(ip)) return Error{"the PC does not connect to itself"};
  auto stream = std::make_unique<PcStream>(host_);
  if (!stream->connect(ip, port)) return Error{"the PC has no route to that address, or no room for a connection"};
  return add(std::move(stream));
}

Result<int> PcServices::listen(std::uint16_t port) {
  if (const auto error = full()) return *error;
  if (tcp_taken(port)) return Error{fmt::format("TCP port {} is in use on the PC", port)};
  auto stream = std::make_unique<PcStream>(host_);
  stream->listen(port);
  return add(std::move(stream));
}

Result<int> PcServices::open_udp(std::uint16_t port) {
  if (const auto error = full()) return *error;
  if (udp_taken(port)) return Error{fmt::format("UDP port {} is in use on the PC", port)};
  return add(std::make_unique<PcPort>(host_, port));
}

PcStream* PcServices::stream(int number) {
  if (!exists(number)) return nullptr;
  const auto* stream = std::get_if<std::unique_ptr<PcStream>>(&sockets_[static_cast<std::size_t>(number)]);
  return stream != nullptr ? stream->get() : nullptr;
}

PcPort* PcServices::port(int number) {
  if (!exists(number)) return nullptr;
  const auto* port = std::get_if<std::unique_ptr<PcPort>>(&sockets_[static_cast<std::size_t>(number)]);
  return port != nullptr ? port->get() : nullptr;
}

void PcServices::close(int number) {
  if (PcStream* open = stream(number)) {
    open->close();  // and stays: its state is asked for
  } else if (exists(number)) {
    sockets_[static_cast<std::size_t>(number)] = std::monostate{};
  }
}

}  // namespace wizloop::capi
