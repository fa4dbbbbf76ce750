#include "sim/net/services/tcp_echo.hpp"

#include "sim/net/lwip_host.hpp"

namespace wizloop::net {

TcpEcho::TcpEcho(LwipHost& host, std::uint16_t port)
    : host_{host}, listener_{host, port, [this](tcp_pcb* pcb) { return accept(pcb); }} {}

bool TcpEcho::accept(tcp_pcb* pcb) {
  std::erase_if(streams_, [](const std::unique_ptr<Stream>& stream) { return !stream->connection.open(); });
  ++counters_.connections;
  streams_.push_back(std::make_unique<Stream>(*this));
  streams_.back()->connection.adopt(pcb);
  return true;
}

std::size_t TcpEcho::Stream::send(Bytes data) {
  const std::size_t taken = connection.write(data);
  echo.counters_.bytes += taken;
  return taken;
}

std::size_t TcpEcho::Stream::on_data(Bytes data) {
  const std::size_t sent = held.empty() ? send(data) : 0;
  const Bytes rest = data.subspan(sent);
  held.insert(held.end(), rest.begin(), rest.end());
  return sent;
}

void TcpEcho::Stream::on_acknowledged(std::size_t /*bytes*/) {
  if (held.empty()) return;
  const std::size_t sent = send(held);
  held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(sent));
  connection.consume(sent);
  if (held.empty() && closing) connection.close();
}

void TcpEcho::Stream::on_peer_closed() {
  ++echo.counters_.peer_closed;
  closing = true;
  if (held.empty()) connection.close();
}

}  // namespace wizloop::net
