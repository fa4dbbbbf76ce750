#include "sim/rtl/fst_file.hpp"

#include "sim/core/vcd_file.hpp"

#ifdef WIZLOOP_RTL
#include <fmt/format.h>
#include <gtkwave/fstapi.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/core/descriptor.hpp"
#include "sim/core/output_file.hpp"
#include "sim/rtl/fst_disk.hpp"
#endif

namespace wizloop::rtl {
namespace {

#ifdef WIZLOOP_RTL

class FstFile final : public WaveFile {
 public:
  FstFile(std::filesystem::path path, int held, void* context, std::span<const WaveSignal> signals,
          std::string_view note)
      : path_{std::move(path)}, held_{held}, context_{context}, signals_{signals.begin(), signals.end()} {
    constexpr int picoseconds = -12;
    fstWriterSetPackType(context_, FST_WR_PT_LZ4);
    fstWriterSetTimescale(context_, picoseconds);
    fstWriterSetVersion(context_, "wizloop");
    fstWriterSetDate(context_, "");  // so that equal runs make equal files
    fstWriterSetComment(context_, std::string{note}.c_str());
    const WaveScopes declare{.open =
                                 [this](std::string_view name) {
                                   fstWriterSetScope(context_, FST_ST_VCD_MODULE, std::string{name}.c_str(), nullptr);
                                 },
                             .close = [this] { fstWriterSetUpscope(context_); },
                             .signal =
                                 [this](std::size_t i) {
                                   const bool is_text = signals_[i].kind == WaveSignal::text;
                                   handles_.push_back(fstWriterCreateVar(
                                       context_, is_text ? FST_VT_GEN_STRING : FST_VT_VCD_WIRE, FST_VD_IMPLICIT,
                                       is_text ? 0 : 1, std::string{signals_[i].name}.c_str(), 0));
                                 }};
    declare.walk(signals_);
  }
  ~FstFile() override {
    if (context_ != nullptr && !no_room_to_close_fst(path_)) fstWriterClose(context_);
    descriptor::close(held_);
  }

  void begin(Instant at, std::span<const WaveValue> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) change(at, i, values[i]);
  }
  void change(Instant at, std::size_t signal, const WaveValue& value) override {
    stamp(at);
    if (signals_[signal].kind == WaveSignal::text) {
      fstWriterEmitVariableLengthValueChange(context_, handles_[signal], value.text.data(),
                                             static_cast<std::uint32_t>(value.text.size()));
    } else {
      fstWriterEmitValueChange(context_, handles_[signal], !value.driven ? "z" : value.high ? "1" : "0");
    }
  }
  std::optional<Error> close(Instant at, std::string_view remark) override {
    stamp(at);
    if (!remark.empty()) fstWriterSetComment(context_, std::string{remark}.c_str());
    void* const context = std::exchange(context_, nullptr);
    if (auto error = no_room_to_close_fst(path_)) return error;
    fstWriterClose(context);
    return fst_cut_short(path_, static_cast<std::uint64_t>(stamped_.time_since_epoch().count()));
  }

 private:
  void stamp(Instant at) {
    if (at == stamped_) return;
    stamped_ = at;
    fstWriterEmitTimeChange(context_, static_cast<std::uint64_t>(at.time_since_epoch().count()));
  }
  std::filesystem::path path_;
  int held_;  // until the writer is done with the file
  void* context_;
  std::vector<WaveSignal> signals_;
  std::vector<fstHandle> handles_;
  Instant stamped_ = Instant::min();
};

Result<std::unique_ptr<WaveFile>> open_fst(const std::filesystem::path& path, std::span<const WaveSignal> signals,
                                           std::string_view note) {
  std::error_code none;
  if (const auto what = std::filesystem::status(path, none);
      std::filesystem::exists(what) && !std::filesystem::is_regular_file(what)) {
    return Error{path.string() + ": cannot be written: an FST wants a file that it can seek in; .vcd does without"};
  }
  // The writer removes what has the name and makes a file, which is then the one to hold.
  const Result<int> before = output::hold(path);
  if (!before) return before.error();
  errno = 0;
  void* const context = fstWriterCreate(path.c_str(), 1);
  if (context == nullptr) {
    const int error_number = errno;
    descriptor::close(before.value());
    return Error{fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error_number)),
                 kind_of(error_number)};
  }
  const Result<int> held = output::hold(path);
  descriptor::close(before.value());
  if (!held) {
    fstWriterClose(context);
    return held.error();
  }
  return std::unique_ptr<WaveFile>{std::make_unique<FstFile>(path, held.value(), context, signals, note)};
}

#else

Result<std::unique_ptr<WaveFile>> open_fst(const std::filesystem::path& path, std::span<const WaveSignal> /*signals*/,
                                           std::string_view /*note*/) {
  return Error{path.string() + ": this build writes no FST: Verilator was missing when it was configured; .vcd works"};
}

#endif

}  // namespace

Result<std::unique_ptr<WaveFile>> open_wave(const std::filesystem::path& path, std::span<const WaveSignal> signals,
                                            std::string_view note) {
  return path.extension() == ".fst" ? open_fst(path, signals, note) : VcdFile::open(path, signals, note);
}

}  // namespace wizloop::rtl
