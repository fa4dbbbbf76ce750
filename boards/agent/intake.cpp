#include "intake.hpp"

namespace agent {
namespace {

Text code_of(LineFault fault) {
  switch (fault) {
    case LineFault::too_long:
      return AGENT_TEXT("too-long");
    case LineFault::overrun:
      return AGENT_TEXT("overrun");
    default:
      return AGENT_TEXT("bad-byte");
  }
}

}  // namespace

bool admit(Device& device, Request& request) {
  const LineFault line_fault = device.in.fault();
  const RequestFault fault = line_fault == LineFault::none ? request.parse() : RequestFault::syntax;
  if (line_fault == LineFault::none && fault == RequestFault::none) return true;

  ++device.counters.errors;
  Answer answer(device.out, request);
  if (line_fault != LineFault::none) {
    ++device.counters.bad_lines;
    answer.err(code_of(line_fault));
    if (line_fault == LineFault::too_long) answer.number(AGENT_TEXT("line"), device.in.longest());
  } else if (fault == RequestFault::crc) {
    ++device.counters.crc_errors;
    answer.err(AGENT_TEXT("crc"));
  } else {
    ++device.counters.bad_lines;
    answer.err(AGENT_TEXT("syntax"));
    answer.say(AGENT_TEXT("expected #SEQ VERB key=value ..."));
  }
  answer.end();
  return false;
}

void tell_overrun(Device& device) {
  ++device.counters.overruns;
  device.out.text(AGENT_TEXT("! overrun"));
  device.out.end(false);
}

}  // namespace agent
