#include "drivers/ports/spi_bridge/agent_channel.hpp"

#include <fmt/format.h>
#include <termios.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/serial_port.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <istream>

#include "boards/agent/crc16.hpp"

namespace wizloop::spi_bridge {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr int attempts = 3;
constexpr std::size_t checksum_characters = 6;  // " *HHHH"
constexpr std::size_t longest_line = 65536;

std::uint16_t checksum(std::string_view text) {
  std::uint16_t crc = agent::crc16_start;
  for (const char letter : text) crc = agent::crc16(crc, static_cast<std::uint8_t>(letter));
  return crc;
}

// Takes the checksum off a line; false if it is not there or wrong.
bool checked(std::string& line) {
  if (line.size() < checksum_characters) return false;
  const std::string_view end = std::string_view{line}.substr(line.size() - checksum_characters);
  std::uint16_t value = 0;
  const auto [stop, error] = std::from_chars(end.data() + 2, end.data() + end.size(), value, 16);
  if (!end.starts_with(" *") || error != std::errc{} || stop != end.data() + end.size()) return false;
  line.resize(line.size() - checksum_characters);
  return value == checksum(line);
}

// What the agent says about a line that it did not understand: whatever was asked was not done.
bool says_damaged(std::string_view error) {
  for (const std::string_view code : {"crc", "syntax", "bad-byte", "overrun"}) {
    if (error.substr(0, error.find(' ')) == code) return true;
  }
  return false;
}

template <typename Stream>
class StreamChannel final : public AgentChannel {
 public:
  StreamChannel() : stream_{io_} {}

  Stream& stream() { return stream_; }
  asio::io_context& io() { return io_; }

 private:
  bool send(std::string_view bytes) override {
    boost::system::error_code error;
    asio::write(stream_, asio::buffer(bytes), error);
    return !error;
  }

  bool read_line(std::string& line, Clock::time_point deadline) override {
    bool arrived = false;
    bool over = false;
    asio::async_read_until(stream_, input_, '\n', [&](const boost::system::error_code& error, std::size_t) {
      over = true;
      arrived = !error;
    });
    io_.restart();
    while (!over && io_.run_one_until(deadline) != 0) {
    }
    if (!over) {
      stream_.cancel();
      io_.run();
    }
    if (!arrived) return false;
    std::istream in{&input_};
    std::getline(in, line);
    while (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
  }

  asio::io_context io_;
  Stream stream_;
  asio::streambuf input_{longest_line};
};

Error cannot_open(std::string_view address, const boost::system::error_code& error) {
  return {fmt::format("{} cannot be opened: {}", address, error.message()), ErrorKind::machine};
}

Error no_address(std::string_view address) {
  return {fmt::format("\"{}\" is no address of an agent, expected serial:PORT[@BAUD] or tcp:HOST:PORT", address)};
}

Result<std::unique_ptr<AgentChannel>> open_serial(std::string_view address, std::string_view rest) {
  const std::size_t at = rest.rfind('@');
  unsigned baud = 115200;
  if (at != std::string_view::npos) {
    const std::string_view digits = rest.substr(at + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), baud);
    if (error != std::errc{} || end != digits.data() + digits.size()) return no_address(address);
    rest = rest.substr(0, at);
  }
  auto channel = std::make_unique<StreamChannel<asio::serial_port>>();
  boost::system::error_code error;
  channel->stream().open(std::string{rest}, error);
  if (error) return cannot_open(address, error);
  termios settings{};
  const int descriptor = channel->stream().native_handle();
  if (tcgetattr(descriptor, &settings) == 0) {
    cfmakeraw(&settings);
    tcsetattr(descriptor, TCSANOW, &settings);
  }
  // A pty has no rate and may refuse one; a UART that cannot do it is found out by the greeting.
  channel->stream().set_option(asio::serial_port_base::baud_rate{baud}, error);
  return std::unique_ptr<AgentChannel>{std::move(channel)};
}

Result<std::unique_ptr<AgentChannel>> open_tcp(std::string_view address, std::string_view rest) {
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == rest.size()) return no_address(address);
  auto channel = std::make_unique<StreamChannel<Tcp::socket>>();
  boost::system::error_code error;
  Tcp::resolver resolver{channel->io()};
  const auto found = resolver.resolve(std::string{rest.substr(0, colon)}, std::string{rest.substr(colon + 1)}, error);
  if (!error) asio::connect(channel->stream(), found, error);
  if (error) return cannot_open(address, error);
  channel->stream().set_option(Tcp::no_delay{true}, error);
  return std::unique_ptr<AgentChannel>{std::move(channel)};
}

}  // namespace

Reply::Reply(std::string_view words) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) values_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
}

std::string_view Reply::text(std::string_view key) const {
  const auto found = std::ranges::find(values_, key, &std::pair<std::string, std::string>::first);
  return found == values_.end() ? std::string_view{} : found->second;
}

std::uint64_t Reply::number(std::string_view key) const {
  const std::string_view digits = text(key);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size() ? value : 0;
}

Result<std::unique_ptr<AgentChannel>> AgentChannel::open(std::string_view address) {
  constexpr std::string_view serial = "serial:", tcp = "tcp:";
  auto channel = address.starts_with(serial) ? open_serial(address, address.substr(serial.size()))
                 : address.starts_with(tcp)  ? open_tcp(address, address.substr(tcp.size()))
                                             : Result<std::unique_ptr<AgentChannel>>{no_address(address)};
  // Whatever half line the agent was in the middle of ends here; its answer to that, if any, has the number 0.
  if (channel) channel.value()->send("\n");
  return channel;
}

AgentChannel::Outcome AgentChannel::ask_once(std::string_view request, Timeout timeout, std::string& answer) {
  const auto deadline = Clock::now() + timeout;
  const std::string mark = fmt::format("#{} ", sequence_ = sequence_ % 999'999'999 + 1);
  const std::string line = fmt::format("{}{}", mark, request);
  if (!send(fmt::format("{} *{:04X}\n", line, checksum(line)))) {
    answer = "the line is closed";
    return Outcome::refused;
  }
  std::string heard;
  while (read_line(heard, deadline)) {
    const bool mine = heard.starts_with(mark);
    if (!mine && !heard.starts_with("#0 err ")) continue;  // log, events, answers to what is given up
    if (!checked(heard)) {
      if (!mine) continue;
      ++counters_.damaged;
      answer = "the answer was damaged";
      return Outcome::unknown;
    }
    answer = heard.substr(heard.find(' ') + 1);
    if (answer == "ok" || answer.starts_with("ok ")) return Outcome::answered;
    if (answer.starts_with("err ")) answer.erase(0, 4);
    if (!says_damaged(answer)) return Outcome::refused;
    ++counters_.damaged;
    return Outcome::not_done;
  }
  ++counters_.lost;
  answer = fmt::format("no answer within {} ms", timeout.count());
  return Outcome::unknown;
}

Result<Reply> AgentChannel::ask(std::string_view request, Timeout timeout, bool repeatable) {
  std::string answer;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    if (attempt > 1) {
      ++counters_.retries;
      send("\n");
    }
    switch (ask_once(request, timeout, answer)) {
      case Outcome::answered:
        ++counters_.requests;
        return Reply{answer};
      case Outcome::refused:
        ++counters_.requests;
        attempt = attempts;
        break;
      case Outcome::not_done:
        break;
      case Outcome::unknown:
        if (!repeatable) attempt = attempts;
        break;
    }
  }
  return Error{fmt::format("\"{}\": {}", request.substr(0, request.find(' ')), answer), ErrorKind::machine};
}

}  // namespace wizloop::spi_bridge
