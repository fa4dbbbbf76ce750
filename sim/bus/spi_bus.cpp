#include "sim/bus/spi_bus.hpp"

#include <algorithm>

namespace wizloop::bus {
namespace {

constexpr std::int64_t bits_per_byte = 8;

}  // namespace

SpiBus::SpiBus(EventQueue& queue, Budget& budget, chip::SpiTarget& target, const BoardProfile& profile,
               Findings& findings, const AwaitedSource& world)
    : queue_{queue},
      budget_{budget},
      target_{target},
      profile_{profile},
      world_{world},
      watch_{budget},
      judge_{queue, findings, profile, target.is_chip()},
      sclk_{profile.sclk},
      spi_mode_{profile.spi_mode},
      select_cost_{profile.select},
      deselect_cost_{profile.deselect},
      byte_steps_{profile.sclk, bits_per_byte} {}

void SpiBus::select() {
  check_watchdog();
  note_awaited();
  watch_.on_frame_start();
  pass(select_cost_, Account::select);
  judge_.on_select();
  hold_ = profile_.byte.gap;
  target_.select();
  ++frames_;
}

void SpiBus::deselect() {
  target_.deselect();
  judge_.on_deselect(watch_, hold_);
  pass(deselect_cost_, Account::select);
  on_frame_end();
}

void SpiBus::on_frame_end() {
  if (judged_pins_ != nullptr) [[unlikely]]
    judge_.on_broken_limits(judged_pins_->broken_limits());
  watch_.on_frame_end();
  if (!watch_.in_loop()) not_in_loop_at_ = queue_.now();
}

void SpiBus::pass_boundary() {
  if (!watch_.in_frame()) return judge_.on_clocks_outside_frame();
  if (watch_.at_header_end()) return watch_.on_header_end();
  judge_.on_fixed_length_end(watch_.frame());
  on_frame_end();
  check_watchdog();
  if (polled_for() > longest_poll_) throw FirmwareHangs{};
  note_awaited();
  watch_.on_frame_start();
}

void SpiBus::set_clock(Frequency sclk, int spi_mode) {
  byte_steps_ = PeriodSteps{sclk, bits_per_byte};
  judge_.set_clock(sclk, spi_mode);
  sclk_ = sclk;
  spi_mode_ = spi_mode;
  tell_timing();
}

void SpiBus::set_select_cost(Duration select, Duration deselect) {
  select_cost_ = select;
  deselect_cost_ = deselect;
  judge_.set_select_cost(select, deselect);
  tell_timing();
}

void SpiBus::tell_timing() {
  if (pins_ != nullptr) pins_->set_timing(timing());
}

std::uint8_t SpiBus::exchange(std::uint8_t mosi) {
  const Duration gap = profile_.byte.gap;
  if (watch_.at_boundary()) [[unlikely]]
    pass_boundary();
  pass(byte_steps_.next(), Account::spi_clock);
  const std::uint8_t miso = target_.exchange(mosi);
  pass(gap, Account::byte_gap);
  watch_.on_byte(mosi, miso);
  ++bytes_;
  return miso;
}

void SpiBus::exchange(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  if (!profile_.burst) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t in = exchange(mosi != nullptr ? mosi[i] : std::uint8_t{0});
      if (miso != nullptr) miso[i] = in;
    }
    return;
  }
  pass(profile_.burst->setup, Account::dma_setup);
  move_bytes(mosi, miso, count, profile_.burst->gap, Instant::max(), std::nullopt);
  hold_ = profile_.burst->gap;
}

