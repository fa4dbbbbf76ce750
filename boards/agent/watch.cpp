#include "watch.hpp"

#include "intake.hpp"

namespace agent {

Watch::Watch(Device& device, Answer& answer, Request& request, uint32_t timeout_ms)
    : device_(device), answer_(answer), request_(request) {
  timeout_us_ = uint64_t{1000} * request.number(AGENT_TEXT("timeout_ms"), 1, 0xFFFFFFFFu, timeout_ms);
  every_us_ = uint64_t{1000} * request.number(AGENT_TEXT("every_ms"), 0, 0xFFFFFFFFu, 1000);
}

void Watch::start(const uint64_t* bytes) {
  bytes_ = bytes;
  start_us_ = reported_us_ = device_.clock.now_us();
  device_.port.set_patience(this);
}

void Watch::stop() { device_.port.set_patience(nullptr); }

bool Watch::over() {
  if (end_ != End::none) return true;
  hear();
  const uint64_t now_us = device_.clock.now_us();
  if (end_ == End::none && now_us - start_us_ >= timeout_us_) end_ = End::timeout;
  if (every_us_ > 0 && now_us - reported_us_ >= every_us_) report(now_us);
  return end_ != End::none;
}

void Watch::hear() {
  switch (device_.in.take()) {
    case Input::interrupt:
      end_ = End::cancelled;
      return;
    case Input::overrun:
      return tell_overrun(device_);
    case Input::line:
      return hear_line();
    case Input::nothing:
      return;
  }
}

void Watch::hear_line() {
  Request other(device_.in.line(), device_.in.length());
  if (!admit(device_, other)) return;
  if (other.is(AGENT_TEXT("cancel")) && other.same_sequence(request_)) {
    end_ = End::cancelled;
    return;
  }
  ++device_.counters.busy;
  Answer refusal(device_.out, other);
  refusal.err(AGENT_TEXT("busy"));
  refusal.characters(AGENT_TEXT("seq"), answer_.sequence());
  refusal.end();
}

void Watch::report(uint64_t now_us) {
  reported_us_ = now_us;
  Writer& out = device_.out;
  out.text(AGENT_TEXT("! progress"));
  out.key(AGENT_TEXT("seq"));
  out.characters(answer_.sequence());
  out.key(AGENT_TEXT("bytes"));
  out.decimal(*bytes_);
  out.key(AGENT_TEXT("us"));
  out.decimal(now_us - start_us_);
  out.end(answer_.checked());
}

void Watch::conclude(w5500::Error error) {
  stop();
  if (end_ == End::cancelled) {
    ++device_.counters.cancelled;
    answer_.err(AGENT_TEXT("cancelled"));
  } else if (end_ == End::timeout) {
    ++device_.counters.timeouts;
    answer_.err(AGENT_TEXT("timeout"));
  } else if (error != w5500::Error::none) {
    answer_.err(error);
  } else {
    answer_.ok();
  }
}

}  // namespace agent
