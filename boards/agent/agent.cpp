#include "agent.hpp"

#include "intake.hpp"
#include "verbs.hpp"

namespace agent {

void Agent::boot() {
  (void)device_.start_chip();  // what it came to is in the greeting
  device_.bus.use(device_.has_dma ? Path::dma : Path::burst);
  device_.out.text(AGENT_TEXT("! hello"));
  write_identity(device_);
  device_.out.end(false);
}

void Agent::run_once(uint32_t timeout_us) {
  (void)device_.clock.now_us();
  switch (device_.in.take()) {
    case Input::nothing:
      return device_.console.wait(timeout_us);
    case Input::overrun:
      return tell_overrun(device_);
    case Input::line:
      return answer_line();
    case Input::interrupt:
      return;
  }
}

void Agent::answer_line() {
  const uint64_t start_us = device_.clock.now_us();
  Counters& counters = device_.counters;
  ++counters.requests;
  Request request(device_.in.line(), device_.in.length());
  if (!admit(device_, request)) return;

  Answer answer(device_.out, request);
  run_verb(device_, request, answer);
  answer.end();
  if (answer.is_err()) ++counters.errors;
  counters.last_us = static_cast<uint32_t>(device_.clock.now_us() - start_us);
  if (counters.last_us > counters.longest_us) counters.longest_us = counters.last_us;
}

}  // namespace agent
