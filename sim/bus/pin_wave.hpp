// The pins of a W5500 as a waveform, and beside them what the bytes on them mean: block, offset and register of the
// byte that passes. Takes edges in the order of their instants, wherever they come from (pin_probe.hpp is one place).
//
//   PinWave pins{std::move(file).value(), WaveWindow{}};  // of a file with PinWave::signals
//   pins.set(now, PinWave::SCSn, false);
//   pins.set(now, PinWave::SCLK, true); ...
//   pins.on_byte(now, 0x00, 0x01);
//
// Below the scope "w5500" are SCSn, SCLK, MOSI, MISO, INTn and RSTn; below "w5500.bus" texts, "-" outside of data:
// `block` ("common", "S0", "S0.TX"), `offset` and `register` ("VERSIONR", "S0.Sn_TX_WR") of the byte under way,
// `access`, and `data`, the last byte that has passed; numbers are hexadecimal. Frames of fixed length that follow each
// other under one select are told apart as the datasheet has it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/core/wave.hpp"

namespace wizloop::bus {

class PinWave {
 public:
  enum Pin : std::uint8_t { SCSn, SCLK, MOSI, MISO, INTn, RSTn };

  static constexpr std::array<WaveSignal, 11> signals = {{{"w5500", "SCSn"},
                                                          {"w5500", "SCLK"},
                                                          {"w5500", "MOSI"},
                                                          {"w5500", "MISO"},
                                                          {"w5500", "INTn"},
                                                          {"w5500", "RSTn"},
                                                          {"w5500.bus", "access", WaveSignal::text},
                                                          {"w5500.bus", "block", WaveSignal::text},
                                                          {"w5500.bus", "offset", WaveSignal::text},
                                                          {"w5500.bus", "register", WaveSignal::text},
                                                          {"w5500.bus", "data", WaveSignal::text}}};

  // Deselected, out of reset, nothing pending.
  PinWave(std::unique_ptr<WaveFile> file, WaveWindow window);

  void set(Instant at, Pin pin, bool high);
  void release_miso(Instant at) { wave_.change(at, MISO, {.driven = false}); }
  // The eighth bit of a byte is in.
  void on_byte(Instant at, std::uint8_t mosi, std::uint8_t miso);

  // Once. The first thing that went wrong, if anything did.
  std::optional<Error> close(Instant at) { return wave_.close(at); }
  std::optional<Instant> cut_at() const { return wave_.cut_at(); }

 private:
  enum Decoded : std::uint8_t { access = RSTn + 1, block, offset, name, data };

  void show_place(Instant at);
  void show_hex(Instant at, Decoded signal, unsigned value, std::size_t digits);
  void show_nothing(Instant at);

  Wave wave_;
  std::array<std::uint8_t, 3> header_{};
  std::size_t header_bytes_ = 0;
  std::size_t fixed_left_ = 0;  // 0 in variable data length mode
  std::uint16_t offset_ = 0;
  std::string block_;
  std::string name_;
};

}  // namespace wizloop::bus