std::size_t SpiBus::move_bytes(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count, Duration gap,
                               Instant limit, std::optional<Account> instead) {
  if (!watch_.in_frame()) judge_.on_clocks_outside_frame();
  // Nothing but buffer memory moves between two events, so all bytes that end before the next one go at once.
  const Duration longest_byte = byte_steps_.shortest() + picoseconds(1) + gap;
  std::size_t done = 0;
  while (done < count) {
    if (watch_.at_boundary() && watch_.in_frame()) [[unlikely]]
      pass_boundary();
    const Instant horizon = std::min(limit, queue_.quiet_until());
    const std::size_t quiet = std::min(count - done, target_.quiet_bytes());
    std::size_t together = 0;
    if (horizon > queue_.now()) {
      const auto fit = static_cast<std::size_t>((horizon - queue_.now()) / longest_byte);
      together = std::min(quiet, fit);
    }
    if (together > 1) {
      target_.exchange_quiet(mosi != nullptr ? mosi + done : nullptr, miso != nullptr ? miso + done : nullptr,
                             together);
      const auto steps = static_cast<std::int64_t>(together);
      const Duration clocks = byte_steps_.next(steps);
      queue_.advance_to(queue_.now() + clocks + gap * steps);
      charge(Account::spi_clock, clocks, instead);
      charge(Account::byte_gap, gap * steps, instead);
      watch_.on_quiet_bytes(together);
      bytes_ += together;
      done += together;
      continue;
    }
    if (queue_.now() + longest_byte > limit) break;
    const Duration clocks = byte_steps_.next();
    queue_.advance_to(queue_.now() + clocks);
    charge(Account::spi_clock, clocks, instead);
    const std::uint8_t out = mosi != nullptr ? mosi[done] : std::uint8_t{0};
    const std::uint8_t in = target_.exchange(out);
    if (miso != nullptr) miso[done] = in;
    queue_.advance_to(queue_.now() + gap);
    charge(Account::byte_gap, gap, instead);
    watch_.on_byte(out, in);
    ++bytes_;
    ++done;
  }
  return done;
}

void SpiBus::inject(Faults& faults) {
  dma_late_ = faults.point(Fault::dma_late);
  dma_short_ = faults.point(Fault::dma_short);
  dma_never_ = faults.point(Fault::dma_never);
}

void SpiBus::start_dma(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  WIZ_ASSERT(profile_.dma.has_value());
  pass(profile_.dma->setup, Account::dma_setup);
  dma_ = Dma{mosi, miso, count};
  if (dma_late_ != nullptr && dma_late_->strikes()) dma_->late = dma_late_->time("delay");
  if (dma_short_ != nullptr && dma_short_->strikes()) {
    dma_->left -= std::min<std::size_t>(count, dma_short_->number("missing"));
  }
  if (dma_never_ != nullptr && dma_never_->strikes()) {
    dma_->left = std::min<std::size_t>(dma_->left, dma_never_->number("moved"));
    dma_->stalls = true;
  }
}

bool SpiBus::continue_dma(Instant limit, std::optional<Account> instead) {
  const std::size_t moved = move_bytes(dma_->mosi, dma_->miso, dma_->left, profile_.dma->gap, limit, instead);
  if (dma_->mosi != nullptr) dma_->mosi += moved;
  if (dma_->miso != nullptr) dma_->miso += moved;
  dma_->left -= moved;
  if (dma_->left == 0) dma_->moved_at = std::min(dma_->moved_at, queue_.now());
  return dma_->left == 0 && !dma_->stalls;
}

bool SpiBus::wait_dma(Duration timeout) {
  if (!dma_) return true;
  const Instant limit = queue_.now() + timeout;
  const bool moved = continue_dma(limit, std::nullopt);
  const Instant over = moved ? dma_->moved_at + dma_->late : limit + picoseconds(1);
  if (over > queue_.now()) pass(std::max(std::min(over, limit), queue_.now()) - queue_.now(), Account::dma_setup);
  if (over > limit) return false;
  dma_.reset();
  pass(profile_.dma->complete, Account::dma_setup);
  hold_ = profile_.dma->gap + profile_.dma->complete;
  return true;
}

void SpiBus::spend(Duration duration, Account account) {
  check_watchdog();
  const Instant until = queue_.now() + duration;
  if (dma_) continue_dma(until, account);
  if (until > queue_.now()) pass(until - queue_.now(), account);
}

void SpiBus::sleep_one_event(Instant deadline) {
  const Instant since = queue_.now();
  queue_.wait_for_events(deadline);
  budget_.charge_wait(queue_.now() - since);
}

}  // namespace wizloop::bus
