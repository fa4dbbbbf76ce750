// The C++ front and the RTL side by side, in front of one chip. Every byte, strobe, address and access is compared, and
// the virtual time of each byte's effect to within one SCLK period (of bytes that are out of step with the host's,
// after a clock too many or too few, to within a byte). The chip belongs to the C++ front; what RTL would do to it is
// held against what that front has just done, and RTL is given the values that it has fetched.
//
//   rtl::LockStep fronts{queue, chip.behind_front(), {.waveform = "mismatch.fst"}};
//   chip.set_front(fronts);
//   ...
//   fronts.difference()   // "at 0.000001300000 s, byte 1 of the frame 00: bit 0 of MISO is 1 in C++ and 0 in RTL"
//
// The first mismatch ends the comparison. The bus goes on for 50 us, so that the waveform shows what comes after it;
// then FrontsDiffer is thrown out of whatever uses the bus.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/rtl/verilated_front.hpp"

namespace wizloop::rtl {

struct LockStepOptions {
  std::filesystem::path waveform{};  // of the 100 us around a mismatch; empty: none
  std::optional<Straps> straps{};    // of RTL that differs on purpose
};

class LockStep final : public chip::PinFront {
 public:
  static constexpr Duration before = 50us, after = 50us;  // a mismatch, in its waveform

  LockStep(const EventQueue& queue, chip::Chip::BehindFront behind, LockStepOptions options = {});

  void set_timing(const chip::PinTiming& timing) override { rtl_.set_timing(timing); }
  void select() override;
  void deselect() override;
  std::uint8_t exchange(std::uint8_t mosi) override;
  std::uint8_t next_miso() const override { return reference_.next_miso(); }
  std::size_t quiet_bytes() const override { return 0; }
  void exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) override;

  void let_select_go() override;
  void set_held_in_reset(bool held) override;
  chip::FrameLog& frame_log() override { return reference_.frame_log(); }

  void begin_byte() override { rtl_.begin_byte(); }
  bool clock_bit(int bit, bool mosi) override;
  void repeat_edge() override;
  bool miss_bit(int bit) override;
  void end_byte() override { rtl_.end_byte(); }
  chip::PinLimits broken_limits() const override { return rtl_.broken_limits(); }

  std::string difference() const override { return difference_; }
  std::optional<Error> close() override;

  const VerilatedFront& rtl() const { return rtl_; }
  std::uint64_t bytes_compared() const { return bytes_compared_; }

 private:
  // What a front does to the chip behind it.
  struct Access {
    enum class Kind : std::uint8_t {
      fetch,
      write,
      read,
      ring,
      select,
      data_begins,
      data_ends,
      deselect,
      ignored,
    };
    Kind kind;
    chip::Block block{};
    std::uint16_t offset = 0;
    std::uint16_t next = 0;
    std::uint8_t value = 0;
    bool is_write = false;
    std::size_t count = 0, data_bytes = 0;

    bool operator==(const Access& other) const;
    std::string text() const;
  };

  // The chip, as the C++ front sees it: what that does is noted down.
  class Tap final : public chip::BlockAccess {
   public:
    Tap(chip::BlockAccess& chip, LockStep& fronts) : chip_{chip}, fronts_{fronts} {}
    std::uint8_t fetch_register(chip::Block block, std::uint16_t offset) override;
    void write_register(chip::Block block, std::uint16_t offset, std::uint8_t value) override;
    std::uint8_t read_register(chip::Block block, std::uint16_t offset, std::uint8_t value,
                               std::uint16_t next) override;
    chip::Ring& ring(chip::Block block) override;
    void note_select() override;
    void note_data_begins(chip::Block block, std::uint16_t offset, bool is_write) override;
    void note_data_ends(std::size_t bytes) override;
    void note_deselect(std::size_t header_bytes, std::size_t data_bytes) override;
    void note_ignored() override;

   private:
    chip::BlockAccess& chip_;
    LockStep& fronts_;
  };

  // The chip as RTL sees it: it has to do what the C++ front has done.
  class Shadow final : public chip::BlockAccess {
   public:
    explicit Shadow(LockStep& fronts) : fronts_{fronts} {}
    std::uint8_t fetch_register(chip::Block block, std::uint16_t offset) override;
    void write_register(chip::Block block, std::uint16_t offset, std::uint8_t value) override;
    std::uint8_t read_register(chip::Block block, std::uint16_t offset, std::uint8_t value,
                               std::uint16_t next) override;
    chip::Ring& ring(chip::Block block) override;
    void note_select() override;
    void note_data_begins(chip::Block block, std::uint16_t offset, bool is_write) override;
    void note_data_ends(std::size_t bytes) override;
    void note_deselect(std::size_t header_bytes, std::size_t data_bytes) override;
    void note_ignored() override;

   private:
    LockStep& fronts_;
  };

  void begin_call();
  void end_call();
  // Returns what the C++ front has got for it.
  std::uint8_t expect(const Access& access);
  void clock_reference(bool mosi);
  bool reference_miso() const;
  void note_byte(std::uint8_t mosi);
  void compare_byte();
  void compare_drive();
  void differ(std::string what);

  const EventQueue& queue_;
  LockStepOptions options_;
  Tap tap_;
  Shadow shadow_;
  chip::Quirks rtl_quirks_;  // RTL asks no questions in the chip's name
  chip::SpiFront reference_;
  VerilatedFront rtl_;

  std::vector<Access> done_;  // by the C++ front in this call
  std::size_t seen_ = 0;      // how many of them RTL has done too
  chip::Ring* ring_ = nullptr;
  chip::Ring no_ring_;

  bool selected_ = false;
  bool held_in_reset_ = false;
  std::optional<std::uint16_t> taken_address_;  // where the C++ front has the byte that is compared; none: in no data
  std::uint8_t shift_ = 0;                      // the C++ front's byte, bit by bit
  int bits_in_ = 0;
  bool in_step_ = true;              // the byte ends where one of the host's does
  VerilatedFront::Strobes strobes_;  // that are due
  std::array<std::uint8_t, 8> frame_{};
  std::size_t frame_bytes_ = 0;

  std::string difference_;
  Instant differs_since_ = Instant::max();
  bool closed_ = false;
  std::uint64_t bytes_compared_ = 0;
};

}  // namespace wizloop::rtl
