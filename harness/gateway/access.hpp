// Who may connect: HOST:PORT as a user gives it, and the token that everybody needs who does not come over loopback.
//
// Ports are opened on loopback unless the user names another address, and then only with a token. Each client of such a
// port whose own address is not a loopback one sends "token TOKEN" as its first line; until then nothing is told it,
// and nothing of it reaches a board. Clients on loopback send none, whatever the port listens on.
//
//   Result<Endpoint> at = parse_endpoint("127.0.0.1:0", "--tcp");
//   Result<Token> token = load_token(file);
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/core/result.hpp"

namespace wizloop::gateway {

using Endpoint = boost::asio::ip::tcp::endpoint;

// "127.0.0.1:7000", "[::1]:7000", "localhost:7000"; port 0 takes a free one. Addresses are numbers: looking up a name
// may wait, and may open a port where nobody meant it. The error names `option`.
Result<Endpoint> parse_endpoint(std::string_view text, std::string_view option);
std::string to_string(const Endpoint& endpoint);

class Token {
 public:
  static constexpr std::size_t shortest = 16;
  static constexpr std::size_t longest = 128;

  // Printable characters without spaces; the error does not show it.
  static Result<Token> create(std::string text, std::string_view where);

  // Takes as long whatever is wrong with it.
  bool is(std::string_view given) const;

 private:
  explicit Token(std::string text) : text_{std::move(text)} {}
  std::string text_;
};

// From a file that only its owner may read, else from the environment variable WIZLOOP_TOKEN; never from the command
// line, which every user of the machine can see. None: neither is there.
Result<std::optional<Token>> load_token(const std::optional<std::filesystem::path>& file);

// The token of a port that listens at `at`: none on loopback. The error says that one is missing.
Result<const Token*> token_for(const Endpoint& at, const Token* token, std::string_view option);
// What one client of that port needs of it: nothing if it comes over loopback.
const Token* token_for_client(const Endpoint& client, const Token* token);

// Where one client stands. Eats its first line if that has to be the token.
class Admission {
 public:
  // Null: let in at once.
  explicit Admission(const Token* token) : token_{token} {}

  enum class State : std::uint8_t { waiting, admitted, denied };
  State state() const {
    if (denied_) return State::denied;
    return token_ == nullptr ? State::admitted : State::waiting;
  }
  // What remains of `bytes` behind the line.
  std::span<const std::uint8_t> offer(std::span<const std::uint8_t> bytes);

 private:
  const Token* token_;
  std::string line_;
  bool denied_ = false;
};

}  // namespace wizloop::gateway
