// A TCP port and those who are connected to it: as many at a time as it says, each with a session of its own. The
// io_context does not run any more once a listener is gone.
//
//   Listener listener{io, "console of b1"};
//   if (const auto failed = listener.open(endpoint, "--tcp", [&](tcp::socket socket, const Endpoint& client) {
//         return std::make_shared<MySession>(std::move(socket)); })) return *failed;
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/gateway/access.hpp"
#include "sim/core/result.hpp"

namespace wizloop::gateway {

// One connection. Alive as long as an operation on its socket is; what it uses must live until it is closed.
class Session {
 public:
  virtual ~Session() = default;
  virtual void start() = 0;
  // Once closed it touches nothing but itself any more.
  virtual void close() = 0;
  virtual bool is_open() const = 0;
};

class Listener {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  // With the client's address; unspecified if it has gone already.
  using MakeSession = std::function<std::shared_ptr<Session>(Socket, const Endpoint& client)>;
  static constexpr std::size_t most_sessions = 16;

  Listener(boost::asio::io_context& io, std::string what) : acceptor_{io}, pause_{io}, what_{std::move(what)} {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { close(); }

  // The error names the port, and `option`, which asked for it.
  std::optional<Error> open(const Endpoint& at, std::string_view option, MakeSession make_session);
  // With all its sessions.
  void close();
  Endpoint endpoint() const;
  std::size_t sessions();

 private:
  void accept();
  void admit(Socket socket);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  std::string what_;
  MakeSession make_session_;
  std::vector<std::shared_ptr<Session>> sessions_;
};

}  // namespace wizloop::gateway
