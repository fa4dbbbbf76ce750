// The trace as a text file, one line per event.
//
//   Result<std::unique_ptr<TextTrace>> text = TextTrace::open("run.txt");
//   trace.add(*text.value());
//   ...
//   if (const auto error = text.value()->close()) return *error;
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "sim/core/result.hpp"
#include "sim/core/trace.hpp"

namespace wizloop {

class TextTrace final : public TraceSink {
 public:
  // The error says which file could not be opened, and why.
  static Result<std::unique_ptr<TextTrace>> open(const std::filesystem::path& path);
  TextTrace(const TextTrace&) = delete;
  TextTrace& operator=(const TextTrace&) = delete;
  ~TextTrace();

  // Each line reaches the file at once, so that a trace outlives a process that dies.
  void write_through() { std::setvbuf(file_, nullptr, _IOLBF, 0); }

  void on_event(const TraceEvent& event) override;

  // Once. The first thing that went wrong, if anything did.
  std::optional<Error> close();

 private:
  TextTrace(std::filesystem::path path, std::FILE* file);
  void fail();

  std::filesystem::path path_;
  std::FILE* file_;
  std::optional<Error> error_;
};

}  // namespace wizloop
