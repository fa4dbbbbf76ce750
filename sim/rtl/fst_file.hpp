// A waveform as FST, GTKWave's compressed format: some fifty times smaller than a VCD. It is written by the library
// that Verilator brings for its own waveforms, so it wants a build with Verilator.
//
//   auto file = rtl::open_wave("run.fst", signals, "tcp_xmit");   // FST by that suffix, else VCD
//   if (!file) return file.error();
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "sim/core/result.hpp"
#include "sim/core/wave.hpp"

namespace wizloop::rtl {

// The error says which file could not be opened, and why; or that this build knows no FST.
Result<std::unique_ptr<WaveFile>> open_wave(const std::filesystem::path& path, std::span<const WaveSignal> signals,
                                            std::string_view note);

}  // namespace wizloop::rtl
