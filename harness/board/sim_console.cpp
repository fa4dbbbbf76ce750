#include "harness/board/sim_console.hpp"

#include <algorithm>

namespace wizloop::board {
namespace {

constexpr std::int64_t bits_per_byte = 10;  // start, eight data bits, stop

}  // namespace

SimConsole::SimConsole(EventQueue& queue, bus::SpiBus& bus, const UartSetup& setup)
    : queue_{queue}, bus_{bus}, setup_{setup}, byte_time_{Frequency{setup.baud}.periods(bits_per_byte)} {}

void SimConsole::type(Bytes bytes) {
  if (bytes.empty()) return;
  Instant at = std::max(queue_.now(), rx_busy_until_);
  // Firmware that sleeps looks up at the first byte; the others it finds by itself.
  events_.schedule_at(at + byte_time_, [] {});
  for (const std::uint8_t byte : bytes) {
    at += byte_time_;
    arriving_.push_back({at, byte});
  }
  rx_busy_until_ = at;
}

void SimConsole::type(std::string_view text) {
  type(Bytes{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Between two reads the FIFO only fills, so what has come can be sorted out at the next one.
void SimConsole::take_in() {
  while (!arriving_.empty() && arriving_.front().at <= queue_.now()) {
    ++counters_.received;
    if (rx_.size() < setup_.rx_fifo_bytes) {
      rx_.push_back(arriving_.front().byte);
    } else {
      ++counters_.lost;
      overrun_ = true;
    }
    arriving_.pop_front();
  }
}

bool SimConsole::has_input() {
  take_in();
  return !rx_.empty();
}

std::size_t SimConsole::read(std::uint8_t* data, std::size_t count) {
  take_in();
  const std::size_t taken = std::min(count, rx_.size());
  std::copy_n(rx_.begin(), taken, data);
  rx_.erase(rx_.begin(), rx_.begin() + static_cast<std::ptrdiff_t>(taken));
  return taken;
}

bool SimConsole::take_overrun() { return std::exchange(overrun_, false); }

void SimConsole::wait(std::uint32_t timeout_us) {
  const Instant deadline = queue_.now() + microseconds(timeout_us);
  while (!has_input() && queue_.now() < deadline) {
    const Instant next = arriving_.empty() ? deadline : std::min(deadline, arriving_.front().at);
    bus_.sleep_until(next, [this] { return has_input(); });
  }
}

void SimConsole::write(const std::uint8_t* data, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    const Instant now = queue_.now();
    tx_busy_until_ = std::max(tx_busy_until_, now);
    const auto waiting = static_cast<std::size_t>((tx_busy_until_ - now + byte_time_ - picoseconds(1)) / byte_time_);
    if (waiting >= setup_.tx_fifo_bytes) {
      const auto surplus = static_cast<std::int64_t>(waiting - setup_.tx_fifo_bytes + 1);
      bus_.spend(tx_busy_until_ - now - byte_time_ * (static_cast<std::int64_t>(waiting) - surplus), Account::idle);
      continue;
    }
    const std::size_t piece = std::min(count - done, setup_.tx_fifo_bytes - waiting);
    leaving_.insert(leaving_.end(), data + done, data + done + piece);
    tx_busy_until_ += byte_time_ * static_cast<std::int64_t>(piece);
    events_.schedule_at(tx_busy_until_, [this, piece, start = starts_] { deliver(piece, start); });
    done += piece;
  }
}

void SimConsole::reset() {
  ++starts_;
  arriving_.clear();
  rx_.clear();
  overrun_ = false;
  rx_busy_until_ = queue_.now();
  leaving_.clear();
  tx_busy_until_ = queue_.now();
}

void SimConsole::deliver(std::size_t count, std::uint32_t start) {
  if (start != starts_) return;
  counters_.sent += count;
  if (listener_) listener_(Bytes{leaving_.data(), count});
  leaving_.erase(leaving_.begin(), leaving_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace wizloop::board
