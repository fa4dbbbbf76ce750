#include "sim/realtime/slirp_bridge.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <slirp/libslirp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "sim/wire/ipv4_text.hpp"

namespace wizloop::realtime {
namespace {

using Protocol = SlirpForward::Protocol;

in_addr in_addr_of(wire::Ipv4Address address) { return {htonl(address)}; }

std::string_view text_of(Protocol protocol) { return protocol == Protocol::tcp ? "tcp" : "udp"; }

std::optional<Error> check(const SlirpConfig& config) {
  if (config.prefix_bits < 8 || config.prefix_bits > 27) {
    return Error{fmt::format("slirp: a network of /{}, expected /8 to /27", config.prefix_bits)};
  }
  if ((config.network & ~config.mask()) != 0) {
    return Error{fmt::format("slirp: {} is not the first address of a /{}, expected {}", wire::to_text(config.network),
                             config.prefix_bits, wire::to_text(config.network & config.mask()))};
  }
  const auto may_be_a_board = [&](wire::Ipv4Address address) {
    const wire::Ipv4Address station = address & ~config.mask();
    return (address & config.mask()) == config.network && station > 3 && station != ~config.mask();
  };
  if (!may_be_a_board(config.board())) {
    return Error{fmt::format("slirp: the board cannot be at {}, expected an address of {}/{} from {} on",
                             wire::to_text(config.board()), wire::to_text(config.network), config.prefix_bits,
                             wire::to_text(config.network + 4))};
  }
  for (const SlirpForward& forward : config.forwards) {
    if (forward.host_port == 0 || forward.guest_port == 0) {
      return Error{"slirp: a port forward with port 0, expected 1 to 65535"};
    }
    if (forward.guest_address != 0 && !may_be_a_board(forward.guest_address)) {
      return Error{fmt::format("slirp: a port forward to {}, expected an address of {}/{} from {} on",
                               wire::to_text(forward.guest_address), wire::to_text(config.network), config.prefix_bits,
                               wire::to_text(config.network + 4))};
    }
  }
  return std::nullopt;
}

Error refused(const SlirpForward& forward, int error_number) {
  std::string_view cure;
  switch (error_number) {
    case EADDRINUSE:
      cure = "; another program has it: choose another port, or end that program";
      break;
    case EACCES:
      cure = "; ports below 1024 are for root: choose another port";
      break;
    case EADDRNOTAVAIL:
      cure = "; no interface of this machine has that address";
      break;
    default:
      break;
  }
  return Error{fmt::format("slirp: the host refuses {} port {} at {}: {}{}", text_of(forward.protocol),
                           forward.host_port, wire::to_text(forward.host_address), std::strerror(error_number), cure),
               kind_of(error_number)};
}

// libslirp binds with SO_REUSEADDR, with which Linux gives one UDP port to several programs, and datagrams to the last
// of them. Without it the answer is an honest one.
std::optional<Error> probe_udp(const SlirpForward& forward) {
  const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return refused(forward, errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = in_addr_of(forward.host_address);
  address.sin_port = htons(forward.host_port);
  const bool bound = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error_number = errno;
  close(probe);
  if (!bound) return refused(forward, error_number);
  return std::nullopt;
}

void ignore_sigpipe() {
  struct sigaction current {};
  if (sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

class SlirpBridge final : public Bridge {
 public:
  static Result<std::unique_ptr<Bridge>> open(const SlirpConfig& config, const BridgeSite& site) {
    if (auto error = check(config)) return *error;
    ignore_sigpipe();
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) return Error{fmt::format("slirp: epoll_create1: {}", std::strerror(errno)), ErrorKind::machine};
    std::unique_ptr<SlirpBridge> bridge{new SlirpBridge{site, epoll}};
    if (auto error = bridge->start(config)) return *error;
    return std::unique_ptr<Bridge>{std::move(bridge)};
  }

  ~SlirpBridge() override {
    ready_.close();
    if (slirp_ != nullptr) slirp_cleanup(slirp_);
  }

 private:
  struct Watch {
    int descriptor;
    std::uint32_t events;  // of epoll
  };
  struct Polled {
    int descriptor;
    std::uint32_t wanted;
    std::uint32_t ready;
  };

  SlirpBridge(const BridgeSite& site, int epoll)
      : Bridge{site, "slirp"}, ready_{site.io, epoll}, next_deadline_{site.queue} {
    callbacks_.send_packet = [](const void* frame, std::size_t bytes, void* self) {
      return of(self).on_frame({static_cast<const std::uint8_t*>(frame), bytes});
    };
    callbacks_.guest_error = [](const char* message, void* self) { of(self).report(message); };
    callbacks_.clock_get_ns = [](void* self) { return of(self).clock_ns(); };
    // Timers are for IPv6 router advertisements alone, which are off.
    callbacks_.timer_new = [](SlirpTimerCb, void*, void*) -> void* { return nullptr; };
    callbacks_.timer_free = [](void*, void*) {};
    callbacks_.timer_mod = [](void*, std::int64_t, void*) {};
    // What is wanted of a descriptor comes with each round; all that matters here is when it ends.
    callbacks_.register_poll_fd = [](int, void*) {};
    callbacks_.unregister_poll_fd = [](int descriptor, void* self) { of(self).forget(descriptor); };
    callbacks_.notify = [](void*) {};  // a round follows each frame from the board as it is
  }

  static SlirpBridge& of(void* self) { return *static_cast<SlirpBridge*>(self); }

  std::optional<Error> start(const SlirpConfig& config) {
    ::SlirpConfig own{};
    own.version = 4;
    own.in_enabled = true;
    own.vnetwork = in_addr_of(config.network);
    own.vnetmask = in_addr_of(config.mask());
    own.vhost = in_addr_of(config.host());
    own.vdhcp_start = in_addr_of(config.board());
    own.vnameserver = in_addr_of(config.nameserver());
    own.disable_dns = !config.dns;
    own.disable_dhcp = !config.dhcp;
    slirp_ = slirp_new(&own, &callbacks_, this);
    if (slirp_ == nullptr) return Error{"slirp: libslirp could not be started", ErrorKind::machine};
    for (const SlirpForward& forward : config.forwards) {
      if (auto error = add(forward, config)) return error;
    }
    return std::nullopt;
  }

  std::optional<Error> add(const SlirpForward& forward, const SlirpConfig& config) {
    const bool is_udp = forward.protocol == Protocol::udp;
    if (is_udp) {
      if (auto error = probe_udp(forward)) return error;
    }
    const wire::Ipv4Address guest = forward.guest_address != 0 ? forward.guest_address : config.board();
    errno = 0;
    if (slirp_add_hostfwd(slirp_, is_udp ? SLIRP_HOSTFWD_UDP : 0, in_addr_of(forward.host_address), forward.host_port,
                          in_addr_of(guest), forward.guest_port) < 0) {
      return refused(forward, errno);
    }
    return std::nullopt;
  }

  void on_plugged_in() override {
    wait_for_sockets();
    round();
  }

  bool send_to_host(Bytes frame) override {
    slirp_input(slirp_, frame.data(), static_cast<int>(frame.size()));
    round();  // a new connection is to be waited for, and an answer to ARP lets go what waited for it
    return true;
  }

  // While libslirp is at work its frames are only kept: whoever takes them may have an answer at once.
  ssize_t on_frame(Bytes bytes) {
    if (bytes.size() > wire::max_frame_bytes) {
      ++counters_.too_long;
    } else {
      pending_.push_back(site_.frames.copy(bytes));
    }
    return static_cast<ssize_t>(bytes.size());
  }

  // Its first millisecond is not 0, which means "never" to libslirp.
  std::int64_t clock_ns() const {
    const Duration since_start = site_.queue.now().time_since_epoch() + Duration{1s};
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count();
  }

  void wait_for_sockets() {
    ready_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
      if (error) return;  // the bridge has gone
      begin_input();
      if (cable_has_room()) {
        round();
        wait_for_sockets();
      } else {
        when_cable_has_room([this] { wait_for_sockets(); });
      }
    });
  }

  // What has come on sockets, what time has brought, and what to wait for next.
  void round() {
    take_ready();
    slirp_pollfds_poll(
        slirp_, 0, [](int index, void* self) { return of(self).ready_events(index); }, this);
    polled_.clear();
    std::uint32_t timeout_ms = UINT32_MAX;
    slirp_pollfds_fill(
        slirp_, &timeout_ms, [](int descriptor, int events, void* self) { return of(self).poll(descriptor, events); },
        this);
    watch_polled();
    next_deadline_.start(std::chrono::milliseconds{timeout_ms}, [this] { round(); });
    for (wire::FramePtr& frame : pending_) send_to_board(std::move(frame));
    pending_.clear();
  }

  void take_ready() {
    if (polled_.empty() || !cable_has_room()) return;
    std::array<epoll_event, 64> events;  // what does not fit is ready in the next round too
    const int count = epoll_wait(ready_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const auto of_event = std::ranges::find(polled_, event.data.fd, &Polled::descriptor);
      if (of_event != polled_.end()) of_event->ready = event.events;
    }
  }

  int ready_events(int index) const {
    const std::uint32_t ready = polled_[static_cast<std::size_t>(index)].ready;
    int events = 0;
    if ((ready & EPOLLIN) != 0) events |= SLIRP_POLL_IN;
    if ((ready & EPOLLOUT) != 0) events |= SLIRP_POLL_OUT;
    if ((ready & EPOLLPRI) != 0) events |= SLIRP_POLL_PRI;
    if ((ready & EPOLLERR) != 0) events |= SLIRP_POLL_ERR;
    if ((ready & EPOLLHUP) != 0) events |= SLIRP_POLL_HUP;
    return events;
  }

  int poll(int descriptor, int events) {
    std::uint32_t wanted = 0;
    if ((events & SLIRP_POLL_IN) != 0) wanted |= EPOLLIN;
    if ((events & SLIRP_POLL_OUT) != 0) wanted |= EPOLLOUT;
    if ((events & SLIRP_POLL_PRI) != 0) wanted |= EPOLLPRI;
    polled_.push_back({descriptor, wanted, 0});
    return static_cast<int>(polled_.size()) - 1;
  }

  // Tells epoll what has changed since the last round, which mostly is nothing.
  void watch_polled() {
    for (const Polled& polled : polled_) {
      const auto watch = std::ranges::find(watched_, polled.descriptor, &Watch::descriptor);
      if (watch != watched_.end() && watch->events == polled.wanted) continue;
      epoll_event event{};
      event.events = polled.wanted;
      event.data.fd = polled.descriptor;
      if (watch == watched_.end()) {
        epoll_ctl(ready_.native_handle(), EPOLL_CTL_ADD, polled.descriptor, &event);
        watched_.push_back({polled.descriptor, polled.wanted});
      } else {
        epoll_ctl(ready_.native_handle(), EPOLL_CTL_MOD, polled.descriptor, &event);
        watch->events = polled.wanted;
      }
    }
    if (watched_.size() == polled_.size()) return;
    std::erase_if(watched_, [this](const Watch& watch) {
      if (std::ranges::find(polled_, watch.descriptor, &Polled::descriptor) != polled_.end()) return false;
      epoll_ctl(ready_.native_handle(), EPOLL_CTL_DEL, watch.descriptor, nullptr);
      return true;
    });
  }

  void forget(int descriptor) {
    const auto watch = std::ranges::find(watched_, descriptor, &Watch::descriptor);
    if (watch == watched_.end()) return;
    if (ready_.is_open()) epoll_ctl(ready_.native_handle(), EPOLL_CTL_DEL, descriptor, nullptr);
    watched_.erase(watch);
  }

  SlirpCb callbacks_{};
  boost::asio::posix::stream_descriptor ready_;  // an epoll of libslirp's sockets: readable when one of them is ready
  Timer next_deadline_;
  Slirp* slirp_ = nullptr;
  std::vector<Polled> polled_;  // in this round
  std::vector<Watch> watched_;  // what epoll knows
  std::vector<wire::FramePtr> pending_;
};

}  // namespace

Result<std::unique_ptr<Bridge>> open_slirp_bridge(const SlirpConfig& config, const BridgeSite& site) {
  return SlirpBridge::open(config, site);
}

}  // namespace wizloop::realtime
