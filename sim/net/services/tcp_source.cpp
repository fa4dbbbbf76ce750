#include "sim/net/services/tcp_source.hpp"

#include <algorithm>

#include "sim/net/lwip_host.hpp"
#include "sim/net/services/pattern.hpp"

namespace wizloop::net {

TcpSource::TcpSource(LwipHost& host, const Config& config) : host_{host}, config_{config}, connection_{host, *this} {}

void TcpSource::connect(wire::Ipv4Address address, std::uint16_t port) {
  if (!connection_.connect(address, port)) counters_.failure = "no route to the peer";
}

void TcpSource::listen(std::uint16_t port) {
  listener_.emplace(host_, port, [this](tcp_pcb* pcb) {
    if (counters_.connections > 0) return false;
    connection_.adopt(pcb);
    return true;
  });
}

void TcpSource::stop() {
  if (stopped_) return;
  stopped_ = true;
  connection_.shut_down();
}

void TcpSource::on_connected() {
  ++counters_.connections;
  counters_.connected = host_.queue().now();
  fill();
}

void TcpSource::on_acknowledged(std::size_t bytes) {
  counters_.bytes_acknowledged += bytes;
  counters_.last_acknowledged = host_.queue().now();
  fill();
  if (counters_.peer_closed && finished()) connection_.close();
}

// The peer may close its direction first and still take our data (RFC 9293 3.6.1).
void TcpSource::on_peer_closed() {
  counters_.peer_closed = true;
  if (finished()) connection_.close();
}

void TcpSource::fill() {
  while (!stopped_) {
    const std::uint64_t left = config_.bytes - counters_.bytes_queued;
    if (left == 0) {
      stop();
      return;
    }
    const auto stretch = static_cast<std::size_t>(std::min<std::uint64_t>(left, pattern_run));
    const std::size_t taken = connection_.write(pattern(counters_.bytes_queued, stretch));
    if (taken == 0) return;
    counters_.bytes_queued += taken;
  }
}

}  // namespace wizloop::net
