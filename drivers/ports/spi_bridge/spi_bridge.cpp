#include "drivers/ports/spi_bridge/spi_bridge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "sim/core/hex.hpp"

namespace wizloop::spi_bridge {
namespace {

using namespace std::chrono_literals;

constexpr std::uint8_t rwb_write = 0x04;
constexpr std::size_t header_bytes = 3;
// "#999999999 spi tx= timeout_ms=10000 *HHHH"
constexpr std::size_t around_tokens = 48;
constexpr std::size_t signs_of_a_token = 3;  // "+", "+" and ","
constexpr std::uint32_t longest_wait_us = 1'000'000;
constexpr auto patience = 5s;  // for an answer, beyond what the board is asked to wait

bool reads(Bytes frame) { return frame.size() >= header_bytes && (frame[header_bytes - 1] & rwb_write) == 0; }

}  // namespace

Result<std::unique_ptr<SpiBridge>> SpiBridge::attach(AgentChannel& channel) {
  auto greeting = channel.ask("hello", 2s, true);
  if (!greeting) return Error{fmt::format("no agent answers ({})", greeting.error().message), ErrorKind::machine};
  std::unique_ptr<SpiBridge> bridge{new SpiBridge{channel}};
  bridge->board_ = greeting.value().text("board");
  bridge->caps_ = greeting.value().text("caps");
  bridge->line_characters_ = greeting.value().number("line");
  if (greeting.value().text("chip") != "W5500") {
    return Error{
        fmt::format("board {} has no W5500: its chip is \"{}\"", bridge->board_, greeting.value().text("chip")),
        ErrorKind::machine};
  }
  if (bridge->line_characters_ < around_tokens + signs_of_a_token + 2) {
    return Error{fmt::format("board {} takes lines of {} characters, too short for SPI frames", bridge->board_,
                             bridge->line_characters_),
                 ErrorKind::machine};
  }
  return bridge;
}

bool SpiBridge::has(std::string_view capability) const {
  std::string_view rest = caps_;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    if (one == capability) return true;
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  return false;
}

void SpiBridge::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
  tokens_.clear();
  pieces_.clear();
}

std::size_t SpiBridge::room() const {
  const std::size_t most = line_characters_ - around_tokens - signs_of_a_token;
  return most > tokens_.size() ? (most - tokens_.size()) / 2 : 0;
}

void SpiBridge::add_token(Bytes mosi, std::uint8_t* miso, bool joins, bool holds) {
  if (!tokens_.empty()) tokens_ += ',';
  if (joins) tokens_ += '+';
  tokens_ += hex(mosi);
  if (holds) tokens_ += '+';
  pieces_.push_back({miso, mosi.size()});
  only_reads_ = only_reads_ && !joins && !holds && reads(mosi);
  select_low_ = holds;
  release_due_ = false;
  if (!holds) ++counters_.frames;
  counters_.bytes += mosi.size();
}

