#include "harness/gateway/console_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace wizloop::gateway {

namespace {

constexpr std::size_t most_per_write = 4096;
// Of a client that asks and does not read; nothing more is read of it until it does.
constexpr std::size_t most_answers = 4096;
// For the token.
constexpr std::chrono::seconds longest_patience{10};

std::string name_of(const Listener::Socket& socket, Protocol protocol) {
  boost::system::error_code gone;
  const Endpoint remote = socket.remote_endpoint(gone);
  return fmt::format("{}:{}", protocol == Protocol::raw ? "tcp" : "rfc2217", gone ? "gone" : to_string(remote));
}

}  // namespace

ConsoleSession::ConsoleSession(Listener::Socket socket, Console& console, Protocol protocol, const Token* token)
    : socket_{std::move(socket)},
      patience_{socket_.get_executor()},
      console_{&console},
      name_{name_of(socket_, protocol)},
      admission_{token} {
  if (protocol == Protocol::rfc2217) telnet_.emplace(static_cast<Rfc2217::Line&>(*this));
}

void ConsoleSession::start() {
  if (admission_.state() == Admission::State::admitted) {
    admit();
  } else {
    patience_.expires_after(longest_patience);
    patience_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled) self->close();
    });
  }
  read();
}

void ConsoleSession::admit() {
  patience_.cancel();
  attached_ = true;
  console_->attach(*this);
}

void ConsoleSession::close() {
  if (!socket_.is_open()) return;
  if (std::exchange(attached_, false)) console_->detach(*this);
  patience_.cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void ConsoleSession::read() {
  if (reading_ || !socket_.is_open() || !typed_.empty() || answers_.size() > most_answers) return;
  reading_ = true;
  socket_.async_read_some(boost::asio::buffer(input_),
                          [self = shared_from_this()](const boost::system::error_code& failed, std::size_t size) {
                            self->reading_ = false;
                            if (failed) {
                              self->close();
                              return;
                            }
                            self->received(std::span{self->input_}.first(size));
                            self->read();
                          });
}

void ConsoleSession::received(std::span<const std::uint8_t> bytes) {
  if (!attached_) {
    bytes = admission_.offer(bytes);
    if (admission_.state() == Admission::State::denied) {
      constexpr std::string_view denied = "! denied\r\n";
      boost::system::error_code ignored;
      socket_.non_blocking(true, ignored);
      socket_.write_some(boost::asio::buffer(denied), ignored);
      close();
      return;
    }
    if (admission_.state() == Admission::State::waiting) return;
    admit();
  }
  if (telnet_) {
    telnet_->receive(bytes);
  } else {
    typed(bytes);
  }
}

void ConsoleSession::typed(std::span<const std::uint8_t> bytes) {
  typed_.insert(typed_.end(), bytes.begin(), bytes.end());
  hand_over();
}

void ConsoleSession::hand_over() {
  const std::size_t taken = console_->type(*this, typed_);
  typed_.erase(typed_.begin(), typed_.begin() + static_cast<std::ptrdiff_t>(taken));
}

void ConsoleSession::go_on() {
  hand_over();
  read();
}

void ConsoleSession::drop_typed() {
  typed_.clear();
  read();
}

void ConsoleSession::show(std::span<const std::uint8_t> bytes) {
  backlog_.push(bytes);
  write();
}

void ConsoleSession::answer(std::span<const std::uint8_t> bytes) {
  answers_.insert(answers_.end(), bytes.begin(), bytes.end());
  write();
}

void ConsoleSession::board_is(bool /*powered*/) {
  if (telnet_) telnet_->notify_modem_state();
}

void ConsoleSession::fill_sending() {
  sending_ = std::exchange(answers_, {});
  if (suspended_) return;
  while (!backlog_.empty() && sending_.size() < most_per_write) {
    const auto all = backlog_.front();
    const auto some = all.first(std::min(all.size(), most_per_write));
    if (telnet_) {
      Rfc2217::escape(some, sending_);
    } else {
      sending_.insert(sending_.end(), some.begin(), some.end());
    }
    backlog_.pop(some.size());
  }
}

void ConsoleSession::write() {
  if (writing_ || !socket_.is_open()) return;
  fill_sending();
  if (sending_.empty()) return;
  writing_ = true;
  boost::asio::async_write(socket_, boost::asio::buffer(sending_),
                           [self = shared_from_this()](const boost::system::error_code& failed, std::size_t /*size*/) {
                             self->writing_ = false;
                             if (failed) {
                               self->close();
                               return;
                             }
                             self->write();
                             self->read();
                           });
}

// As a client may know it: a setting that it cannot have stays what it is.
template <typename T>
T ConsoleSession::set(T LineSettings::*setting, T wanted, T least, T most) {
  T& now = console_->line().*setting;
  if (wanted >= least && wanted <= most && wanted != now && console_->take(*this)) now = wanted;
  return now;
}

std::uint32_t ConsoleSession::baud(std::uint32_t wanted) {
  return set(&LineSettings::baud, wanted, std::uint32_t{1}, std::uint32_t{100'000'000});
}
std::uint8_t ConsoleSession::data_bits(std::uint8_t wanted) {
  return set(&LineSettings::data_bits, wanted, std::uint8_t{5}, std::uint8_t{8});
}
std::uint8_t ConsoleSession::parity(std::uint8_t wanted) {
  return set(&LineSettings::parity, wanted, std::uint8_t{1}, std::uint8_t{5});
}
std::uint8_t ConsoleSession::stop_bits(std::uint8_t wanted) {
  return set(&LineSettings::stop_bits, wanted, std::uint8_t{1}, std::uint8_t{3});
}

std::uint8_t ConsoleSession::control(std::uint8_t wanted) {
  LineSettings& line = console_->line();
  switch (wanted) {
    case Rfc2217::ask_break:
    case Rfc2217::break_on:
    case Rfc2217::break_off:
      if (wanted != Rfc2217::ask_break && console_->take(*this)) line.break_on = wanted == Rfc2217::break_on;
      return line.break_on ? Rfc2217::break_on : Rfc2217::break_off;
    case Rfc2217::ask_dtr:
    case Rfc2217::dtr_on:
    case Rfc2217::dtr_off:
      if (wanted != Rfc2217::ask_dtr && console_->take(*this)) console_->set_dtr(*this, wanted == Rfc2217::dtr_on);
      return line.dtr ? Rfc2217::dtr_on : Rfc2217::dtr_off;
    case Rfc2217::ask_rts:
    case Rfc2217::rts_on:
    case Rfc2217::rts_off:
      if (wanted != Rfc2217::ask_rts && console_->take(*this)) line.rts = wanted == Rfc2217::rts_on;
      return line.rts ? Rfc2217::rts_on : Rfc2217::rts_off;
    case Rfc2217::ask_flow_control:
    case Rfc2217::no_flow_control:
    case Rfc2217::software_flow_control:
    case Rfc2217::hardware_flow_control:
      return set(&LineSettings::flow_control, wanted, std::uint8_t{Rfc2217::no_flow_control},
                 std::uint8_t{Rfc2217::hardware_flow_control});
    default:  // flow control towards the board alone, or by other lines: there is none
      return Rfc2217::no_inbound_flow_control;
  }
}

void ConsoleSession::purge(std::uint8_t what) {
  if ((what & Rfc2217::purge_received) != 0) backlog_.clear();
  if ((what & Rfc2217::purge_typed) != 0) typed_.clear();
}

void ConsoleSession::suspend(bool on) {
  suspended_ = on;
  if (!on) write();
}

}  // namespace wizloop::gateway
