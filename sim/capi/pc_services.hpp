// The simulated PC as a test uses it: services that run on it by name, and sockets that never wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/core/bytes.hpp"
#include "sim/core/result.hpp"
#include "sim/net/lwip_host.hpp"
#include "sim/net/tcp_connection.hpp"
#include "sim/net/udp_port.hpp"

namespace wizloop::capi {

// One service, started: its counters by name.
class Service {
 public:
  using Counts = std::vector<std::pair<std::string_view, std::uint64_t>>;

  virtual ~Service() = default;
  virtual Counts counts() const = 0;
};

// A TCP connection of the PC.
class PcStream final : private net::TcpConnection::User {
 public:
  enum class State : std::uint8_t { waiting, connected, peer_closed, closed, lost };

  explicit PcStream(net::LwipHost& host) : host_{host}, connection_{host, *this} {}

  bool connect(wire::Ipv4Address ip, std::uint16_t port) { return connection_.connect(ip, port); }
  void listen(std::uint16_t port);
  // That it waits on; 0: none.
  std::uint16_t listens_on() const { return listener_ ? port_ : std::uint16_t{0}; }
  State state() const { return state_; }
  std::size_t send(Bytes data);
  std::size_t receive(std::uint8_t* data, std::size_t bytes);
  void close();
  // RST; what was not sent or received yet is gone.
  void abort();

 private:
  void on_connected() override { state_ = State::connected; }
  std::size_t on_data(Bytes data) override;
  void on_peer_closed() override;
  void on_lost(std::string_view why) override;

  net::LwipHost& host_;
  State state_ = State::waiting;
  std::uint16_t port_ = 0;
  bool shut_ = false;                  // our FIN is on its way
  std::deque<std::uint8_t> received_;  // at most a receive window: what is here was not yet consumed
  net::TcpConnection connection_;
  std::optional<net::TcpListener> listener_;
};

// A UDP port of the PC.
class PcPort {
 public:
  struct Datagram {
    net::UdpPort::Address from;
    std::vector<std::uint8_t> payload;
  };
  static constexpr std::size_t most_waiting = 1024;  // further datagrams are dropped, as a PC would

  PcPort(net::LwipHost& host, std::uint16_t port);

  bool send(const net::UdpPort::Address& to, Bytes payload) { return port_.send(to, payload); }
  std::optional<Datagram> receive();
  std::uint16_t number() const { return number_; }

 private:
  std::uint16_t number_;
  std::deque<Datagram> waiting_;
  net::UdpPort port_;
};

class PcServices {
 public:
  explicit PcServices(net::LwipHost& host) : host_{host} {}

  // The error names the service, the option, its value and what was expected. The number of the service.
  Result<int> serve(std::string_view service, std::string_view options);
  // Null: there is no such service.
  const Service* service(int number) const;

  // The error says what cannot be: an address of the PC's own, a port that is taken, too many sockets.
  Result<int> connect(wire::Ipv4Address ip, std::uint16_t port);
  Result<int> listen(std::uint16_t port);
  Result<int> open_udp(std::uint16_t port);
  bool is_itself(wire::Ipv4Address ip) const { return ip == host_.config().ip || ip >> 24 == 127; }
  // Null: there is none of that kind and number, or it was closed.
  PcStream* stream(int number);
  PcPort* port(int number);
  bool exists(int number) const { return number >= 0 && static_cast<std::size_t>(number) < sockets_.size(); }
  void close(int number);

 private:
  // A port of 0 is free: lwIP chooses one.
  bool tcp_taken(std::uint16_t port) const;
  bool udp_taken(std::uint16_t port) const;

  static constexpr std::size_t most_sockets = 1024;

  using Socket = std::variant<std::monostate, std::unique_ptr<PcStream>, std::unique_ptr<PcPort>>;

  Result<int> add(Socket socket);
  std::optional<Error> full() const;

  net::LwipHost& host_;
  std::vector<std::unique_ptr<Service>> services_;
  std::vector<std::uint16_t> tcp_served_;
  std::vector<std::uint16_t> udp_served_;
  std::vector<Socket> sockets_;
};

}  // namespace wizloop::capi
