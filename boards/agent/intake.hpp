// The first look at a line that has come in: whether it is a request at all.
#ifndef WIZLOOP_AGENT_INTAKE_HPP
#define WIZLOOP_AGENT_INTAKE_HPP

#include "device.hpp"

namespace agent {

// Takes the request apart; false if the line was none, which is answered then.
bool admit(Device& device, Request& request);
void tell_overrun(Device& device);

}  // namespace agent

#endif
