// The board that a sketch sees: pins, prices and interrupts, over one chip or several. What is behind Arduino.h and
// SPI.h.
//
// What a call costs. With a table [arduino] in the board file: digital_write_ns for digitalWrite() and digitalRead(),
// begin_transaction_ns and end_transaction_ns, millis_ns for millis() and micros(); an edge of SCSn is a digitalWrite()
// like any other. Without it, select_ns and deselect_ns stand for all that surrounds a frame: the edges of SCSn cost
// them, transactions nothing, and the rest the estimates in board.cpp. loop() costs call_cpu_ns each time it is called,
// beside what it calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pins_arduino.h"
#include "wizloop_arduino.h"

namespace wizloop_arduino {

class Board {
 public:
  static Board& it();

  int attach(wizloop_t* bed, int scsn, int rstn, int intn);
  void set_other_device(int pin) { other_pin_ = pin; }
  void detach();

  // Time. `end_after()` makes the first call that moves time beyond it end the sketch.
  std::uint64_t now_ps() const;
  // What firmware polls, as wizloop_polled() says it.
  const char* polled() const { return chips_.empty() ? "" : wizloop_polled(chips_.front().bed); }
  std::uint64_t since_boot_ns() const { return (now_ps() - boot_ps_) / 1000; }
  // What millis() costs; since_boot_ns() then.
  std::uint64_t read_clock();
  void sleep(std::uint64_t ns);
  void spend(std::uint64_t ns);
  void pay_loop();  // between two calls of loop(); ends the sketch when its time is over
  void end_after(std::uint64_t ns) { ends_at_ps_ = now_ps() + ns * 1000; }
  void never_end() { ends_at_ps_ = UINT64_MAX; }

  // Pins.
  void set_mode(int pin, int mode);
  void write(int pin, int level);
  int read(int pin);
  void drive(int pin, int level);

  // Interrupts.
  void attach_interrupt(int pin, void (*handler)(), int mode);
  void detach_interrupt(int pin);
  void enable_interrupts(bool enabled);
  void hold_in_transactions(int pin, bool held);
  void enter_transaction();
  void leave_transaction();

  // SPI.
  void set_spi_clock(std::uint32_t hz, int mode);
  std::uint32_t cpu_hz() const { return prices_.cpu_hz; }
  std::uint8_t exchange(std::uint8_t mosi) {
    if (only_ != nullptr) [[likely]]
      return static_cast<std::uint8_t>(wizloop_spi_byte(only_->bed, mosi));
    return exchange_among_several(mosi);
  }
  void exchange(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count);

 private:
  struct Chip {
    wizloop_t* bed;
    int scsn, rstn, intn;
    bool selected = false;
  };
  struct Pin {
    int mode = 0;
    int latch = 0;    // what was written
    int driven = -1;  // from outside; -1: by nobody
    void (*handler)() = nullptr;
    int trigger = 0;
    bool pending = false;
    bool waits_for_transaction = false;
  };
  struct Prices {
    std::uint32_t cpu_hz;
    std::uint64_t digital_write_ns, begin_transaction_ns, end_transaction_ns, millis_ns, loop_ns;
  };

  static void on_intn(void* intn_pin, int level);

  Pin* pin(int number) {
    return number >= 0 && number < NUM_DIGITAL_PINS ? &pins_[static_cast<std::size_t>(number)] : nullptr;
  }
  int level_at(int number);
  int output_of(const Pin& pin) const;
  void set_output(int number);
  void set_selected(Chip& chip, bool selected);
  bool any_selected() const;
  void edge(int number, int level);
  void serve_interrupts();
  void level_up();
  std::uint64_t hard_end_ps() const;
  void end_if_over();
  void end_now();
  void read_prices();
  std::uint8_t exchange_among_several(std::uint8_t mosi);

  std::vector<Chip> chips_;
  Chip* only_ = nullptr;  // of one
  std::array<Pin, NUM_DIGITAL_PINS> pins_{};
  Prices prices_{};
  int other_pin_ = WIZLOOP_ARDUINO_NO_PIN;
  std::uint64_t boot_ps_ = 0;
  std::uint64_t ends_at_ps_ = UINT64_MAX;
  std::uint32_t spi_hz_ = 0;
  int spi_mode_ = 0;
  bool has_transaction_prices_ = false;
  bool in_transaction_ = false;
  bool interrupts_enabled_ = true;
  bool in_handler_ = false;
  int handlers_ = 0;           // how many pins have one
  int looks_ = 0;              // at the clock, with nothing in between
  std::uint64_t seen_ps_ = 0;  // by the last look
};

// Leaves the sketch: its destructors run.
struct SketchEnds {
  int result;
  bool time_is_over;
};
[[noreturn]] void end_sketch(int result);

}  // namespace wizloop_arduino