bool SpiBridge::send_line() {
  if (failure_) return false;
  if (tokens_.empty()) return true;
  const auto wait_ms = static_cast<unsigned>(waits_us_ / 1000 + 1);
  const std::string request = fmt::format("spi tx={} timeout_ms={}", tokens_, std::clamp(wait_ms, 100u, 10'000u));
  auto answer = channel_.ask(request, patience + std::chrono::milliseconds{wait_ms}, only_reads_);
  tokens_.clear();
  only_reads_ = true;
  waits_us_ = 0;
  if (!answer) {
    fail(answer.error());
    return false;
  }
  ++counters_.lines;
  counters_.board_us += answer.value().number("us");
  std::string_view rx = answer.value().text("rx");
  for (const Piece& piece : pieces_) {
    const std::string_view digits = rx.substr(0, rx.find(','));
    rx.remove_prefix(std::min(digits.size() + 1, rx.size()));
    const auto bytes = unhex(digits);
    if (!bytes || bytes->size() != piece.count) {
      fail({fmt::format("board {} answered spi with \"{}\" where {} bytes were expected", board_, digits, piece.count),
            ErrorKind::machine});
      return false;
    }
    if (piece.miso != nullptr) std::ranges::copy(*bytes, piece.miso);
  }
  pieces_.clear();
  return true;
}

bool SpiBridge::exchange(Bytes mosi, MutableBytes miso, bool joins, bool holds) {
  for (std::size_t done = 0; done < mosi.size();) {
    if (room() == 0 && !send_line()) return false;
    const std::size_t count = std::min(room(), mosi.size() - done);
    const bool last = done + count == mosi.size();
    add_token(mosi.subspan(done, count), miso.empty() ? nullptr : &miso[done], joins || done > 0, holds || !last);
    done += count;
    if (!last && !send_line()) return false;
  }
  return send_line();
}

bool SpiBridge::post(Bytes mosi) {
  if (failure_) return false;
  if (mosi.size() > room() && !send_line()) return false;
  if (mosi.size() > room()) return exchange(mosi, {}, false, false);
  add_token(mosi, nullptr, false, false);
  return true;
}

bool SpiBridge::flush() { return send_line(); }

bool SpiBridge::wait(std::uint32_t us) {
  if (!settle_select()) return false;
  while (us > 0) {
    const std::uint32_t piece = std::min(us, longest_wait_us);
    tokens_ += fmt::format("{}w{}", tokens_.empty() ? "" : ",", piece);
    waits_us_ += piece;
    us -= piece;
    only_reads_ = false;
    if (!send_line()) return false;
  }
  return true;
}

std::optional<bool> SpiBridge::intn_low(std::uint32_t within_us) {
  if (!settle_select()) return std::nullopt;
  const std::uint32_t piece = std::min(within_us, longest_wait_us);
  auto answer = channel_.ask(fmt::format("spi tx=i{} timeout_ms=1100", piece), patience + 1s, true);
  if (!answer) {
    fail(answer.error());
    return std::nullopt;
  }
  counters_.board_us += answer.value().number("us");
  return answer.value().text("intn") == "0";
}

bool SpiBridge::set_reset_pin(bool high) {
  if (!has("rst") || !flush()) return false;
  const auto answer = channel_.ask(high ? "reset pin=high" : "reset pin=low", patience, true);
  if (!answer) fail(answer.error());
  select_low_ = release_due_ = false;
  return !failure_;
}

bool SpiBridge::settle_select() {
  if (!flush()) return false;
  if (!release_due_) return true;
  // Any verb but spi lets SCSn rise; this one only asks.
  const auto answer = channel_.ask("path", patience, true);
  if (!answer) fail(answer.error());
  select_low_ = release_due_ = false;
  return !failure_;
}

namespace {

std::array<std::uint8_t, header_bytes> header(std::uint8_t block, std::uint16_t offset, bool write) {
  return {static_cast<std::uint8_t>(offset >> 8), static_cast<std::uint8_t>(offset),
          static_cast<std::uint8_t>(block << 3 | (write ? rwb_write : 0))};
}

}  // namespace

bool BridgeBus::read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) {
  const auto head = header(block, offset, false);
  mosi_.assign(head.begin(), head.end());
  mosi_.resize(header_bytes + count);
  miso_.resize(mosi_.size());
  if (!bridge_.exchange(mosi_, miso_, false, false)) return false;
  std::copy(miso_.begin() + header_bytes, miso_.end(), data);
  return true;
}

bool BridgeBus::write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) {
  const auto head = header(block, offset, true);
  mosi_.assign(head.begin(), head.end());
  mosi_.insert(mosi_.end(), data, data + count);
  return bridge_.post(mosi_);
}

uint8_t BridgePort::exchange(uint8_t mosi) {
  uint8_t miso = 0;
  exchange(&mosi, &miso, 1);
  return miso;
}

void BridgePort::exchange(const uint8_t* mosi, uint8_t* miso, size_t count) {
  const std::vector<std::uint8_t> zeros(mosi == nullptr ? count : 0);
  const Bytes out{mosi != nullptr ? mosi : zeros.data(), count};
  const MutableBytes in = miso != nullptr ? MutableBytes{miso, count} : MutableBytes{};
  if (!bridge_.exchange(out, in, selected_, true) && miso != nullptr) std::fill_n(miso, count, std::uint8_t{0xFF});
  selected_ = true;
}

uint32_t BridgePort::now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace wizloop::spi_bridge
