#include "sim/realtime/host_interface.hpp"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace wizloop::realtime {
namespace {

struct Offload {
  std::string_view name;  // to ethtool -K
  std::uint32_t get;
  std::uint32_t set;
  std::uint32_t flag;  // among others in one word; 0: the word is the offload
};

// What a sender leaves to hardware: checksums, and the cutting of large segments.
constexpr Offload sending[] = {
    {"tx", ETHTOOL_GTXCSUM, ETHTOOL_STXCSUM, 0},
    {"tso", ETHTOOL_GTSO, ETHTOOL_STSO, 0},
    {"gso", ETHTOOL_GGSO, ETHTOOL_SGSO, 0},
};
// What makes large frames of small ones before a packet socket sees them.
constexpr Offload receiving[] = {
    {"gro", ETHTOOL_GGRO, ETHTOOL_SGRO, 0},
    {"lro", ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_LRO},
};

bool request(int socket, unsigned long code, const std::string& name, ifreq& request) {
  if (name.size() >= sizeof request.ifr_name) {
    errno = ENODEV;
    return false;
  }
  std::memcpy(request.ifr_name, name.c_str(), name.size() + 1);
  return ioctl(socket, code, &request) == 0;
}

// False: this interface does not know the command.
template <typename Command>
bool ethtool(int socket, const std::string& name, Command* command) {
  ifreq wanted{};
  wanted.ifr_data = reinterpret_cast<char*>(command);
  return request(socket, SIOCETHTOOL, name, wanted);
}

bool is_on(int socket, const std::string& name, const Offload& offload) {
  ethtool_value value{offload.get, 0};
  if (!ethtool(socket, name, &value)) return false;
  return (offload.flag != 0 ? value.data & offload.flag : value.data) != 0;
}

bool switch_off(int socket, const std::string& name, const Offload& offload) {
  ethtool_value value{offload.get, 0};
  if (offload.flag != 0 && !ethtool(socket, name, &value)) return false;
  value = {offload.set, offload.flag != 0 ? value.data & ~offload.flag : 0};
  return ethtool(socket, name, &value) && !is_on(socket, name, offload);
}

template <std::size_t Count>
void add_those_on(std::vector<const Offload*>& to, int socket, const std::string& name,
                  const Offload (&offloads)[Count]) {
  for (const Offload& offload : offloads) {
    if (is_on(socket, name, offload)) to.push_back(&offload);
  }
}

std::string command_for(const std::string& name, const std::vector<const Offload*>& offloads) {
  std::string command = "ethtool -K " + name;
  for (const Offload* offload : offloads) command += fmt::format(" {} off", offload->name);
  return command;
}

}  // namespace

HostInterface::HostInterface(std::string name)
    : name_{std::move(name)}, socket_{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)} {}

HostInterface::~HostInterface() {
  if (socket_ >= 0) close(socket_);
}

int HostInterface::index() const { return static_cast<int>(if_nametoindex(name_.c_str())); }

bool HostInterface::is_up() const {
  ifreq flags{};
  return request(socket_, SIOCGIFFLAGS, name_, flags) && (flags.ifr_flags & IFF_UP) != 0;
}

std::optional<Error> HostInterface::bring_up() const {
  ifreq flags{};
  if (request(socket_, SIOCGIFFLAGS, name_, flags)) {
    flags.ifr_flags = static_cast<short>(flags.ifr_flags | IFF_UP);
    if (request(socket_, SIOCSIFFLAGS, name_, flags)) return std::nullopt;
  }
  return Error{fmt::format("cannot bring {} up: {}", name_, std::strerror(errno)), ErrorKind::machine};
}

std::optional<Error> HostInterface::check() const {
  if (socket_ < 0) return Error{fmt::format("socket: {}", std::strerror(errno)), ErrorKind::machine};
  if (index() == 0) {
    return Error{
        fmt::format("there is no interface {}; \"ip -br link\" lists those of this machine, and \"ip link add "
                    "{} type veth peer name {}p\" makes one",
                    name_, name_, name_)};
  }
  ifreq address{};
  if (!request(socket_, SIOCGIFHWADDR, name_, address) || address.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
    return Error{fmt::format("{} is not an Ethernet interface", name_)};
  }
  return std::nullopt;
}

bool HostInterface::is_veth() const {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  return ethtool(socket_, name_, &info) && std::string_view{info.driver} == "veth";
}

// By the statistic "peer_ifindex" of its driver, which comes first. A peer in another namespace is not found, or is an
// interface that does not name this one in turn.
std::optional<std::string> HostInterface::veth_peer() const {
  const auto peer_index = [this](const std::string& of) -> std::uint64_t {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (!ethtool(socket_, of, &info) || std::string_view{info.driver} != "veth" || info.n_stats == 0) return 0;
    std::vector<std::uint64_t> memory(sizeof(ethtool_stats) / sizeof(std::uint64_t) + info.n_stats);
    auto* stats = reinterpret_cast<ethtool_stats*>(memory.data());
    stats->cmd = ETHTOOL_GSTATS;
    stats->n_stats = info.n_stats;
    return ethtool(socket_, of, stats) ? stats->data[0] : 0;
  };
  char name[IF_NAMESIZE];
  const auto index_of_peer = static_cast<unsigned>(peer_index(name_));
  if (index_of_peer == 0 || if_indextoname(index_of_peer, name) == nullptr) return std::nullopt;
  if (peer_index(name) != static_cast<std::uint64_t>(index())) return std::nullopt;
  return name;
}

std::optional<Error> HostInterface::switch_offloads_off(const std::function<void(const std::string&)>& report) const {
  const bool veth = is_veth();
  std::vector<std::pair<std::string, std::vector<const Offload*>>> found;
  add_those_on(found.emplace_back(name_, std::vector<const Offload*>{}).second, socket_, name_, receiving);
  if (const auto peer = veth ? veth_peer() : std::nullopt) {
    add_those_on(found.emplace_back(*peer, std::vector<const Offload*>{}).second, socket_, *peer, sending);
  }
  for (const auto& [interface, offloads] : found) {
    if (offloads.empty()) continue;
    const std::string command = command_for(interface, offloads);
    if (!veth)
      return Error{fmt::format("{} changes frames on their way to a packet socket; first do: {}", name_, command)};
    for (const Offload* offload : offloads) {
      // tso goes with tx, which comes first.
      if (is_on(socket_, interface, *offload) && !switch_off(socket_, interface, *offload)) {
        return Error{fmt::format("cannot switch off {} of {}: {}; as root: {}", offload->name, interface,
                                 std::strerror(errno), command)};
      }
    }
    report(fmt::format("has switched off offloads, as \"{}\" does", command));
  }
  return std::nullopt;
}

}  // namespace wizloop::realtime
