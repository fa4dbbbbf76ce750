// Questions to the kernel about an Ethernet interface of the host, and what it may not do to frames behind the back of
// a packet socket (netdevice(7), ethtool(8)).
//
//   HostInterface interface{"wiz0"};
//   if (const auto error = interface.check()) ...
//   if (const auto error = interface.switch_offloads_off(say)) ...
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/result.hpp"

namespace wizloop::realtime {

class HostInterface {
 public:
  explicit HostInterface(std::string name);
  HostInterface(const HostInterface&) = delete;
  HostInterface& operator=(const HostInterface&) = delete;
  ~HostInterface();

  // Whether a board can be joined to it; the error says why not and what to do.
  std::optional<Error> check() const;

  int index() const;  // 0: there is none of that name (any more)
  bool is_up() const;
  std::optional<Error> bring_up() const;

  // On a veth, a cable inside the kernel, what is sent at one end comes in at the other as the sender left it. There
  // this clears the features, here and at the other end if that is in this network namespace, and says so; on any other
  // interface it is the user's to decide, and the error gives the command.
  std::optional<Error> switch_offloads_off(const std::function<void(const std::string&)>& report) const;

 private:
  bool is_veth() const;
  std::optional<std::string> veth_peer() const;

  std::string name_;
  int socket_;
};

}  // namespace wizloop::realtime
