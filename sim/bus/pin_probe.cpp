#include "sim/bus/pin_probe.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/limits.hpp"

namespace wizloop::bus {
namespace {

constexpr int bits_per_byte = 8;
// No edge is known later than this after it has happened: a byte takes less at the slowest SCLK.
constexpr Duration latest_news = 1ms;

bool idles_high(int spi_mode) { return (spi_mode & 2) != 0; }
bool changes_on_leading_edge(int spi_mode) { return (spi_mode & 1) != 0; }
bool bit_of(std::uint8_t byte, int bit) { return (byte >> (bits_per_byte - 1 - bit) & 1) != 0; }

}  // namespace

PinProbe::PinProbe(EventQueue& queue, chip::Chip& chip, chip::SpiTarget& target, std::unique_ptr<WaveFile> file,
                   WaveWindow window)
    : queue_{queue}, target_{target}, wave_{std::move(file), window}, drawn_{queue.now()} {
  if (!chip.intn()) add(queue_.now(), PinWave::INTn, false);
  chip.add_witness(*this);
}

void PinProbe::follow(const SpiBus& bus) {
  bus_ = &bus;
  add(queue_.now(), PinWave::SCLK, idles_high(bus.timing().mode));
}

void PinProbe::add(Instant at, PinWave::Pin pin, bool high, bool driven) {
  const Edge edge{std::max(at, drawn_), pin, high, driven};
  auto place = edges_.end();
  while (place != edges_.begin() && std::prev(place)->at > edge.at) --place;
  edges_.insert(place, edge);
}

void PinProbe::draw_until(Instant at) {
  auto edge = edges_.begin();
  for (; edge != edges_.end() && edge->at <= at; ++edge) {
    if (edge->driven) {
      wave_.set(edge->at, edge->pin, edge->high);
    } else {
      wave_.release_miso(edge->at);
    }
  }
  edges_.erase(edges_.begin(), edge);
  drawn_ = std::max(drawn_, at);
}

void PinProbe::select() {
  if (interrupted_ != nullptr && *interrupted_) throw RunInterrupted{};
  const chip::PinTiming timing = bus_->timing();
  Instant falls = queue_.now();
  if (changes_on_leading_edge(timing.mode)) falls -= std::min<Duration>(limits::select_setup, timing.select);
  target_.select();
  selected_ = true;
  add(falls, PinWave::SCLK, idles_high(timing.mode));
  add(falls, PinWave::SCSn, false);
  add(falls, PinWave::MISO, bit_of(target_.next_miso(), 0));
  draw_until(queue_.now());
}

void PinProbe::end_select(Duration cost) {
  if (!selected_) return;
  selected_ = false;
  const Instant now = queue_.now();
  const Instant rises = std::clamp<Instant>(last_clock_ + limits::select_hold, now, now + cost);
  add(rises, PinWave::SCSn, true);
  add(rises, PinWave::MISO, false, /*driven=*/false);
}

void PinProbe::deselect() {
  target_.deselect();
  end_select(bus_->timing().deselect);
  draw_until(queue_.now());
}

std::uint8_t PinProbe::exchange(std::uint8_t mosi) {
  const chip::PinTiming timing = bus_->timing();
  const bool idle_high = idles_high(timing.mode);
  const int first_edge = changes_on_leading_edge(timing.mode) ? 0 : 1;
  const Frequency half_periods{2 * timing.sclk.hz()};
  const Instant end = queue_.now();
  const auto at = [&](int half_period) { return end - half_periods.periods(2 * bits_per_byte - half_period); };

  const std::uint8_t miso = target_.exchange(mosi);
  for (int bit = 0; bit < bits_per_byte; ++bit) {
    add(at(2 * bit), PinWave::MOSI, bit_of(mosi, bit));
    if (selected_) add(at(2 * bit), PinWave::MISO, bit_of(miso, bit));
    add(at(2 * bit + first_edge), PinWave::SCLK, !idle_high);
    add(at(2 * bit + first_edge + 1), PinWave::SCLK, idle_high);
  }
  if (selected_ && first_edge == 1) add(end, PinWave::MISO, bit_of(target_.next_miso(), 0));
  last_clock_ = at(2 * (bits_per_byte - 1) + first_edge + 1);
  draw_until(end);
  if (selected_) wave_.on_byte(end, mosi, miso);
  return miso;
}

void PinProbe::exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t in = exchange(mosi != nullptr ? mosi[i] : std::uint8_t{0});
    if (miso != nullptr) miso[i] = in;
  }
}

void PinProbe::on_select_let_go() { end_select(Duration{}); }

void PinProbe::on_intn(bool high) {
  add(queue_.now(), PinWave::INTn, high);
  draw_until(queue_.now() - latest_news);
}

std::optional<Error> PinProbe::close() {
  const Instant end = edges_.empty() ? queue_.now() : std::max(queue_.now(), edges_.back().at);
  draw_until(end);
  return wave_.close(end);
}

}  // namespace wizloop::bus
