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
                   WaveWindow window, chip::SpiPins* pins)
    : queue_{queue}, target_{target}, pins_{pins}, wave_{std::move(file), window}, drawn_{queue.now()} {
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
  if (in_byte_) {
    falls = byte_.at(2 * bit_) + timing.sclk.periods(1) / 4;  // lost and back again within a byte
  } else if (changes_on_leading_edge(timing.mode)) {
    falls -= std::min<Duration>(limits::select_setup, timing.select);
  }
  target_.select();
  selected_ = true;
  bits_in_ = 0;
  if (!in_byte_) add(falls, PinWave::SCLK, idles_high(timing.mode));
  add(falls, PinWave::SCSn, false);
  add(falls, PinWave::MISO, miso_level());
  if (!in_byte_) draw_until(queue_.now());
}

void PinProbe::end_select(Duration cost) {
  if (!selected_) return;
  selected_ = false;
  bits_in_ = 0;
  const Instant now = queue_.now();
  const Instant rises =
      in_byte_ ? byte_.at(2 * bit_) : std::clamp<Instant>(last_clock_ + limits::select_hold, now, now + cost);
  add(rises, PinWave::SCSn, true);
  add(rises, PinWave::MISO, false, /*driven=*/false);
}

void PinProbe::deselect() {
  target_.deselect();
  end_select(bus_->timing().deselect);
  if (!in_byte_) draw_until(queue_.now());
}

Instant PinProbe::Byte::at(int half_period) const {
  return end - half_periods.periods(2 * bits_per_byte - half_period);
}

void PinProbe::note_byte() {
  const chip::PinTiming timing = bus_->timing();
  byte_ = {.end = queue_.now(),
           .half_periods = Frequency{2 * timing.sclk.hz()},
           .idle_high = idles_high(timing.mode),
           .first_edge = changes_on_leading_edge(timing.mode) ? 0 : 1};
}

void PinProbe::draw_bit(int bit, bool mosi, bool miso) {
  add(byte_.at(2 * bit), PinWave::MOSI, mosi);
  if (selected_) add(byte_.at(2 * bit), PinWave::MISO, miso);
}

void PinProbe::draw_edges(int bit) {
  const int first = 2 * bit + byte_.first_edge;
  add(byte_.at(first), PinWave::SCLK, !byte_.idle_high);
  add(byte_.at(first + 1), PinWave::SCLK, byte_.idle_high);
  last_clock_ = byte_.at(first + 1);
}

// What the next byte begins with is there where this one ends with the edge that moves it.
void PinProbe::draw_end() {
  if (selected_ && byte_.first_edge == 1) add(byte_.end, PinWave::MISO, miso_level());
  draw_until(byte_.end);
}

std::uint8_t PinProbe::exchange(std::uint8_t mosi) {
  note_byte();
  const std::uint8_t miso = target_.exchange(mosi);
  for (int bit = 0; bit < bits_per_byte; ++bit) {
    draw_bit(bit, bit_of(mosi, bit), bit_of(miso, bit));
    draw_edges(bit);
  }
  draw_end();
  if (selected_) wave_.on_byte(byte_.end, mosi, miso);
  return miso;
}

// Bit by bit ---------------------------------------------------------------------------------------------------------

// A front that takes whole bytes is given each when its last bit is in.
bool PinProbe::miso_level() const { return bit_of(target_.next_miso(), bits_in_); }

void PinProbe::begin_byte() {
  note_byte();
  in_byte_ = true;
  bit_ = 0;
  if (pins_ != nullptr) pins_->begin_byte();
}

bool PinProbe::clock_bit(int bit, bool mosi) {
  bit_ = bits_per_byte - 1 - bit;
  mosi_ = mosi;
  bool miso = selected_ && miso_level();
  if (pins_ != nullptr) miso = pins_->clock_bit(bit, mosi);
  draw_bit(bit_, mosi, miso);
  draw_edges(bit_);
  shift(mosi, miso);
  return miso;
}

// A spike of a quarter of the second half period.
void PinProbe::repeat_edge() {
  const bool miso = selected_ && miso_level();
  if (pins_ != nullptr) pins_->repeat_edge();
  const bool level = byte_.first_edge == 1 ? !byte_.idle_high : byte_.idle_high;
  const Instant edge = byte_.at(2 * bit_ + 1);
  const Duration spike = byte_.half_periods.periods(1) / 4;
  add(edge + spike, PinWave::SCLK, !level);
  add(edge + 2 * spike, PinWave::SCLK, level);
  shift(mosi_, miso);
}

bool PinProbe::miss_bit(int bit) {
  bit_ = bits_per_byte - 1 - bit;
  bool miso = selected_ && miso_level();
  if (pins_ != nullptr) miso = pins_->miss_bit(bit);
  if (selected_) add(byte_.at(2 * bit_), PinWave::MISO, miso);
  return miso;
}

void PinProbe::end_byte() {
  if (pins_ != nullptr) pins_->end_byte();
  in_byte_ = false;
  draw_end();
  for (const Passed& byte : passed_) wave_.on_byte(byte_.end, byte.mosi, byte.miso);
  passed_.clear();
}

void PinProbe::shift(bool mosi, bool miso) {
  if (!selected_) return;
  mosi_in_ = static_cast<std::uint8_t>(mosi_in_ << 1 | (mosi ? 1 : 0));
  miso_out_ = static_cast<std::uint8_t>(miso_out_ << 1 | (miso ? 1 : 0));
  if (++bits_in_ < bits_per_byte) return;
  bits_in_ = 0;
  if (pins_ == nullptr) target_.exchange(mosi_in_);
  passed_.push_back({mosi_in_, miso_out_});
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
