// The verbs, and which of them this firmware has. Each reads its values, does its work and begins the answer; the agent
// ends it.
//
// WIZLOOP_AGENT_REDUCED leaves out what needs more than 2 KB of RAM and 32 KB of flash.
#ifndef WIZLOOP_AGENT_VERBS_HPP
#define WIZLOOP_AGENT_VERBS_HPP

#include "device.hpp"

namespace agent {

void run_verb(Device& device, Request& request, Answer& answer);

// agent=1 board=... and so on: what hello answers and the greeting says.
void write_identity(Device& device);

// identity_verbs.cpp
void hello(Device& device, Request& request, Answer& answer);
void help(Device& device, Request& request, Answer& answer);
void cancel(Device& device, Request& request, Answer& answer);
void reset(Device& device, Request& request, Answer& answer);
void net(Device& device, Request& request, Answer& answer);
void link(Device& device, Request& request, Answer& answer);
void path(Device& device, Request& request, Answer& answer);

// raw_verbs.cpp
void reg(Device& device, Request& request, Answer& answer);
void spi(Device& device, Request& request, Answer& answer);

// tcp_verbs.cpp
void tcp_send(Device& device, Request& request, Answer& answer);
void tcp_recv(Device& device, Request& request, Answer& answer);
void tcp_echo(Device& device, Request& request, Answer& answer);

// server_verbs.cpp
void tcp_server(Device& device, Request& request, Answer& answer);

// udp_echo_verb.cpp, udp_verbs.cpp
void udp_send(Device& device, Request& request, Answer& answer);
void udp_recv(Device& device, Request& request, Answer& answer);
void udp_echo(Device& device, Request& request, Answer& answer);

// name_verbs.cpp
void dhcp(Device& device, Request& request, Answer& answer);
void dns(Device& device, Request& request, Answer& answer);

// ping_verb.cpp
void ping_stats(Device& device, Request& request, Answer& answer);

// health_verbs.cpp
void stats(Device& device, Request& request, Answer& answer);
void selftest(Device& device, Request& request, Answer& answer);

}  // namespace agent

#endif
