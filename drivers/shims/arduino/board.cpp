#include "board.hpp"

#include <cmath>
#include <exception>

#include "Arduino.h"

namespace wizloop_arduino {
namespace {

// Estimates, in cycles of the board's CPU, where its file has no table [arduino].
constexpr double pin_cycles = 40;           // look the pin up, then one port access
constexpr double clock_cycles = 20;         // read a counter and scale it: the same as the scenarios pay
constexpr double free_board_cpu_hz = 16e6;  // a board without a file
constexpr double least_loop_ns = 1000;      // a round of loop() takes time, or an empty one would never end
constexpr std::uint64_t ps_per_ns = 1000;
constexpr int looks_of_a_wait = 100;
constexpr std::uint64_t ns_per_look_of_a_wait = 1000;
constexpr std::uint64_t several_chips_step_ns = 1'000'000;  // how far their times may drift apart in a delay

std::uint64_t to_ns(double ns) { return static_cast<std::uint64_t>(std::llround(ns)); }

}  // namespace

Board& Board::it() {
  static Board board;
  return board;
}

[[noreturn]] void end_sketch(int result) { throw SketchEnds{result, false}; }

int Board::attach(wizloop_t* bed, int scsn, int rstn, int intn) {
  const bool first = chips_.empty();
  chips_.push_back({bed, scsn, rstn, intn});
  only_ = first ? chips_.data() : nullptr;
  if (first) boot_ps_ = wizloop_now_ps(bed);
  read_prices();
  return wizloop_scsn(bed, 1);
}

void Board::detach() {
  for (const Chip& chip : chips_) wizloop_on_intn(chip.bed, nullptr, nullptr);
  *this = Board{};
}

void Board::read_prices() {
  Prices& prices = prices_;
  wizloop_t* const bed = chips_.front().bed;
  const auto price = [bed](const char* key, double otherwise) {
    double value = 0;
    return wizloop_price(bed, key, &value) == 1 ? value : otherwise;
  };
  const double cpu_hz = price("cpu_hz", free_board_cpu_hz);
  const double cycle_ns = 1e9 / cpu_hz;
  prices.cpu_hz = static_cast<std::uint32_t>(cpu_hz);
  const double pin_ns = price("arduino.digital_write_ns", -1);
  prices.digital_write_ns = to_ns(pin_ns < 0 ? pin_cycles * cycle_ns : pin_ns);
  prices.begin_transaction_ns = to_ns(price("arduino.begin_transaction_ns", 0));
  prices.end_transaction_ns = to_ns(price("arduino.end_transaction_ns", 0));
  prices.millis_ns = to_ns(price("arduino.millis_ns", clock_cycles * cycle_ns));
  prices.loop_ns = to_ns(std::max(price("call_cpu_ns", 0), least_loop_ns));
  if (pin_ns >= 0) {
    for (const Chip& chip : chips_) wizloop_scsn_price(chip.bed, to_ns(pin_ns * 1000), to_ns(pin_ns * 1000));
  }
}

// Time ---------------------------------------------------------------------------------------------------------------

std::uint64_t Board::now_ps() const { return chips_.empty() ? 0 : wizloop_now_ps(chips_.front().bed); }

// Brings the chips that are behind to the time of the one that is ahead.
void Board::level_up() {
  if (chips_.size() < 2) return;
  std::uint64_t latest = 0;
  for (const Chip& chip : chips_) latest = std::max(latest, wizloop_now_ps(chip.bed));
  for (const Chip& chip : chips_) {
    const std::uint64_t now = wizloop_now_ps(chip.bed);
    if (now < latest) wizloop_advance_ns(chip.bed, (latest - now) / ps_per_ns);
  }
}

// Where time is over a sketch ends as loop() returns: before that a destructor may be on the stack, which must not
// throw. A call that goes on for half as long again is ended wherever it is.
std::uint64_t Board::hard_end_ps() const {
  return ends_at_ps_ == UINT64_MAX ? UINT64_MAX : ends_at_ps_ + (ends_at_ps_ - boot_ps_) / 2;
}

void Board::end_if_over() {
  seen_ps_ = now_ps();
  if (seen_ps_ >= hard_end_ps()) end_now();
}

void Board::pay_loop() {
  spend(prices_.loop_ns);
  if (now_ps() >= ends_at_ps_) end_now();
}

void Board::end_now() {
  if (std::uncaught_exceptions() != 0) return;
  never_end();
  throw SketchEnds{0, true};
}

// Firmware that looks at the clock again and again is waiting. From then on it looks once a microsecond, so that a
// second of it does not cost this computer as much.
std::uint64_t Board::read_clock() {
  spend(++looks_ > looks_of_a_wait ? std::max(prices_.millis_ns, ns_per_look_of_a_wait) : prices_.millis_ns);
  return (seen_ps_ - boot_ps_) / ps_per_ns;
}

void Board::sleep(std::uint64_t ns) {
  looks_ = 0;
  if (chips_.empty()) return;
  if (ends_at_ps_ != UINT64_MAX) {
    const std::uint64_t left = (std::max(hard_end_ps(), now_ps()) - now_ps()) / ps_per_ns + 1;
    ns = std::min(ns, left);
  }
  while (ns > 0) {
    const std::uint64_t step = chips_.size() > 1 ? std::min(ns, several_chips_step_ns) : ns;
    wizloop_advance_ns(chips_.front().bed, step);
    level_up();
    ns -= step;
  }
  serve_interrupts();
  end_if_over();
}

void Board::spend(std::uint64_t ns) {
  if (chips_.empty()) return;
  wizloop_spend_ns(chips_.front().bed, ns);
  level_up();
  serve_interrupts();
  end_if_over();
}

// Pins ---------------------------------------------------------------------------------------------------------------

// A pin that is no output is pulled up: SCSn and RSTn have resistors on every module.
int Board::output_of(const Pin& pin) const { return pin.mode == OUTPUT ? pin.latch : HIGH; }

void Board::set_mode(int number, int mode) {
  Pin* const at = pin(number);
  if (at == nullptr) return;
  at->mode = mode;
  set_output(number);
}

void Board::write(int number, int level) {
  Pin* const at = pin(number);
  if (at == nullptr) return;
  looks_ = 0;
  const int before = output_of(*at);
  at->latch = level != LOW ? HIGH : LOW;
  bool is_scsn = false;
  for (const Chip& chip : chips_) is_scsn = is_scsn || chip.scsn == number;
  // The price of an edge of SCSn is the chip's business: it is part of the frame.
  if (!is_scsn || before == output_of(*at)) spend(prices_.digital_write_ns);
  set_output(number);
  if (is_scsn && !any_selected()) {
    serve_interrupts();
    end_if_over();
  }
}

void Board::set_output(int number) {
  const bool high = output_of(*pin(number)) == HIGH;
  if (number == other_pin_) {
    for (const Chip& chip : chips_) wizloop_other_select(chip.bed, high ? 0 : 1);
  }
  for (Chip& chip : chips_) {
    if (chip.scsn == number && chip.selected == high) set_selected(chip, !high);
    if (chip.rstn == number) wizloop_rstn(chip.bed, high ? 1 : 0);
  }
}

void Board::set_selected(Chip& chip, bool selected) {
  level_up();
  chip.selected = selected;
  for (const Chip& other : chips_) {
    if (other.bed != chip.bed) wizloop_other_select(other.bed, selected ? 1 : 0);
  }
  wizloop_scsn(chip.bed, selected ? 0 : 1);
  level_up();
}

bool Board::any_selected() const {
  for (const Chip& chip : chips_) {
    if (chip.selected) return true;
  }
  return false;
}

int Board::level_at(int number) {
  const Pin& at = *pin(number);
  for (const Chip& chip : chips_) {
    if (chip.intn == number) return wizloop_intn(chip.bed) != 0 ? HIGH : LOW;
  }
  if (at.mode == OUTPUT) return at.latch;
  if (at.driven >= 0) return at.driven;
  return at.mode == INPUT_PULLUP ? HIGH : LOW;
}

int Board::read(int number) {
  if (pin(number) == nullptr) return LOW;
  looks_ = 0;
  spend(prices_.digital_write_ns);
  return level_at(number);
}

void Board::drive(int number, int level) {
  Pin* const at = pin(number);
  if (at == nullptr) return;
  const int before = level_at(number);
  at->driven = level != LOW ? HIGH : LOW;
  if (level_at(number) != before) edge(number, at->driven);
}

// Interrupts ---------------------------------------------------------------------------------------------------------

void Board::attach_interrupt(int number, void (*handler)(), int mode) {
  Pin* const at = pin(number);
  if (at == nullptr) return;
  handlers_ += (handler != nullptr) - (at->handler != nullptr);
  at->handler = handler;
  at->trigger = mode;
  at->pending = false;
  for (const Chip& chip : chips_) {
    if (chip.intn == number) wizloop_on_intn(chip.bed, handler != nullptr ? on_intn : nullptr, at);
  }
  serve_interrupts();
}

void Board::detach_interrupt(int number) { attach_interrupt(number, nullptr, LOW); }

void Board::on_intn(void* intn_pin, int level) {
  Board& board = it();
  board.edge(static_cast<int>(static_cast<Pin*>(intn_pin) - board.pins_.data()), level);
}

void Board::edge(int number, int level) {
  Pin& at = *pin(number);
  if (at.handler == nullptr) return;
  if (at.trigger == CHANGE || at.trigger == (level == LOW ? FALLING : RISING)) at.pending = true;
  serve_interrupts();
}

void Board::enable_interrupts(bool enabled) {
  interrupts_enabled_ = enabled;
  serve_interrupts();
}

void Board::hold_in_transactions(int number, bool held) {
  if (Pin* const at = pin(number)) at->waits_for_transaction = held;
}

void Board::enter_transaction() {
  in_transaction_ = true;
  spend(prices_.begin_transaction_ns);
}

void Board::leave_transaction() {
  in_transaction_ = false;
  spend(prices_.end_transaction_ns);
}

// Runs the handlers that are due: those of an edge once for it, those of a level once at each call that gets here while
// it lasts. One at a time, as on a board whose interrupts do not nest.
void Board::serve_interrupts() {
  if (handlers_ == 0 || !interrupts_enabled_ || in_handler_ || any_selected()) return;
  for (std::size_t i = 0; i < pins_.size(); ++i) {
    Pin& at = pins_[i];
    if (at.handler == nullptr || (at.waits_for_transaction && in_transaction_)) continue;
    if (!at.pending && (at.trigger != LOW || level_at(static_cast<int>(i)) != LOW)) continue;
    at.pending = false;
    struct Handling {
      bool& in;
      explicit Handling(bool& flag) : in{flag} { in = true; }
      ~Handling() { in = false; }
    } const handling{in_handler_};
    at.handler();
  }
}

// SPI ----------------------------------------------------------------------------------------------------------------

void Board::set_spi_clock(std::uint32_t hz, int mode) {
  if (hz == spi_hz_ && mode == spi_mode_) return;
  spi_hz_ = hz;
  spi_mode_ = mode;
  for (const Chip& chip : chips_) wizloop_spi_clock(chip.bed, hz, mode);
}

// Every chip that is selected takes part; where two drive MISO, a low level wins. With none selected the bytes go past
// the first, which finds fault with that unless they are another device's.
std::uint8_t Board::exchange_among_several(std::uint8_t mosi) {
  std::uint8_t miso = 0xFF;
  bool taken = false;
  for (const Chip& chip : chips_) {
    if (!chip.selected) continue;
    miso = static_cast<std::uint8_t>(miso & wizloop_spi_byte(chip.bed, mosi));
    taken = true;
  }
  if (!taken && !chips_.empty()) wizloop_spi_byte(chips_.front().bed, mosi);
  return miso;
}

void Board::exchange(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  Chip* chosen = only_;
  for (Chip& chip : chips_) {
    if (chosen == nullptr && chip.selected) chosen = &chip;
  }
  if (chosen == nullptr && !chips_.empty()) chosen = chips_.data();
  if (chosen != nullptr) wizloop_spi_transfer(chosen->bed, mosi, miso, count);
}

}  // namespace wizloop_arduino
