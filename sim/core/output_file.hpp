// The files that a run writes: a capture, a trace, a waveform, a transcript. Each belongs to its writer until that
// closes it (flock(2)): a second run that was given the same name is told so before it has touched anything, instead of
// both ruining the file without a word. Pipes and devices are shared as they come.
//
//   Result<int> file = output::open("run.pcapng");
//   Result<std::FILE*> stream = output::open_stream("run.vcd");
#pragma once

#include <cstdio>
#include <filesystem>

#include "sim/core/result.hpp"

namespace wizloop::output {

// Empty, and created where there is none. The error's text begins with the path.
Result<int> open(const std::filesystem::path& path);
Result<std::FILE*> open_stream(const std::filesystem::path& path);
// The same with what is in it, for a file that a library writes by its name.
Result<int> hold(const std::filesystem::path& path);

}  // namespace wizloop::output
