// A console on a TCP port: as it is (`nc`, pyserial's socket://) or as RFC 2217 (pyserial's rfc2217://, which brings
// DTR).
//
//   TcpPort tcp{io, console, Protocol::rfc2217, token};
//   if (const auto failed = tcp.open(endpoint)) return *failed;
//   tcp.endpoint();    // with the number of the port, where 0 was asked for
#pragma once

#include <memory>
#include <optional>

#include "harness/gateway/console_session.hpp"
#include "harness/gateway/listener.hpp"

namespace wizloop::gateway {

class TcpPort {
 public:
  TcpPort(boost::asio::io_context& io, Console& console, Protocol protocol, const Token* token)
      : listener_{io, protocol == Protocol::raw ? "console" : "RFC 2217 console"},
        console_{&console},
        protocol_{protocol},
        token_{token} {}

  std::optional<Error> open(const Endpoint& at) {
    const std::string_view option = protocol_ == Protocol::raw ? "--tcp" : "--rfc2217";
    const Result<const Token*> token = token_for(at, token_, option);
    if (!token) return token.error();
    return listener_.open(at, option, [this, needed = token.value()](Listener::Socket socket, const Endpoint& client) {
      return std::make_shared<ConsoleSession>(std::move(socket), *console_, protocol_,
                                              token_for_client(client, needed));
    });
  }

  Endpoint endpoint() const { return listener_.endpoint(); }

 private:
  Listener listener_;
  Console* console_;
  Protocol protocol_;
  const Token* token_;
};

}  // namespace wizloop::gateway
