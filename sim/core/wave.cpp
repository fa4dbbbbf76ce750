#include "sim/core/wave.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/time_text.hpp"
#include "sim/core/trace.hpp"

namespace wizloop {

Result<WaveWindow> WaveWindow::parse(std::string_view text) {
  constexpr std::string_view dots = "..";
  const Error expected{fmt::format(
      "\"{}\" is no window, expected FROM..TO, each a whole number and ps, ns, us, ms or s, the first the smaller one",
      text)};
  const std::size_t at = text.find(dots);
  if (at == std::string_view::npos) return expected;
  const std::string_view from = text.substr(0, at);
  const std::string_view to = text.substr(at + dots.size());
  WaveWindow window;
  if (!from.empty()) {
    const auto time = time_of(from);
    if (!time) return expected;
    window.from = Instant{*time};
  }
  if (!to.empty()) {
    const auto time = time_of(to);
    if (!time) return expected;
    window.to = Instant{*time};
  }
  if (window.from >= window.to) return expected;
  return window;
}

void WaveScopes::walk(std::span<const WaveSignal> signals) const {
  std::vector<std::string_view> opened;
  const auto close_to = [&](std::size_t depth) {
    for (; opened.size() > depth; opened.pop_back()) close();
  };
  for (std::size_t i = 0; i < signals.size(); ++i) {
    std::vector<std::string_view> wanted;
    for (std::string_view rest = signals[i].scope;;) {
      const std::size_t dot = rest.find('.');
      wanted.push_back(rest.substr(0, dot));
      if (dot == std::string_view::npos) break;
      rest.remove_prefix(dot + 1);
    }
    std::size_t common = 0;
    while (common < opened.size() && common < wanted.size() && opened[common] == wanted[common]) ++common;
    close_to(common);
    for (; opened.size() < wanted.size(); opened.push_back(wanted[opened.size()])) open(wanted[opened.size()]);
    signal(i);
  }
  close_to(0);
}

Wave::Wave(std::unique_ptr<WaveFile> file, std::span<const WaveSignal> signals, WaveWindow window, std::uint64_t most)
    : file_{std::move(file)}, window_{window}, most_{most}, left_{most}, latest_(signals.size()) {}

void Wave::begin() {
  if (std::exchange(begun_, true)) return;
  std::vector<WaveValue> values;
  for (std::size_t i = 0; i < latest_.size(); ++i) values.push_back(latest(i));
  file_->begin(window_.from, values);
}

void Wave::change(Instant at, std::size_t signal, WaveValue value) {
  if (value == latest(signal)) return;
  const bool seen = at > window_.from && at <= window_.to && !cut_at_;
  if (seen) begin();
  latest_[signal].high = value.high;
  latest_[signal].driven = value.driven;
  latest_[signal].text.assign(value.text);
  if (!seen) return;
  if (left_ == 0) {
    cut_at_ = at;
    return;
  }
  --left_;
  file_->change(at, signal, value);
}

std::optional<Error> Wave::close(Instant at) {
  begin();
  if (!cut_at_) return file_->close(std::clamp(at, window_.from, window_.to), {});
  return file_->close(*cut_at_,
                      fmt::format("cut off here, at {} s, by the limit of {} changes", to_text(*cut_at_), most_));
}

}  // namespace wizloop
