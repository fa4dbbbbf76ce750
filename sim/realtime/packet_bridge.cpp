#include "sim/realtime/packet_bridge.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/realtime/interface_bridge.hpp"

namespace wizloop::realtime {
namespace {

class PacketBridge final : public InterfaceBridge {
 public:
  static Result<std::unique_ptr<Bridge>> open(const std::string& interface, const BridgeSite& site) {
    std::unique_ptr<PacketBridge> bridge{new PacketBridge{interface, site}};
    if (auto error = bridge->start()) return Error{bridge->name() + ": " + error->message, error->kind};
    return std::unique_ptr<Bridge>{std::move(bridge)};
  }

 private:
  PacketBridge(const std::string& interface, const BridgeSite& site)
      : InterfaceBridge{site, "veth:" + interface, interface} {}

  std::optional<Error> start() {
    if (auto error = interface_.check()) return error;
    // Protocol 0 receives nothing: frames of other interfaces must not come in before bind().
    const int packet_socket = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (packet_socket < 0) {
      if (errno != EPERM) return failed("socket");
      return Error{
          "a packet socket needs CAP_NET_RAW: start as root, or inside \"unshare -Urn\", or take slirp, which "
          "needs no privilege"};
    }
    descriptor_.assign(packet_socket);
    if (auto error = interface_.switch_offloads_off([this](const std::string& news) { report(news); })) return error;
    if (auto error = configure()) return error;
    watch_interface();
    return std::nullopt;
  }

  std::optional<Error> configure() {
    const int on = 1;
    if (!set_option(PACKET_IGNORE_OUTGOING, on)) return failed("PACKET_IGNORE_OUTGOING");
    if (!set_option(PACKET_AUXDATA, on)) return failed("PACKET_AUXDATA");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = interface_.index();
    if (bind(descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed("bind");
    packet_mreq everything{};
    everything.mr_ifindex = address.sll_ifindex;
    everything.mr_type = PACKET_MR_PROMISC;
    if (!set_option(PACKET_ADD_MEMBERSHIP, everything)) return failed("promiscuous mode");
    return std::nullopt;
  }

  template <typename Value>
  bool set_option(int option, const Value& value) {
    return setsockopt(descriptor(), SOL_PACKET, option, &value, sizeof value) == 0;
  }

  ssize_t read_frame(wire::Frame& into) override {
    iovec buffer{into.bytes.data(), into.bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(tpacket_auxdata))];
    msghdr message{};
    message.msg_iov = &buffer;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t bytes = recvmsg(descriptor(), &message, MSG_TRUNC);
    if (bytes <= 0 || !lacks_checksum(message)) return bytes;
    if (counters_.no_checksum++ == 0) {
      report(
          "a frame whose checksum was left to hardware was dropped; where the other end of this interface is, do: "
          "ethtool -K IF tx off tso off gso off");
    }
    return 0;
  }

  static bool lacks_checksum(const msghdr& message) {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_PACKET || header->cmsg_type != PACKET_AUXDATA) return false;
    tpacket_auxdata data;
    std::memcpy(&data, CMSG_DATA(header), sizeof data);
    return (data.tp_status & TP_STATUS_CSUMNOTREADY) != 0;
  }

  ssize_t write_frame(Bytes frame) override { return send(descriptor(), frame.data(), frame.size(), 0); }

  // The kernel counts from one question to the next.
  void on_read_all() override {
    tpacket_stats stats{};
    socklen_t size = sizeof stats;
    if (getsockopt(descriptor(), SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) {
      counters_.not_read += stats.tp_drops;
    }
  }
};

}  // namespace

Result<std::unique_ptr<Bridge>> open_packet_bridge(const std::string& interface, const BridgeSite& site) {
  return PacketBridge::open(interface, site);
}

}  // namespace wizloop::realtime
