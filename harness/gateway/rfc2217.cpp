#include "harness/gateway/rfc2217.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/core/bytes.hpp"

namespace wizloop::gateway {

namespace {

// RFC 854.
constexpr std::uint8_t IAC = 255;
constexpr std::uint8_t DONT = 254;
constexpr std::uint8_t DO = 253;
constexpr std::uint8_t WONT = 252;
constexpr std::uint8_t WILL = 251;
constexpr std::uint8_t SB = 250;
constexpr std::uint8_t SE = 240;
// Options.
constexpr std::uint8_t BINARY = 0;
constexpr std::uint8_t SUPPRESS_GO_AHEAD = 3;
constexpr std::uint8_t COM_PORT_OPTION = 44;
// RFC 2217; the server's answers are those of the client plus 100.
constexpr std::uint8_t SIGNATURE = 0;
constexpr std::uint8_t SET_BAUDRATE = 1;
constexpr std::uint8_t SET_DATASIZE = 2;
constexpr std::uint8_t SET_PARITY = 3;
constexpr std::uint8_t SET_STOPSIZE = 4;
constexpr std::uint8_t SET_CONTROL = 5;
constexpr std::uint8_t NOTIFY_MODEMSTATE = 7;
constexpr std::uint8_t FLOWCONTROL_SUSPEND = 8;
constexpr std::uint8_t FLOWCONTROL_RESUME = 9;
constexpr std::uint8_t SET_LINESTATE_MASK = 10;
constexpr std::uint8_t SET_MODEMSTATE_MASK = 11;
constexpr std::uint8_t PURGE_DATA = 12;
constexpr std::uint8_t from_server = 100;

constexpr std::string_view signature = "wizloop";

bool supported(std::uint8_t option) {
  return option == BINARY || option == SUPPRESS_GO_AHEAD || option == COM_PORT_OPTION;
}

}  // namespace

void Rfc2217::receive(std::span<const std::uint8_t> bytes) {
  std::size_t typed_from = 0;
  const auto hand_over = [&](std::size_t to) {
    if (to > typed_from) line_->typed(bytes.subspan(typed_from, to - typed_from));
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint8_t byte = bytes[i];
    switch (state_) {
      case State::after_cr:
        state_ = State::data;
        if (byte == 0 && !theirs_[BINARY]) {  // RFC 854: a carriage return alone is sent as CR NUL
          hand_over(i);
          typed_from = i + 1;
          break;
        }
        [[fallthrough]];
      case State::data:
        if (byte == IAC) {
          hand_over(i);
          typed_from = bytes.size();
          state_ = State::iac;
        } else if (byte == '\r') {
          state_ = State::after_cr;
        }
        break;
      case State::iac:
        state_ = State::data;
        typed_from = i + 1;
        if (byte == IAC) {
          typed_from = i;
        } else if (byte >= WILL) {
          verb_ = byte;
          state_ = State::option;
          typed_from = bytes.size();
        } else if (byte == SB) {
          suboption_size_ = 0;
          state_ = State::suboption;
          typed_from = bytes.size();
        }
        break;
      case State::option:
        negotiate(verb_, byte);
        state_ = State::data;
        typed_from = i + 1;
        break;
      case State::suboption_iac:
        if (byte == SE) {
          if (suboption_size_ <= longest_suboption) suboption();
          state_ = State::data;
          typed_from = i + 1;
          break;
        }
        state_ = State::suboption;
        if (suboption_size_ < longest_suboption) suboption_[suboption_size_] = byte;
        suboption_size_ = std::min(suboption_size_ + 1, longest_suboption + 1);
        break;
      case State::suboption:
        if (byte == IAC) {
          state_ = State::suboption_iac;
          break;
        }
        if (suboption_size_ < longest_suboption) suboption_[suboption_size_] = byte;
        suboption_size_ = std::min(suboption_size_ + 1, longest_suboption + 1);
        break;
    }
  }
  if (state_ == State::data || state_ == State::after_cr) hand_over(bytes.size());
}

void Rfc2217::negotiate(std::uint8_t verb, std::uint8_t option) {
  const bool about_them = verb == WILL || verb == WONT;
  const bool on = verb == WILL || verb == DO;
  bool& state = about_them ? theirs_[option] : ours_[option];
  const bool answers_us = option == BINARY && std::exchange(about_them ? asked_do_binary_ : asked_will_binary_, false);
  if (on && !supported(option)) {
    send(about_them ? DONT : WONT, option);
    return;
  }
  if (state == on) return;  // an answer, or nothing new: answering it would never end
  state = on;
  if (!answers_us) send(about_them ? (on ? DO : DONT) : (on ? WILL : WONT), option);
  if (option == COM_PORT_OPTION && on && !com_port_) start_com_port();
}

void Rfc2217::start_com_port() {
  com_port_ = true;
  asked_will_binary_ = !ours_[BINARY];
  asked_do_binary_ = !theirs_[BINARY];
  if (asked_will_binary_) send(WILL, BINARY);
  if (asked_do_binary_) send(DO, BINARY);
  notify_modem_state();
}

void Rfc2217::send(std::uint8_t verb, std::uint8_t option) {
  const std::array<std::uint8_t, 3> bytes{IAC, verb, option};
  line_->answer(bytes);
}

void Rfc2217::suboption() {
  if (suboption_size_ < 2 || suboption_[0] != COM_PORT_OPTION) return;
  const std::uint8_t command = suboption_[1];
  const auto value = std::span{suboption_}.subspan(2, suboption_size_ - 2);
  const auto answer_byte = [&](std::uint8_t byte) { answer_com_port(command, std::span{&byte, 1}); };
  switch (command) {
    case SIGNATURE:
      if (value.empty())
        answer_com_port(command, std::span{reinterpret_cast<const std::uint8_t*>(signature.data()), signature.size()});
      return;
    case NOTIFY_MODEMSTATE:  // clients ask by it, though the RFC gives it to servers
      told_powered_.reset();
      notify_modem_state();
      return;
    case FLOWCONTROL_SUSPEND:
    case FLOWCONTROL_RESUME:
      line_->suspend(command == FLOWCONTROL_SUSPEND);
      return;
    case SET_BAUDRATE:
      if (value.size() == 4) {
        std::array<std::uint8_t, 4> baud{};
        store32(baud.data(), line_->baud(load32(value.data())));
        answer_com_port(command, baud);
      }
      return;
    default:
      break;
  }
  if (value.size() != 1) return;
  switch (command) {
    case SET_DATASIZE:
      return answer_byte(line_->data_bits(value[0]));
    case SET_PARITY:
      return answer_byte(line_->parity(value[0]));
    case SET_STOPSIZE:
      return answer_byte(line_->stop_bits(value[0]));
    case SET_CONTROL:
      return answer_byte(line_->control(value[0]));
    case SET_LINESTATE_MASK:
      return answer_byte(value[0]);
    case SET_MODEMSTATE_MASK:
      modem_mask_ = value[0];
      return answer_byte(value[0]);
    case PURGE_DATA:
      line_->purge(value[0]);
      return answer_byte(value[0]);
    default:
      return;
  }
}

void Rfc2217::answer_com_port(std::uint8_t command, std::span<const std::uint8_t> value) {
  std::vector<std::uint8_t> bytes{IAC, SB, COM_PORT_OPTION, static_cast<std::uint8_t>(command + from_server)};
  escape(value, bytes);
  bytes.push_back(IAC);
  bytes.push_back(SE);
  line_->answer(bytes);
}

void Rfc2217::notify_modem_state() {
  if (!com_port_) return;
  const bool powered = line_->powered();
  if (told_powered_ == powered) return;
  const bool changed = told_powered_.has_value();
  told_powered_ = powered;
  const auto lines = static_cast<std::uint8_t>(powered ? cts | dsr | cd : 0);
  const auto deltas = static_cast<std::uint8_t>(changed ? delta_cts | delta_dsr | delta_cd : 0);
  const auto value = static_cast<std::uint8_t>((lines | deltas) & modem_mask_);
  if (modem_mask_ != 0) answer_com_port(NOTIFY_MODEMSTATE, std::span{&value, 1});
}

void Rfc2217::escape(std::span<const std::uint8_t> bytes, std::vector<std::uint8_t>& out) {
  for (const std::uint8_t byte : bytes) {
    out.push_back(byte);
    if (byte == IAC) out.push_back(IAC);
  }
}

}  // namespace wizloop::gateway
