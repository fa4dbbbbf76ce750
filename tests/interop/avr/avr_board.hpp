// An AVR with the agent's image in its flash, as instructions, on simavr: 16 MHz, its SPI at the W5500 of a testbed at
// 8 MHz, its UART 0 at 1 Mbaud as the console. (simavr's own SPI takes 100 us for each byte.)
//
//   AvrBoard board{mega, "build/agent-atmega2560.elf", std::move(setup)};
//   board.boot();
//   board.ask("stats", 1s);               // "ok uptime_us=... stack_free_bytes=..."
//   board.deepest_stack_bytes();
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>

#include "harness/board/sim_board.hpp"
#include "harness/board/talking_board.hpp"

extern "C" {
struct avr_t;
struct avr_irq_t;
struct avr_spi_t;
}

namespace wizloop::test {

struct AvrPart {
  const char* name;  // as simavr and build.sh know it
  int scsn_pin;      // of port B
  char intn_port;
  int intn_pin;
  std::uint16_t ram_start;  // the datasheet's first address of the internal SRAM
  std::uint16_t ram_bytes;
};
inline constexpr AvrPart atmega2560{"atmega2560", 4, 'E', 4, 0x200, 8192};
inline constexpr AvrPart atmega328p{"atmega328p", 2, 'D', 2, 0x100, 2048};

class AvrBoard : public board::TalkingBoard {
 public:
  enum class Chip { there, missing };  // missing: nothing drives MISO, which reads as ones

  // Of the setup only what concerns the testbed, whose prices are the part's own.
  AvrBoard(const AvrPart& part, const std::filesystem::path& image, board::BoardSetup setup, Chip chip = Chip::there);
  AvrBoard(const AvrBoard&) = delete;
  AvrBoard& operator=(const AvrBoard&) = delete;
  ~AvrBoard() override;

  testbed::Testbed& testbed() override { return *testbed_; }
  void boot() override {}
  void type(std::string_view text) override;
  void run_once(Duration at_most) override;

  const AvrPart& part() const { return part_; }
  // As far as SP went, interrupts and all.
  std::uint16_t deepest_stack_bytes() const;
  // What the linker placed at the bottom of the RAM.
  std::uint16_t static_ram_bytes() const { return static_ram_bytes_; }

 private:
  void load(const std::filesystem::path& image);
  void connect();
  void catch_up();
  void select(bool selected);
  void exchange(std::uint8_t mosi);
  std::uint64_t on_typed(std::uint64_t at);
  std::uint16_t stack_pointer() const;

  const AvrPart& part_;
  bool has_chip_;
  std::unique_ptr<testbed::Testbed> testbed_;
  avr_t* avr_ = nullptr;
  avr_spi_t* spi_ = nullptr;
  avr_irq_t* receives_ = nullptr;
  avr_irq_t* intn_ = nullptr;
  bool intn_low_ = false;
  bool selected_ = false;
  std::uint8_t miso_ = 0;
  std::deque<std::uint8_t> typed_;
  bool typing_ = false;
  std::uint16_t static_ram_bytes_ = 0;
  std::uint16_t lowest_sp_ = UINT16_MAX;
};

}  // namespace wizloop::test
