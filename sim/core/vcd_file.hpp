// A waveform as a Value Change Dump (IEEE 1364-2005, clause 18), in picoseconds. Texts are "string" variables as
// GTKWave and Verilator write them; readers that know none skip them. No date, so that equal runs make equal files.
//
//   auto file = VcdFile::open("run.vcd", signals, "tcp_xmit");
//   if (!file) return file.error();
//   Wave wave{std::move(file).value(), signals, window};
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/wave.hpp"

namespace wizloop {

class VcdFile final : public WaveFile {
 public:
  // The error says which file could not be opened, and why.
  static Result<std::unique_ptr<WaveFile>> open(const std::filesystem::path& path, std::span<const WaveSignal> signals,
                                                std::string_view note);
  VcdFile(const VcdFile&) = delete;
  VcdFile& operator=(const VcdFile&) = delete;
  ~VcdFile() override;

  void begin(Instant at, std::span<const WaveValue> values) override;
  void change(Instant at, std::size_t signal, const WaveValue& value) override;
  std::optional<Error> close(Instant at, std::string_view remark) override;

 private:
  VcdFile(std::filesystem::path path, std::FILE* file, std::span<const WaveSignal> signals);
  void declare(std::string_view note);
  void stamp(Instant at);
  void put(std::size_t signal, const WaveValue& value);
  void flush();

  std::filesystem::path path_;
  std::FILE* file_;
  std::vector<WaveSignal> signals_;
  std::string text_;  // not yet in the file
  Instant stamped_ = Instant::min();
  int error_number_ = 0;
};

}  // namespace wizloop
