#include "iperf_service.hpp"

#include "drivers/w5500/bytes.hpp"

namespace agent {

using w5500::Endpoint;
using w5500::load32;

namespace {

// Words of the header, big-endian: flags, threads, port, buffer length, window, amount.
constexpr uint16_t header_bytes = 24;
constexpr uint8_t port_at = 8;
constexpr uint8_t amount_at = 20;
constexpr uint32_t has_way_back = 0x80000000;
constexpr uint32_t at_once = 0x00000001;
constexpr uint32_t reverse = 0x04000000;

enum Role : uint8_t { receiver, receiver_with_answer, sender };

// A negative amount is a time in hundredths of a second, a positive one a number of bytes.
bool is_time(uint32_t amount) { return (amount & 0x80000000u) != 0; }
uint64_t time_us(uint32_t amount) { return uint64_t{10000} * (0u - amount); }

}  // namespace

void IperfService::on_open(Server& server, Connection& connection) {
  connection.role = connecting_ ? sender : receiver;
  choose_buffer(server);
}

Turn IperfService::serve(Server& server, Connection& connection) {
  return connection.role == sender ? send(server, connection) : receive(server, connection);
}

Turn IperfService::receive(Server& server, Connection& connection) {
  bool finished = false;
  uint8_t* const data = server.in_data();
  const uint16_t taken = server.read(connection, data, server.in_bytes(), &finished);
  for (uint16_t i = 0; i < taken && connection.filled < header_bytes; ++i) {
    connection.head[connection.filled++] = data[i];
    if (connection.filled == header_bytes) take_header(server, connection);
  }
  return finished ? Turn::finished : taken > 0 ? Turn::moved : Turn::idle;
}

void IperfService::take_header(Server& server, Connection& connection) {
  const uint32_t flags = load32(connection.head);
  const uint32_t amount = load32(connection.head + amount_at);
  if ((flags & has_way_back) != 0) {
    if ((flags & at_once) == 0) {
      connection.role = receiver_with_answer;
      return;
    }
    Endpoint back = connection.peer;
    back.port = static_cast<uint16_t>(load32(connection.head + port_at));
    answer_back(server, back, amount);
  } else if ((flags & reverse) != 0) {
    connection.role = sender;
    connection.budget = is_time(amount) ? server.now_us() + time_us(amount) : amount;
    connection.step = is_time(amount) ? 1 : 0;
    choose_buffer(server);
  }
}

void IperfService::answer_back(Server& server, const Endpoint& peer, uint32_t amount) {
  connecting_ = true;
  Connection* const back = server.connect(peer);
  connecting_ = false;
  if (back == nullptr) return;
  back->step = is_time(amount) ? 1 : 0;
  back->budget = is_time(amount) ? server.now_us() + time_us(amount) : amount;
}

Turn IperfService::send(Server& server, Connection& connection) {
  const bool timed = connection.step == 1;
  if (timed ? server.now_us() >= connection.budget : connection.out >= connection.budget) return Turn::finished;
  bool finished = false;
  const bool moved =
      server.send_pattern(connection, timed ? ~uint64_t{0} : connection.budget - connection.out, &finished);
  return finished ? Turn::finished : moved ? Turn::moved : Turn::idle;
}

void IperfService::on_closed(Server& server, Connection& connection) {
  if (connection.role == receiver_with_answer) {
    Endpoint back = connection.peer;
    back.port = static_cast<uint16_t>(load32(connection.head + port_at));
    answer_back(server, back, load32(connection.head + amount_at));
  }
  choose_buffer(server);
}

void IperfService::choose_buffer(Server& server) {
  bool in = false;
  bool out = false;
  for (uint8_t i = 0; i < server.size(); ++i) {
    const Connection& each = server.at(i);
    if (each.state != Connection::open) continue;
    (each.role == sender ? out : in) = true;
  }
  server.use_buffer(!out ? Server::Layout::in : in ? Server::Layout::both : Server::Layout::out);
}

}  // namespace agent
