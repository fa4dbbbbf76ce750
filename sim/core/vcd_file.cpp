#include "sim/core/vcd_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "sim/core/output_file.hpp"

namespace wizloop {
namespace {

constexpr std::size_t chunk_bytes = 64 * 1024;

// The format's short name of a signal: a printable character, which is enough for all of ours. No digit or letter:
// readers that know no texts might take one for a value.
char letter(std::size_t signal) { return static_cast<char>('!' + signal); }
constexpr std::size_t most_signals = '0' - '!';

}  // namespace

Result<std::unique_ptr<WaveFile>> VcdFile::open(const std::filesystem::path& path, std::span<const WaveSignal> signals,
                                                std::string_view note) {
  const Result<std::FILE*> file = output::open_stream(path);
  if (!file) return file.error();
  std::unique_ptr<VcdFile> opened{new VcdFile{path, file.value(), signals}};
  opened->declare(note);
  return std::unique_ptr<WaveFile>{std::move(opened)};
}

VcdFile::VcdFile(std::filesystem::path path, std::FILE* file, std::span<const WaveSignal> signals)
    : path_{std::move(path)}, file_{file}, signals_{signals.begin(), signals.end()} {
  WIZ_ASSERT(signals_.size() <= most_signals);
  std::setvbuf(file_, nullptr, _IONBF, 0);  // `text_` is the buffer
}

VcdFile::~VcdFile() {
  if (file_ == nullptr) return;
  flush();
  std::fclose(file_);
}

void VcdFile::declare(std::string_view note) {
  auto out = std::back_inserter(text_);
  fmt::format_to(out, "$version wizloop $end\n$comment {} $end\n$timescale 1 ps $end\n", note);
  const WaveScopes declared{
      .open = [&](std::string_view name) { fmt::format_to(out, "$scope module {} $end\n", name); },
      .close = [&] { fmt::format_to(out, "$upscope $end\n"); },
      .signal =
          [&](std::size_t i) {
            const char* type = signals_[i].kind == WaveSignal::text ? "string" : "wire";
            fmt::format_to(out, "$var {} 1 {} {} $end\n", type, letter(i), signals_[i].name);
          }};
  declared.walk(signals_);
  fmt::format_to(out, "$enddefinitions $end\n");
}

void VcdFile::begin(Instant at, std::span<const WaveValue> values) {
  stamp(at);
  fmt::format_to(std::back_inserter(text_), "$dumpvars\n");
  for (std::size_t i = 0; i < values.size(); ++i) put(i, values[i]);
  fmt::format_to(std::back_inserter(text_), "$end\n");
}

void VcdFile::change(Instant at, std::size_t signal, const WaveValue& value) {
  stamp(at);
  put(signal, value);
  if (text_.size() >= chunk_bytes) flush();
}

void VcdFile::stamp(Instant at) {
  if (at == stamped_) return;
  stamped_ = at;
  text_.push_back('#');
  const fmt::format_int count{at.time_since_epoch().count()};
  text_.append(count.data(), count.size());
  text_.push_back('\n');
}

void VcdFile::put(std::size_t signal, const WaveValue& value) {
  if (signals_[signal].kind == WaveSignal::text) {
    text_.push_back('s');
    text_.append(value.text);
    text_.push_back(' ');
  } else {
    text_.push_back(!value.driven ? 'z' : value.high ? '1' : '0');
  }
  text_.push_back(letter(signal));
  text_.push_back('\n');
}

void VcdFile::flush() {
  if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size() && error_number_ == 0) error_number_ = errno;
  text_.clear();
}

std::optional<Error> VcdFile::close(Instant at, std::string_view remark) {
  stamp(at);
  if (!remark.empty()) fmt::format_to(std::back_inserter(text_), "$comment {} $end\n", remark);
  flush();
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_number_ == 0) error_number_ = errno;
  if (error_number_ == 0) return std::nullopt;
  return Error{
      fmt::format("{}: the waveform could not be written whole: {}", path_.string(), std::strerror(error_number_)),
      ErrorKind::machine};
}

}  // namespace wizloop
