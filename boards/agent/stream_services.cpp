#include "stream_services.hpp"

namespace agent {

Turn SinkService::serve(Server& server, Connection& connection) {
  bool finished = false;
  const uint64_t position = connection.in;
  const uint16_t taken = server.read(connection, server.in_data(), server.in_bytes(), &finished);
  connection.bad += count_mismatches(server.in_data(), taken, position);
  return finished ? Turn::finished : taken > 0 ? Turn::moved : Turn::idle;
}

void SourceService::on_open(Server& server, Connection&) { server.use_buffer(Server::Layout::out); }

Turn SourceService::serve(Server& server, Connection& connection) {
  if (bytes_ > 0 && connection.out == bytes_) return Turn::finished;
  bool finished = false;
  const uint64_t most = bytes_ > 0 ? bytes_ - connection.out : ~uint64_t{0};
  const bool moved = server.send_pattern(connection, most, &finished);
  return finished ? Turn::finished : moved ? Turn::moved : Turn::idle;
}

Turn EchoService::serve(Server& server, Connection& connection) {
  bool finished = false;
  const uint16_t taken = server.read(connection, server.in_data(), server.in_bytes(), &finished);
  if (taken > 0 && !server.send(connection, server.in_data(), taken)) finished = true;
  return finished ? Turn::finished : taken > 0 ? Turn::moved : Turn::idle;
}

}  // namespace agent
