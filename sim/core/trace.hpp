// One stream of typed events: when, where, what, and fields with their units in their names.
//
//   if (trace.wanted()) trace.emit(now, "chip.s0.tcp", "retransmit", {{"seq", seq}, {"wait_ns", wait_ns}});
//
// prints, through a text sink, as: 0.200013450000 chip.s0.tcp retransmit seq=1000 wait_ns=400000000
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/core/time.hpp"

namespace wizloop {

// The value of a register, printed in hexadecimal as datasheets do: 0x14.
struct RegisterValue {
  std::uint8_t value;
};

struct TraceField {
  std::string_view name;
  std::variant<std::int64_t, std::string_view, RegisterValue> value;
};

struct TraceEvent {
  Instant at;
  std::string_view place;  // dotted, e.g. "chip.s0"
  std::string_view verb;
  std::span<const TraceField> fields;
};

class TraceSink {
 public:
  virtual void on_event(const TraceEvent& event) = 0;

 protected:
  ~TraceSink() = default;
};

class Trace {
 public:
  void add(TraceSink& sink) { sinks_.push_back(&sink); }
  bool wanted() const { return !sinks_.empty(); }
  void emit(Instant at, std::string_view place, std::string_view verb, std::initializer_list<TraceField> fields = {});

 private:
  std::vector<TraceSink*> sinks_;
};

// The line of text for one event, without a line end. Time in seconds with twelve decimals.
std::string to_text(const TraceEvent& event);

// Seconds with twelve decimals, e.g. "0.200013450000".
std::string to_text(Instant at);

}  // namespace wizloop
