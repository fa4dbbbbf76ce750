#include "sim/core/trace.hpp"

#include <fmt/format.h>

namespace wizloop {

void Trace::emit(Instant at, std::string_view place, std::string_view verb, std::initializer_list<TraceField> fields) {
  const TraceEvent event{at, place, verb, {fields.begin(), fields.size()}};
  for (TraceSink* sink : sinks_) sink->on_event(event);
}

std::string to_text(Instant at) {
  constexpr std::int64_t per_second = 1'000'000'000'000;
  const std::int64_t count = at.time_since_epoch().count();
  return fmt::format("{}.{:012}", count / per_second, count % per_second);
}

std::string to_text(const TraceEvent& event) {
  std::string line = fmt::format("{} {} {}", to_text(event.at), event.place, event.verb);
  for (const TraceField& field : event.fields) {
    line += fmt::format(" {}=", field.name);
    if (const auto* shown = std::get_if<RegisterValue>(&field.value)) {
      line += fmt::format("0x{:02x}", shown->value);
    } else if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      line += *text;
    } else {
      line += fmt::format("{}", std::get<std::int64_t>(field.value));
    }
  }
  return line;
}

}  // namespace wizloop
