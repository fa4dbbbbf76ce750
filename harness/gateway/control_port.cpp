#include "harness/gateway/control_port.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace wizloop::gateway {

namespace {

struct Verb {
  std::string_view name;
  BoardCommand command;
};
constexpr std::array verbs{
    Verb{"off", BoardCommand::off},       Verb{"on", BoardCommand::on},         Verb{"reset", BoardCommand::reset},
    Verb{"unplug", BoardCommand::unplug}, Verb{"replug", BoardCommand::replug}, Verb{"release", BoardCommand::release},
    Verb{"status", BoardCommand::status},
};
constexpr std::chrono::seconds longest_patience{10};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

class ControlSession final : public Session, public std::enable_shared_from_this<ControlSession> {
 public:
  ControlSession(Listener::Socket socket, ControlledRack& rack, const Token* token)
      : socket_{std::move(socket)}, patience_{socket_.get_executor()}, rack_{&rack}, admission_{token} {}

  void start() override {
    if (admission_.state() == Admission::State::waiting) {
      patience_.expires_after(longest_patience);
      patience_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
        if (!cancelled) self->close();
      });
    }
    read();
  }

  void close() override {
    patience_.cancel();
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  bool is_open() const override { return socket_.is_open(); }

 private:
  // The next lines are read when these are answered: a client that does not read its answers waits for itself.
  void read() {
    socket_.async_read_some(boost::asio::buffer(input_),
                            [self = shared_from_this()](const boost::system::error_code& failed, std::size_t size) {
                              if (failed) {
                                self->close();
                                return;
                              }
                              self->received(std::span{self->input_}.first(size));
                            });
  }

  void received(std::span<const std::uint8_t> bytes) {
    bytes = admission_.offer(bytes);
    const bool denied = admission_.state() == Admission::State::denied;
    if (denied) answers_ += "err denied this port needs the token first\r\n";
    if (admission_.state() == Admission::State::admitted) patience_.cancel();
    for (const std::uint8_t byte : bytes) {
      if (byte == '\n' || byte == '\r') {
        end_line();
      } else if (line_.size() <= ControlPort::longest_line) {
        line_.push_back(static_cast<char>(byte));
      }
    }
    boost::asio::async_write(
        socket_, boost::asio::buffer(answers_),
        [self = shared_from_this(), denied](const boost::system::error_code& failed, std::size_t /*size*/) {
          self->answers_.clear();
          if (failed || denied) {
            self->close();
          } else if (self->is_open()) {
            self->read();
          }
        });
  }

  void end_line() {
    const std::string line = std::exchange(line_, {});
    const std::string answer =
        line.size() > ControlPort::longest_line
            ? fmt::format("err too-long a line has up to {} characters", ControlPort::longest_line)
            : answer_control(*rack_, line);
    if (!answer.empty()) answers_ += answer + "\r\n";
  }

  Listener::Socket socket_;
  boost::asio::steady_timer patience_;
  ControlledRack* rack_;
  Admission admission_;
  std::array<std::uint8_t, 1024> input_{};
  std::string line_;
  std::string answers_;
};

}  // namespace

std::string answer_control(ControlledRack& rack, std::string_view line) {
  const bool printable = std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable) return "err syntax a line has printable characters; try help";
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty() || words[0] == "token") return {};  // a client need not know whether it has to send one
  const std::vector<std::string> boards = rack.boards();
  if (words[0] == "help") return "ok verbs=help,list,off,on,reset,unplug,replug,release,status usage=VERB_[BOARD]";
  if (words[0] == "list") return fmt::format("ok boards={}", fmt::join(boards, ","));
  const auto* verb = std::ranges::find(verbs, words[0], &Verb::name);
  if (verb == verbs.end()) return fmt::format("err unknown {}; try help", words[0]);
  if (words.size() > 2)
    return fmt::format("err syntax {} takes one board, got {}", words[0],
                       fmt::join(words.begin() + 1, words.end(), " "));
  std::size_t board = 0;
  if (words.size() == 2) {
    board = static_cast<std::size_t>(std::ranges::find(boards, words[1]) - boards.begin());
    if (board == boards.size())
      return fmt::format("err no-board {}; expected one of {}", words[1], fmt::join(boards, ", "));
  } else if (boards.size() != 1) {
    return fmt::format("err syntax which board? expected {} and one of {}", words[0], fmt::join(boards, ", "));
  }
  const Result<std::string> done = rack.command(board, verb->command);
  if (!done) return fmt::format("err failed {}", done.error().message);
  return done.value().empty() ? "ok" : fmt::format("ok {}", done.value());
}

std::optional<Error> ControlPort::open(const Endpoint& at) {
  const Result<const Token*> token = token_for(at, token_, "--control");
  if (!token) return token.error();
  return listener_.open(
      at, "--control", [this, needed = token.value()](Listener::Socket socket, const Endpoint& client) {
        return std::make_shared<ControlSession>(std::move(socket), *rack_, token_for_client(client, needed));
      });
}

}  // namespace wizloop::gateway
