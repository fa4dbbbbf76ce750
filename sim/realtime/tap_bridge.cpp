#include "sim/realtime/tap_bridge.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/realtime/interface_bridge.hpp"

namespace wizloop::realtime {
namespace {

constexpr const char* device = "/dev/net/tun";

class TapBridge final : public InterfaceBridge {
 public:
  static Result<std::unique_ptr<Bridge>> open(const std::string& interface, const BridgeSite& site) {
    std::unique_ptr<TapBridge> bridge{new TapBridge{interface, site}};
    if (auto error = bridge->start(interface)) return Error{bridge->name() + ": " + error->message, error->kind};
    return std::unique_ptr<Bridge>{std::move(bridge)};
  }

 private:
  TapBridge(const std::string& interface, const BridgeSite& site)
      : InterfaceBridge{site, "tap:" + interface, interface} {}

  std::optional<Error> start(const std::string& interface) {
    ifreq request{};
    if (interface.empty() || interface.size() >= sizeof request.ifr_name) {
      return Error{fmt::format("an interface has a name of 1 to {} characters", sizeof request.ifr_name - 1)};
    }
    const int tap = ::open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tap < 0) return no_device(errno);
    const bool was_there = interface_.index() != 0;
    std::memcpy(request.ifr_name, interface.c_str(), interface.size() + 1);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    const int error_number = ioctl(tap, TUNSETIFF, &request) == 0 ? 0 : errno;
    descriptor_.assign(tap);  // not before: what waits for a descriptor without an interface waits for ever
    if (error_number != 0) return no_interface(interface, error_number);
    if (ioctl(tap, TUNSETOFFLOAD, 0UL) != 0) return failed("TUNSETOFFLOAD");  // whatever the last user had on
    if (!was_there) {
      if (auto error = interface_.bring_up()) return error;
      report(
          fmt::format("has made the interface; give the host an address: ip address add ADDRESS/24 dev {}", interface));
    }
    watch_interface();
    return std::nullopt;
  }

  static Error no_device(int error_number) {
    switch (error_number) {
      case ENOENT:
      case ENODEV:
      case ENXIO:
        return Error{
            fmt::format("there is no {}: \"modprobe tun\" as root; a container has to be started with --device "
                        "{}",
                        device, device)};
      case EACCES:
      case EPERM:
        return Error{
            fmt::format("{} is closed to this user: start as root, or \"chmod 0666 {}\" as root, or take slirp "
                        "or veth, which do not need it",
                        device, device)};
      default:
        return failed(device);
    }
  }

  static Error no_interface(const std::string& interface, int error_number) {
    switch (error_number) {
      case EPERM:
        return Error{
            fmt::format("this user may not make or take the interface: as root, \"ip tuntap add dev {} mode tap "
                        "user NAME\"; or start inside \"unshare -Urn\"",
                        interface)};
      case EBUSY:
        return Error{"another program has the interface"};
      case EINVAL:
        return Error{"the interface cannot be: its name is not allowed, or one of that name is there and is not a TAP"};
      default:
        errno = error_number;
        return failed("TUNSETIFF");
    }
  }

  // A frame that does not fit is cut short, but not so short that it would pass for one that does.
  ssize_t read_frame(wire::Frame& into) override { return read(descriptor(), into.bytes.data(), into.bytes.size()); }
  ssize_t write_frame(Bytes frame) override { return write(descriptor(), frame.data(), frame.size()); }
};

}  // namespace

Result<std::unique_ptr<Bridge>> open_tap_bridge(const std::string& interface, const BridgeSite& site) {
  return TapBridge::open(interface, site);
}

}  // namespace wizloop::realtime
