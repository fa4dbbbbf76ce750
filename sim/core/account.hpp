// The time budget: each picosecond of a run belongs to exactly one account, so the accounts add up to the run.
//
// Time is charged first to what the board physically did (clocking SPI, computing ...). A poll loop, however, is not
// work: once the bus knows that a stretch of frames only asked "not yet?", that stretch moves to what was being waited
// for. Until then charges stay pending; settle() books them as work, settle_wait() books a stretch of them as waiting.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/assert.hpp"
#include "sim/core/time.hpp"

namespace wizloop {

enum class Account : std::uint8_t {
  spi_clock,  // SCLK running
  byte_gap,   // between bytes of a transfer: loops, function calls, FIFO refills
  select,     // SCSn edges and the bus transaction around a frame
  dma_setup,  // DMA or burst set-up, and completion until firmware goes on
  cpu,        // firmware computing outside transfers
  chip,       // waiting for the W5500
  wire,       // waiting for a frame on the cable
  peer,       // waiting for the remote host
  idle,       // firmware sleeps of its own accord
};
inline constexpr std::size_t account_count = 9;

inline constexpr std::array<std::string_view, account_count> account_names = {
    "spi_clock", "byte_gap", "select", "dma_setup", "cpu", "chip", "wire", "peer", "idle"};

constexpr std::string_view name_of(Account account) { return account_names[static_cast<std::size_t>(account)]; }

// One duration per account, indexed by Account.
struct AccountTotals {
  std::array<Duration, account_count> of{};

  Duration& operator[](Account account) { return of[static_cast<std::size_t>(account)]; }
  Duration operator[](Account account) const { return of[static_cast<std::size_t>(account)]; }

  Duration sum() const {
    Duration total{};
    for (const Duration duration : of) total += duration;
    return total;
  }
  AccountTotals operator-(const AccountTotals& earlier) const {
    AccountTotals difference;
    for (std::size_t i = 0; i < account_count; ++i) difference.of[i] = of[i] - earlier.of[i];
    return difference;
  }
};

class Budget {
 public:
  // A point in the pending charges; valid until the next settle. The bus takes one per frame: it is kept short.
  struct Mark {
    AccountTotals charged;
    // What was charged while chip, wire or peer was awaited. The one that is awaited now has all of `charged` to come.
    std::array<Duration, 3> awaiting{};
    Account awaited = Account::peer;

    Duration charged_awaiting(std::size_t row) const {
      return awaiting[row] + (row == row_of(awaited) ? charged.sum() : Duration{});
    }
  };

  // What firmware would be waiting for from now on, if it turned out to be waiting: chip, wire or peer.
  void set_awaited(Account awaited) {
    if (awaited == pending_.awaited) return;
    WIZ_ASSERT(awaited >= Account::chip && awaited <= Account::peer);
    const Duration charged = pending_.charged.sum();
    pending_.awaiting[row_of(pending_.awaited)] += charged;
    pending_.awaiting[row_of(awaited)] -= charged;
    pending_.awaited = awaited;
  }
  Account awaited() const { return pending_.awaited; }

  void charge(Account account, Duration duration) { pending_.charged[account] += duration; }

  // Firmware sleeps until something happens: waiting by definition.
  void charge_wait(Duration duration) { charge(pending_.awaited, duration); }

  const Mark& mark() const { return pending_; }

  // Books everything pending as what it physically was.
  void settle() {
    for (std::size_t i = 0; i < account_count; ++i) totals_.of[i] += pending_.charged.of[i];
    pending_.charged = {};
    pending_.awaiting = {};
  }

  // The same, but what lies between the marks is booked as waiting.
  void settle_wait(const Mark& from, const Mark& to) {
    for (std::size_t i = 0; i < account_count; ++i) totals_.of[i] -= to.charged.of[i] - from.charged.of[i];
    for (std::size_t row = 0; row < pending_.awaiting.size(); ++row) {
      totals_.of[static_cast<std::size_t>(Account::chip) + row] +=
          to.charged_awaiting(row) - from.charged_awaiting(row);
    }
    settle();
  }

  // All that has been settled so far.
  const AccountTotals& totals() const { return totals_; }

 private:
  static std::size_t row_of(Account awaited) {
    return static_cast<std::size_t>(awaited) - static_cast<std::size_t>(Account::chip);
  }

  Mark pending_;
  AccountTotals totals_;
};

}  // namespace wizloop
