#include "drivers/ports/spi_bridge/agent_channel.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/ioctl.h>
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
#include <optional>

#include "boards/agent/crc16.hpp"
#include "sim/core/host_port.hpp"

namespace wizloop::spi_bridge {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr int attempts = 3;
constexpr std::size_t checksum_characters = 6;  // " *HHHH"
constexpr std::size_t longest_line = 65536;
constexpr std::chrono::milliseconds rest_after_unreadable{500};
constexpr std::chrono::seconds longest_connect{5};
constexpr std::chrono::seconds longest_send{5};  // of a line end, where nobody waits for an answer

std::uint16_t checksum(std::string_view text) {
  std::uint16_t crc = agent::crc16_start;
  for (const char letter : text) crc = agent::crc16(crc, static_cast<std::uint8_t>(letter));
  return crc;
}

enum class Checksum : std::uint8_t { absent, right, wrong };

// Takes the checksum off a line that has one.
Checksum take_checksum(std::string& line) {
  constexpr std::string_view mark = " *";
  const std::size_t begin = line.size() - std::min(line.size(), checksum_characters);
  const std::string_view end = std::string_view{line}.substr(begin);
  if (!end.starts_with(mark)) return line.find('*') == std::string::npos ? Checksum::absent : Checksum::wrong;
  std::uint16_t value = 0;
  const auto [stop, error] = std::from_chars(end.data() + mark.size(), end.data() + end.size(), value, 16);
  if (error != std::errc{} || stop != end.data() + end.size()) return Checksum::wrong;
  line.resize(begin);
  return value == checksum(line) ? Checksum::right : Checksum::wrong;
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

  // One asynchronous operation, cancelled at the deadline; how it failed, if it did, is in error().
  template <typename Start>
  Io perform(Clock::time_point deadline, Start start) {
    std::optional<boost::system::error_code> ended;
    start([&ended](const boost::system::error_code& error, const auto&...) { ended = error; });
    io_.restart();
    while (!ended && io_.run_one_until(deadline) != 0) {
    }
    if (!ended) {
      stream_.cancel();
      io_.run();
      error_ = asio::error::timed_out;
      return Io::timeout;
    }
    error_ = *ended;
    return error_ ? Io::closed : Io::done;
  }
  const boost::system::error_code& error() const { return error_; }

 private:
  Io send(std::string_view bytes, Clock::time_point deadline) override {
    return perform(deadline, [&](auto handler) { asio::async_write(stream_, asio::buffer(bytes), handler); });
  }

  Io read_line(std::string& line, Clock::time_point deadline) override {
    const Io read = perform(deadline, [&](auto handler) { asio::async_read_until(stream_, input_, '\n', handler); });
    if (read != Io::done) return read;
    std::istream in{&input_};
    std::getline(in, line);
    while (!line.empty() && line.back() == '\r') line.pop_back();
    return Io::done;
  }

  asio::io_context io_;
  Stream stream_;
  asio::streambuf input_{longest_line};
  boost::system::error_code error_;
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
  // Programs that keep to either custom leave each other alone; a closed descriptor takes both back.
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 || ioctl(descriptor, TIOCEXCL) != 0) {
    return Error{fmt::format("{} is in use by another program", address), ErrorKind::machine};
  }
  if (tcgetattr(descriptor, &settings) == 0) {
    cfmakeraw(&settings);
    tcsetattr(descriptor, TCSANOW, &settings);
  }
  // A pty has no rate and may refuse one; a UART that cannot do it is found out by the greeting.
  channel->stream().set_option(asio::serial_port_base::baud_rate{baud}, error);
  return std::unique_ptr<AgentChannel>{std::move(channel)};
}

Result<std::unique_ptr<AgentChannel>> open_tcp(std::string_view address, std::string_view rest) {
  const auto parts = split_host_port(rest);
  if (!parts || parts->host.empty() || parts->port == 0) return no_address(address);
  auto channel = std::make_unique<StreamChannel<Tcp::socket>>();
  boost::system::error_code error;
  Tcp::resolver resolver{channel->io()};
  const auto found = resolver.resolve(std::string{parts->host}, std::to_string(parts->port), error);
  if (error) return cannot_open(address, error);
  const auto deadline = Clock::now() + longest_connect;
  channel->perform(deadline, [&](auto handler) { asio::async_connect(channel->stream(), found, handler); });
  if (channel->error()) return cannot_open(address, channel->error());
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
  if (channel) channel.value()->send("\n", Clock::now() + longest_send);
  return channel;
}

AgentChannel::Outcome AgentChannel::ask_once(std::string_view request, Timeout timeout, std::string& answer) {
  auto deadline = Clock::now() + timeout;
  const std::string mark = fmt::format("#{} ", sequence_ = sequence_ % 999'999'999 + 1);
  const std::string line = fmt::format("{}{}", mark, request);
  Io io = send(fmt::format("{} *{:04X}\n", line, checksum(line)), deadline);
  std::string heard;
  bool unreadable = false;
  while (io == Io::done && (io = read_line(heard, deadline)) == Io::done) {
    if (heard.starts_with("! hello ") && !request.starts_with("hello")) {
      answer = "the board has started anew";
      return Outcome::refused;
    }
    if (heard.starts_with("#0 err ")) {
      // A line whose number could not be read: this one, or what stood on the line before it. If it was this one,
      // nothing else will come.
      unreadable = true;
      deadline = std::min(deadline, Clock::now() + rest_after_unreadable);
      continue;
    }
    if (!heard.starts_with(mark)) continue;  // log, events, answers to what is given up
    const Checksum sum = take_checksum(heard);
    answer = heard.substr(heard.find(' ') + 1);
    const bool is_error = answer.starts_with("err ");
    // The agent answers without a checksum where it could not read the request's.
    if (sum == Checksum::wrong || (sum == Checksum::absent && !is_error)) {
      ++counters_.damaged;
      answer = "the answer was damaged";
      return Outcome::unknown;
    }
    if (!is_error) return Outcome::answered;
    answer.erase(0, 4);
    if (!says_damaged(answer)) return Outcome::refused;
    ++counters_.damaged;
    return Outcome::not_done;
  }
  if (io == Io::closed) {
    answer = "the line is closed";
    return Outcome::refused;
  }
  if (unreadable) {
    ++counters_.damaged;
    answer = "the request was damaged";
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
      send("\n", Clock::now() + longest_send);
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
