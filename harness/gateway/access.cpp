#include "harness/gateway/access.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "sim/core/host_port.hpp"

namespace wizloop::gateway {

namespace {

constexpr std::string_view token_verb = "token ";

// A port on [::] sees clients with IPv4 as ::ffff:127.0.0.1.
bool is_loopback(const boost::asio::ip::address& address) {
  const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return mapped ? boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback()
                : address.is_loopback();
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text, std::string_view option) {
  const auto wrong = [&](std::string_view why) {
    return Error{fmt::format("{} {}: {}; expected HOST:PORT with a numeric address or localhost, as 127.0.0.1:7000",
                             option, text, why)};
  };
  const auto parts = split_host_port(text);
  if (!parts) return wrong("no port from 0 to 65535");
  const std::string_view host = parts->host == "localhost" ? "127.0.0.1" : parts->host;
  boost::system::error_code failed;
  const auto address = boost::asio::ip::make_address(std::string{host}, failed);
  if (failed) return wrong("the host is not an address");
  return Endpoint{address, parts->port};
}

std::string to_string(const Endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

Result<Token> Token::create(std::string text, std::string_view where) {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (text.size() < shortest || text.size() > longest || !std::ranges::all_of(text, printable)) {
    return Error{fmt::format("the token of {} has {} characters; expected {} to {} printable ones without spaces",
                             where, text.size(), shortest, longest)};
  }
  return Token{std::move(text)};
}

bool Token::is(std::string_view given) const {
  // Each given character costs the same; the length of the token is no secret.
  volatile unsigned difference = text_.size() == given.size() ? 0U : 1U;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference =
        difference | (static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(text_[i % text_.size()]));
  }
  return difference == 0;
}

Result<std::optional<Token>> load_token(const std::optional<std::filesystem::path>& file) {
  std::string text;
  std::string where = "WIZLOOP_TOKEN";
  if (file) {
    where = file->string();
    struct stat status {};
    std::ifstream stream{*file};
    if (!stream || ::stat(file->c_str(), &status) != 0) {
      return Error{fmt::format("--token-file {}: {}", where, std::strerror(errno)), kind_of(errno)};
    }
    if (S_ISREG(status.st_mode) && (status.st_mode & 077U) != 0) {
      return Error{
          fmt::format("--token-file {}: others may read it (mode {:o}); chmod 600 it", where, status.st_mode & 0777U)};
    }
    std::getline(stream, text);
    if (text.ends_with('\r')) text.pop_back();
  } else if (const char* given = std::getenv("WIZLOOP_TOKEN"); given != nullptr) {
    text = given;
  } else {
    return std::optional<Token>{};
  }
  Result<Token> token = Token::create(std::move(text), where);
  if (!token) return token.error();
  return std::optional<Token>{std::move(token).value()};
}

const Token* token_for_client(const Endpoint& client, const Token* token) {
  return is_loopback(client.address()) ? nullptr : token;
}

Result<const Token*> token_for(const Endpoint& at, const Token* token, std::string_view option) {
  if (is_loopback(at.address())) return static_cast<const Token*>(nullptr);
  if (token == nullptr) {
    return Error{
        fmt::format("{} {}: can be reached from other machines, so it needs a token; give one with --token-file or "
                    "WIZLOOP_TOKEN, or take 127.0.0.1",
                    option, to_string(at))};
  }
  return token;
}

std::span<const std::uint8_t> Admission::offer(std::span<const std::uint8_t> bytes) {
  while (state() == State::waiting && !bytes.empty()) {
    const char c = static_cast<char>(bytes.front());
    bytes = bytes.subspan(1);
    if (c != '\n') {
      line_.push_back(c);
      denied_ = line_.size() > token_verb.size() + Token::longest + 1;
      continue;
    }
    std::string_view line = line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(token_verb) && token_->is(line.substr(token_verb.size()))) {
      token_ = nullptr;
    } else {
      denied_ = true;
    }
  }
  return denied_ ? std::span<const std::uint8_t>{} : bytes;
}

}  // namespace wizloop::gateway
