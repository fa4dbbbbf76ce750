#include "harness/board/talking_board.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace wizloop::board {

void TalkingBoard::run_until(Instant until) {
  while (now() < until) run_once(std::min<Duration>(until - now(), 1s));
}

std::optional<std::string> TalkingBoard::run_until_line(Duration within) {
  const Instant deadline = now() + within;
  while (lines_.empty() && now() < deadline) run_once(std::min<Duration>(deadline - now(), 1ms));
  if (lines_.empty()) return std::nullopt;
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

std::optional<std::string> TalkingBoard::ask(std::string_view request, Duration within) {
  const std::string mark = fmt::format("#{} ", ++sequence_);
  type(fmt::format("{}{}\n", mark, request));
  const Instant deadline = now() + within;
  while (now() < deadline) {
    std::optional<std::string> line = run_until_line(deadline - now());
    if (!line) break;
    if (line->starts_with(mark)) return line->substr(mark.size());
    heard_.push_back(std::move(*line));
  }
  return std::nullopt;
}

void TalkingBoard::on_output(Bytes bytes) {
  for (const std::uint8_t byte : bytes) {
    if (byte == '\n') {
      lines_.push_back(std::move(partial_));
      partial_.clear();
    } else if (byte != '\r') {
      partial_.push_back(static_cast<char>(byte));
    }
  }
}

}  // namespace wizloop::board
