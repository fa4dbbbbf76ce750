// wizloop-peer: programs at the far end of a board's cable, for boards in real time. `wizloop-peer --help`;
// harness/README.md has examples.
//
// Exit codes: 0 all transfers whole, 1 one was not, 2 usage, 5 a socket or a file could not be had.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <filesystem>

#include "harness/gateway/peers/iperf2.hpp"
#include "harness/gateway/peers/services.hpp"
#include "harness/gateway/peers/transfer.hpp"

namespace wizloop::peers {
namespace {

using boost::asio::awaitable;
using boost::asio::co_spawn;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_infrastructure = 5;

// What the user gave that cannot be, and what the machine did not give.
struct UsageError {
  std::string message;
};
struct InfrastructureError {
  std::string message;
};

Endpoint endpoint_of(const std::string& text) {
  const auto endpoint = parse_endpoint(text);
  if (!endpoint) throw UsageError{endpoint.error().message};
  return endpoint.value();
}

void say_ready(std::string_view protocol, const std::string& endpoint) {
  fmt::print("listening {}={}\n", protocol, endpoint);
  std::fflush(stdout);
}

Tcp::acceptor listen_on(Session& session, const std::string& text) {
  const auto endpoint = endpoint_of(text).of<Tcp>();
  try {
    Tcp::acceptor acceptor{session.io, endpoint};
    say_ready("tcp", text_of(acceptor.local_endpoint()));
    return acceptor;
  } catch (const boost::system::system_error& error) {
    throw InfrastructureError{fmt::format("TCP {}: {}", text_of(endpoint), error.code().message())};
  }
}

Udp::socket bind_to(Session& session, const std::string& text) {
  constexpr int buffer_bytes = 4 << 20;  // a burst that a board sends must not be lost here for want of room
  const auto endpoint = endpoint_of(text).of<Udp>();
  try {
    Udp::socket socket{session.io, endpoint};
    boost::system::error_code as_much_as_allowed;
    socket.set_option(Udp::socket::receive_buffer_size{buffer_bytes}, as_much_as_allowed);
    say_ready("udp", text_of(socket.local_endpoint()));
    return socket;
  } catch (const boost::system::system_error& error) {
    throw InfrastructureError{fmt::format("UDP {}: {}", text_of(endpoint), error.code().message())};
  }
}

// A service that ends by an exception has met what nobody foresaw.
void start(Session& session, awaitable<void> service) {
  co_spawn(session.io, std::move(service), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
}

// The subcommands, each with its options and what it starts.
class Commands {
 public:
  explicit Commands(CLI::App& app, Session& session) : app_{app}, session_{session} {
    app_.require_subcommand(1);
    add_sink();
    add_source();
    add_echo();
    add_iperf();
    add_udp_source();
    add_transfer();
  }

 private:
  CLI::App& command(CLI::App& parent, const char* name, const char* what) { return *parent.add_subcommand(name, what); }

  void add_listeners(CLI::App& to) {
    to.add_option("--tcp", tcp_, "listen on this [HOST:]PORT");
    to.add_option("--udp", udp_, "take datagrams on this [HOST:]PORT");
  }

  void need_one() const {
    if (tcp_.empty() && udp_.empty()) throw UsageError{"nothing to listen on: give --tcp, --udp or both"};
  }

  void add_sink() {
    CLI::App& sink = command(app_, "sink", "takes streams and datagrams and checks what came");
    add_listeners(sink);
    sink.callback([this] {
      need_one();
      if (!tcp_.empty()) start(session_, serve_tcp_sink(session_, listen_on(session_, tcp_)));
      if (!udp_.empty()) start(session_, serve_udp_sink(session_, bind_to(session_, udp_)));
    });
  }

  void add_source() {
    CLI::App& source = command(app_, "source", "sends the pattern to who connects");
    source.add_option("--tcp", tcp_, "listen on this [HOST:]PORT")->required();
    source.add_option("--bytes", bytes_, "of each stream; 0: until the client closes");
    source.callback([this] { start(session_, serve_tcp_source(session_, listen_on(session_, tcp_), bytes_)); });
  }

  void add_echo() {
    CLI::App& echo = command(app_, "echo", "sends back what came; a datagram is a transfer");
    add_listeners(echo);
    echo.callback([this] {
      need_one();
      if (!tcp_.empty()) start(session_, serve_tcp_echo(session_, listen_on(session_, tcp_)));
      if (!udp_.empty()) start(session_, serve_udp_echo(session_, bind_to(session_, udp_)));
    });
  }

  void add_iperf() {
    CLI::App& iperf = command(app_, "iperf", "serves clients of iperf 2, by default on port 5001 of both protocols");
    add_listeners(iperf);
    iperf.callback([this] {
      if (tcp_.empty() && udp_.empty()) tcp_ = udp_ = std::to_string(iperf2::default_port);
      if (!tcp_.empty()) start(session_, iperf2::serve_tcp(session_, listen_on(session_, tcp_)));
      if (!udp_.empty()) start(session_, iperf2::serve_udp(session_, bind_to(session_, udp_)));
    });
  }

  void add_udp_source() {
    CLI::App& source = command(app_, "udp-source", "sends numbered datagrams");
    source.add_option("to", to_, "[HOST:]PORT")->required();
    source.add_option("--datagrams", load_.datagrams, "how many")->required();
    source.add_option("--bytes", load_.bytes, "of each")->check(CLI::Range(4, 1472))->capture_default_str();
    source.add_option("--rate", load_.datagrams_per_s, "datagrams a second; 0: as fast as they go")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    source.callback([this] {
      load_.to = endpoint_of(to_).of<Udp>();
      start(session_, send_udp(session_, Udp::socket{session_.io, Udp::v4()}, load_));
    });
  }

  void add_transfer() {
    CLI::App& transfer = command(app_, "transfer", "the seed measurements' tool: timed rounds and their average");
    transfer.require_subcommand(1);
    CLI::App& send = command(transfer, "send", "connects and sends");
    CLI::App& receive = command(transfer, "receive", "listens and receives");
    for (CLI::App* end : {&send, &receive}) {
      end->add_option("endpoint", to_, "[HOST:]PORT")->required();
      end->add_option("-B,--buffer", transfer_.buffer_bytes, "bytes of each write or read")
          ->check(CLI::Range(1, 1 << 20))
          ->capture_default_str();
      end->add_option("--rounds", transfer_.rounds, "how many")->check(CLI::Range(1, 1'000'000))->capture_default_str();
    }
    send.add_option("-M,--megabytes", transfer_.mebibytes, "MiB of each round")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    send.callback([this] { start(session_, send_rounds(session_, endpoint_of(to_).of<Tcp>(), transfer_)); });
    receive.callback([this] { start(session_, receive_rounds(session_, listen_on(session_, to_), transfer_)); });
  }

  CLI::App& app_;
  Session& session_;
  std::string tcp_;
  std::string udp_;
  std::string to_;
  std::uint64_t bytes_ = 0;
  UdpLoad load_;
  Transfer transfer_;
};

int run(int argc, char** argv) {
  boost::asio::io_context io{1};
  Report report;
  Session session{io, report};
  CLI::App app{"Programs at the far end of a board's cable."};
  app.name("wizloop-peer");
  std::filesystem::path json;
  double patience_s = 60;
  std::uint64_t transfers = 0;
  app.add_option("--json", json, "write the results as JSON too");
  app.add_option("--transfers", transfers, "end after so many; 0: never")->capture_default_str();
  app.add_option("--patience", patience_s, "seconds that a transfer may stand still")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app.parse_complete_callback([&] {
    if (transfers != 0) session.transfers_left = transfers;
    session.patience = std::chrono::milliseconds{static_cast<std::int64_t>(patience_s * 1000)};
  });
  const Commands commands{app, session};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  boost::asio::signal_set signals{io, SIGINT, SIGTERM};
  signals.async_wait([&io](const boost::system::error_code& error, int) {
    if (!error) io.stop();
  });
  io.run();
  if (!json.empty()) {
    if (const auto error = report.write_json(json)) throw InfrastructureError{error->message};
  }
  return session.failed ? exit_failed : 0;
}

}  // namespace
}  // namespace wizloop::peers

int main(int argc, char** argv) {
  using namespace wizloop::peers;
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    fmt::print(stderr, "wizloop-peer: {}\n", error.message);
    return exit_usage;
  } catch (const InfrastructureError& error) {
    fmt::print(stderr, "wizloop-peer: {}\n", error.message);
  } catch (const std::exception& error) {
    fmt::print(stderr, "wizloop-peer: {}\n", error.what());
  }
  return exit_infrastructure;
}
