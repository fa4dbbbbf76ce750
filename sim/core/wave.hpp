// A waveform: named signals that change at instants of virtual time, for a viewer such as GTKWave or for a logic
// analyser's decoders. Wave keeps to the window and to the limit of what a file may hold, and drops what is no change;
// what writes a file format is a WaveFile.
//
//   constexpr WaveSignal signals[] = {{"w5500", "SCSn"}, {"w5500.bus", "register", WaveSignal::text}};
//   auto file = VcdFile::open("run.vcd", signals, "tcp_xmit");
//   Wave wave{std::move(file).value(), signals, WaveWindow{}};
//   wave.change(now, 0, {.high = true});
//   wave.change(now, 1, {.text = "VERSIONR"});
//   if (const auto error = wave.close(now)) return *error;
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/core/time.hpp"

namespace wizloop {

// A wire, or a text, which must not have spaces. Numbers are texts too: libsigrok gives up at a VCD with vectors.
struct WaveSignal {
  enum Kind : std::uint8_t { wire, text };

  std::string_view scope;  // dotted; signals of one scope stand together
  std::string_view name;
  Kind kind = wire;
};

// The declarations of a file: scopes within scopes, and the signals in them.
struct WaveScopes {
  std::function<void(std::string_view name)> open;
  std::function<void()> close;
  std::function<void(std::size_t signal)> signal;

  void walk(std::span<const WaveSignal> signals) const;
};

struct WaveValue {
  bool high = false;
  bool driven = true;  // else high impedance
  std::string_view text = "-";

  friend bool operator==(const WaveValue&, const WaveValue&) = default;
};

// The format. Instants never go back; the first call gives every signal its value.
class WaveFile {
 public:
  virtual ~WaveFile() = default;

  virtual void begin(Instant at, std::span<const WaveValue> values) = 0;
  virtual void change(Instant at, std::size_t signal, const WaveValue& value) = 0;
  // Once. `remark` says what a reader must know, or is empty. The first thing that went wrong, if anything did.
  virtual std::optional<Error> close(Instant at, std::string_view remark) = 0;
};

// Opens a file for these signals; the error says why it cannot be written.
using WaveOpener = std::function<Result<std::unique_ptr<WaveFile>>(
    const std::filesystem::path& path, std::span<const WaveSignal> signals, std::string_view note)>;

struct WaveWindow {
  // From one instant of the run until another, both in it.
  Instant from{};
  Instant to = Instant::max();

  // "2ms..3500us"; either may be missing.
  static Result<WaveWindow> parse(std::string_view text);
};

class Wave {
 public:
  // What one file may hold. In the text format this is some 150 MB.
  static constexpr std::uint64_t most_changes = 10'000'000;

  // Every signal begins low, or as the text "-".
  Wave(std::unique_ptr<WaveFile> file, std::span<const WaveSignal> signals, WaveWindow window,
       std::uint64_t most = most_changes);

  // Instants never go back. Up to the window's begin and after its end only the value is kept.
  void change(Instant at, std::size_t signal, WaveValue value);

  // Once. The first thing that went wrong, if anything did.
  std::optional<Error> close(Instant at);

  // When the limit cut the file off.
  std::optional<Instant> cut_at() const { return cut_at_; }

 private:
  struct Latest {
    bool high = false;
    bool driven = true;
    std::string text = "-";
  };

  WaveValue latest(std::size_t signal) const {
    return {latest_[signal].high, latest_[signal].driven, latest_[signal].text};
  }
  void begin();

  std::unique_ptr<WaveFile> file_;
  WaveWindow window_;
  std::uint64_t most_;
  std::uint64_t left_;
  std::vector<Latest> latest_;
  bool begun_ = false;
  std::optional<Instant> cut_at_;
};

}  // namespace wizloop
