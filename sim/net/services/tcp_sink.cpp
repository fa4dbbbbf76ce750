#include "sim/net/services/tcp_sink.hpp"

#include <algorithm>

#include "sim/net/lwip_host.hpp"
#include "sim/net/services/pattern.hpp"

namespace wizloop::net {

TcpSink::TcpSink(LwipHost& host, std::uint16_t port)
    : host_{host}, listener_{host, port, [this](tcp_pcb* pcb) { return accept(pcb); }} {}

bool TcpSink::accept(tcp_pcb* pcb) {
  std::erase_if(streams_, [](const std::unique_ptr<Stream>& stream) { return !stream->connection.open(); });
  ++counters_.connections;
  streams_.push_back(std::make_unique<Stream>(*this));
  streams_.back()->connection.adopt(pcb);
  return true;
}

std::size_t TcpSink::Stream::on_data(Bytes data) {
  Counters& counters = sink.counters_;
  const Instant now = sink.host_.queue().now();
  if (counters.bytes == 0) counters.first_byte = now;
  counters.last_byte = now;
  counters.bytes += data.size();
  counters.mismatches += pattern_mismatches(position, data);
  position += data.size();
  return data.size();
}

void TcpSink::Stream::on_peer_closed() {
  ++sink.counters_.peer_closed;
  connection.close();
}

}  // namespace wizloop::net
