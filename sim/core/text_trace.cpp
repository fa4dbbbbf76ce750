#include "sim/core/text_trace.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "sim/core/output_file.hpp"

namespace wizloop {

Result<std::unique_ptr<TextTrace>> TextTrace::open(const std::filesystem::path& path) {
  const Result<std::FILE*> file = output::open_stream(path);
  if (!file) return file.error();
  return std::unique_ptr<TextTrace>{new TextTrace{path, file.value()}};
}

TextTrace::TextTrace(std::filesystem::path path, std::FILE* file) : path_{std::move(path)}, file_{file} {}

TextTrace::~TextTrace() {
  if (file_ != nullptr) std::fclose(file_);
}

void TextTrace::on_event(const TraceEvent& event) {
  const std::string line = to_text(event) + '\n';
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size()) fail();
}

std::optional<Error> TextTrace::close() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
  return error_;
}

void TextTrace::fail() {
  if (error_) return;
  error_ = Error{fmt::format("{}: the trace could not be written whole: {}", path_.string(), std::strerror(errno)),
                 ErrorKind::machine};
}

}  // namespace wizloop
