#include "harness/gateway/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "boards/agent/crc16.hpp"
#include "sim/core/assert.hpp"

namespace wizloop::gateway {

namespace {

// "#" and nine digits, and what must follow.
constexpr std::size_t longest_start = 11;
// " *29B1", the checksum of a request.
constexpr std::size_t checksum_length = 6;
// A line without an end is answered when it has become this long; one that may be a request gets more time.
constexpr std::size_t longest_line = 80;
constexpr std::size_t longest_request = 2048;

// The "#7" of "#7 hello"; empty for any other line.
std::string_view request_number(std::string_view line) {
  std::size_t end = line.starts_with('#') ? 1 : 0;
  while (end > 0 && end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
  const bool alone = end == line.size() || line[end] == ' ';
  return end >= 2 && end <= 10 && alone ? line.substr(0, end) : std::string_view{};
}

bool is_checksum(std::string_view end) {
  return end.starts_with(" *") &&
         std::ranges::all_of(end.substr(2), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

// As the agent does (boards/agent/README.md): who has sent one expects one.
void add_checksum(std::string& line) {
  std::uint16_t crc = agent::crc16_start;
  for (const char c : line) crc = agent::crc16(crc, static_cast<std::uint8_t>(c));
  line += fmt::format(" *{:04X}", crc);
}

std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

void Console::attach(ConsoleClient& client) { clients_.push_back(&client); }

void Console::detach(ConsoleClient& client) {
  std::erase(clients_, &client);
  closed(client);
}

std::size_t Console::type(ConsoleClient& client, std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return 0;
  if (!take(client)) {
    refuse(client, bytes);
    return bytes.size();
  }
  return board_->type(bytes);
}

bool Console::take(ConsoleClient& client) {
  if (holder_ == nullptr) {
    holder_ = &client;
    refused_.erase(&client);
  }
  return holder_ == &client;
}

void Console::set_dtr(ConsoleClient& client, bool on) {
  WIZ_ASSERT(holder_ == &client);
  dtr_of_ = on ? &client : nullptr;
  if (line_.dtr == on) return;
  line_.dtr = on;
  board_->set_dtr(on);
}

void Console::opened(ConsoleClient& client) {
  if (holder_ != nullptr && holder_ != &client) return;
  dtr_of_ = &client;
  if (line_.dtr) return;
  line_.dtr = true;
  board_->set_dtr(true);
}

void Console::closed(ConsoleClient& client) {
  refused_.erase(&client);
  drop_lines_of(client);
}

void Console::drop_lines_of(const ConsoleClient& client) {
  if (holder_ == &client) {
    holder_ = nullptr;
    line_.rts = false;
    line_.break_on = false;
  }
  if (dtr_of_ == &client) {
    dtr_of_ = nullptr;
    line_.dtr = false;
    board_->set_dtr(false);
  }
}

void Console::show(std::span<const std::uint8_t> bytes) {
  for (ConsoleClient* client : clients_) client->show(bytes);
}

void Console::show(std::string_view text) { show(as_bytes(text)); }

void Console::has_room() {
  if (holder_ != nullptr) holder_->go_on();
}

void Console::set_powered(bool on) {
  if (powered_ == on) return;
  powered_ = on;
  for (ConsoleClient* client : clients_) client->board_is(on);
}

bool Console::release() {
  if (holder_ == nullptr) return false;
  ConsoleClient& was = *holder_;
  drop_lines_of(was);
  was.drop_typed();  // or it would take the console back with that
  return true;
}

void Console::refuse(ConsoleClient& client, std::span<const std::uint8_t> bytes) {
  RefusedLine& line = refused_[&client];
  for (const std::uint8_t byte : bytes) {
    if (byte == '\r' || byte == '\n') {
      if (line.length > 0 && !line.told) tell_busy(client, line);
      line = {};
      continue;
    }
    if (line.start.size() < longest_start) line.start.push_back(static_cast<char>(byte));
    if (line.end.size() == checksum_length) line.end.erase(0, 1);
    line.end.push_back(static_cast<char>(byte));
    ++line.length;
    const bool is_request = !request_number(line.start).empty();
    if (!line.told && line.length >= (is_request ? longest_request : longest_line)) tell_busy(client, line);
  }
}

void Console::tell_busy(ConsoleClient& client, RefusedLine& line) const {
  const std::string_view number = request_number(line.start);
  std::string told = number.empty() ? "!" : std::string{number} + " err";
  told += " busy holder=";
  told += holder();
  if (!number.empty() && is_checksum(line.end)) add_checksum(told);
  told += "\r\n";
  line.told = true;
  client.show(as_bytes(told));
}

}  // namespace wizloop::gateway
