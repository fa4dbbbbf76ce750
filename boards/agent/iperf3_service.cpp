#include "iperf3_service.hpp"

#include "digits.hpp"
#include "drivers/w5500/bytes.hpp"
#include "page.hpp"

namespace agent {

using w5500::load32;
using w5500::store32;

namespace {

constexpr uint64_t patience_us = 10000000;
constexpr uint64_t test_patience_us = 30000000;
constexpr uint64_t leftover_patience_us = 500000;
constexpr uint32_t longest_json = 16384;
constexpr uint8_t length_bytes = 4;

// What a control connection says, one byte each.
enum Said : uint8_t {
  test_start = 1,
  test_running = 2,
  test_end = 4,
  param_exchange = 9,
  create_streams = 10,
  client_terminate = 12,
  exchange_results = 13,
  display_results = 14,
  iperf_done = 16,
  server_error = 0xFE,
  access_denied = 0xFF,
};

// Error numbers that the client prints as text.
constexpr uint32_t too_many_streams = 6;
constexpr uint32_t not_implemented = 13;

// Streams of a test that is over are left over: the client has closed them, behind what is still on its way.
enum Role : uint8_t { newcomer, controlling, incoming, outgoing, left_over };

// A stream's number in the results: 1, 3, 4, 5 ...
uint8_t id_of(uint8_t stream) { return stream == 0 ? uint8_t{1} : static_cast<uint8_t>(stream + 2); }

}  // namespace

void Iperf3Parameters::take(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    } else if (length_ < sizeof word_) {
      word_[length_++] = c;
    }
    return;
  }
  if (c == '"') {
    in_string_ = true;
    in_value_ = false;  // a string that is a value is none of those looked for
    length_ = 0;
  } else if (c == ':') {
    in_value_ = true;
    number_ = 0;
  } else if (c == ',' || c == '}') {
    if (in_value_) assign();
    in_value_ = false;
  } else if (in_value_ && is_digit(c)) {
    if (number_ < 100000000u) number_ = number_ * 10 + static_cast<uint32_t>(c - '0');
  } else if (in_value_ && c == 't') {
    number_ = 1;  // true
  }
}

void Iperf3Parameters::assign() {
  if (equals(AGENT_TEXT("parallel"), word_, length_)) parallel = number_;
  if (equals(AGENT_TEXT("reverse"), word_, length_)) reverse = number_ != 0;
  if (equals(AGENT_TEXT("udp"), word_, length_)) udp = number_ != 0;
  if (equals(AGENT_TEXT("bidirectional"), word_, length_)) bidirectional = number_ != 0;
}

void Iperf3Service::on_open(Server&, Connection& connection) { connection.role = newcomer; }

Turn Iperf3Service::serve(Server& server, Connection& connection) {
  switch (connection.role) {
    case newcomer:
      return greet(server, connection);
    case controlling:
      return control(server, connection);
    case left_over:
      return drain(server, connection);
    default:
      return move_data(server, connection);
  }
}

void Iperf3Service::on_closed(Server& server, Connection& connection) {
  if (&connection != control_) return;
  control_ = nullptr;
  phase_ = no_test;
  server.use_buffer(Server::Layout::in);
  for (uint8_t i = 0; i < server.size(); ++i) {
    Connection& other = server.at(i);
    if (other.role == incoming || other.role == outgoing) other.role = left_over;
  }
}

Turn Iperf3Service::greet(Server& server, Connection& connection) {
  bool finished = false;
  const uint16_t taken = server.read(connection, connection.head + connection.filled,
                                     static_cast<uint16_t>(cookie_bytes - connection.filled), &finished);
  connection.filled = static_cast<uint16_t>(connection.filled + taken);
  if (finished) return Turn::finished;
  if (connection.filled < cookie_bytes) {
    return server.now_us() - connection.moved_us < patience_us ? Turn::idle : Turn::finished;
  }
  if (control_ == nullptr) {
    control_ = &connection;
    connection.role = controlling;
    connection.filled = 0;
    phase_ = parameters;
    wanted_ = Iperf3Parameters();
    for (uint8_t i = 0; i < cookie_bytes; ++i) cookie_[i] = connection.head[i];
    return say(server, connection, param_exchange) ? Turn::moved : Turn::finished;
  }
  bool same = phase_ == streams;
  for (uint8_t i = 0; i < cookie_bytes; ++i) same = same && cookie_[i] == connection.head[i];
  if (!same) {
    (void)say(server, connection, access_denied);
    return Turn::finished;
  }
  connection.role = wanted_.reverse ? outgoing : incoming;
  connection.step = begun_;
  bytes_[begun_++] = 0;
  if (begun_ < wanted_.parallel) return Turn::moved;
  phase_ = running;
  server.use_buffer(wanted_.reverse ? Server::Layout::out : Server::Layout::in);
  start_us_ = end_us_ = moved_us_ = server.now_us();
  (void)(say(server, *control_, test_start) && say(server, *control_, test_running));  // its own turn tells if not
  return Turn::moved;
}

Turn Iperf3Service::control(Server& server, Connection& connection) {
  if (phase_ == parameters || phase_ == results) return take_json(server, connection);
  uint8_t said = 0;
  bool finished = false;
  const uint16_t taken = server.read(connection, &said, 1, &finished);
  if (finished || (taken > 0 && said == client_terminate)) return Turn::finished;
  if (taken == 0) return is_patient(server, connection) ? Turn::idle : Turn::finished;
  if (phase_ == running && said == test_end) {
    end_us_ = server.now_us();
    phase_ = results;
    connection.filled = 0;
    return say(server, connection, exchange_results) ? Turn::moved : Turn::finished;
  }
  if (phase_ == display && said == iperf_done) return Turn::finished;
  return Turn::moved;
}

bool Iperf3Service::is_patient(Server& server, const Connection& connection) const {
  const uint64_t now_us = server.now_us();
  if (phase_ == running) return now_us - moved_us_ < test_patience_us;
  return now_us - connection.moved_us < patience_us;
}

// Four bytes of length, then the text.
Turn Iperf3Service::take_json(Server& server, Connection& connection) {
  bool finished = false;
  if (connection.filled < length_bytes) {
    const uint16_t taken = server.read(connection, connection.head + connection.filled,
                                       static_cast<uint16_t>(length_bytes - connection.filled), &finished);
    connection.filled = static_cast<uint16_t>(connection.filled + taken);
    if (finished) return Turn::finished;
    if (connection.filled < length_bytes) return is_patient(server, connection) ? Turn::idle : Turn::finished;
    json_left_ = load32(connection.head);
    if (json_left_ > longest_json) return Turn::finished;
  }
  uint8_t piece[64];
  const uint16_t wanted = json_left_ < sizeof piece ? static_cast<uint16_t>(json_left_) : uint16_t{sizeof piece};
  const uint16_t taken = wanted > 0 ? server.read(connection, piece, wanted, &finished) : uint16_t{0};
  if (finished) return Turn::finished;
  if (taken == 0 && wanted > 0) return is_patient(server, connection) ? Turn::idle : Turn::finished;
  if (phase_ == parameters) {
    for (uint16_t i = 0; i < taken; ++i) wanted_.take(static_cast<char>(piece[i]));
  }
  json_left_ -= taken;
  if (json_left_ > 0) return Turn::moved;
  return phase_ == parameters ? begin_streams(server, connection) : send_results(server, connection);
}

Turn Iperf3Service::begin_streams(Server& server, Connection& connection) {
  if (wanted_.udp || wanted_.bidirectional) return refuse(server, connection, not_implemented);
  if (wanted_.parallel == 0 || wanted_.parallel >= server.size()) return refuse(server, connection, too_many_streams);
  begun_ = 0;
  phase_ = streams;
  return say(server, connection, create_streams) ? Turn::moved : Turn::finished;
}

Turn Iperf3Service::refuse(Server& server, Connection& connection, uint32_t error) {
  uint8_t message[9] = {server_error};
  store32(message + 1, error);
  store32(message + 5, 0);
  (void)server.send(connection, message, sizeof message);
  return Turn::finished;
}

Turn Iperf3Service::send_results(Server& server, Connection& connection) {
  server.use_buffer(Server::Layout::in);  // the pattern has done its work
  uint8_t* const data = server.device.buffers.data;
  Page json(data + length_bytes, static_cast<uint16_t>(server.device.buffers.data_bytes - length_bytes));
  json.text(AGENT_TEXT(
      "{\"cpu_util_total\":0,\"cpu_util_user\":0,\"cpu_util_system\":0,\"sender_has_retransmits\":0,\"streams\":["));
  const uint64_t us = end_us_ - start_us_;
  for (uint8_t stream = 0; stream < begun_; ++stream) {
    if (stream > 0) json.character(',');
    json.text(AGENT_TEXT("{\"id\":"));
    json.number(id_of(stream));
    json.text(AGENT_TEXT(",\"bytes\":"));
    json.number(bytes_[stream]);
    json.text(AGENT_TEXT(",\"retransmits\":-1,\"jitter\":0,\"errors\":0,\"packets\":0,\"start_time\":0,\"end_time\":"));
    json.number(us / 1000000);
    json.character('.');
    for (uint32_t digit = 100000; digit > 0; digit /= 10) json.number(us / digit % 10);
    json.character('}');
  }
  json.text(AGENT_TEXT("]}"));
  store32(data, json.length());
  phase_ = display;
  const bool sent = server.send(connection, data, static_cast<uint16_t>(length_bytes + json.length())) &&
                    say(server, connection, display_results);
  return sent ? Turn::moved : Turn::finished;
}

Turn Iperf3Service::move_data(Server& server, Connection& connection) {
  if (phase_ == streams) return Turn::idle;
  bool finished = false;
  bool moved = false;
  uint64_t count = 0;
  if (connection.role == outgoing) {
    // Beyond the end of the test until the client's results are there: it waits for the end of its last block.
    if (phase_ == display) return Turn::idle;
    const uint64_t before = connection.out;
    moved = server.send_pattern(connection, ~uint64_t{0}, &finished);
    count = connection.out - before;
  } else {
    // And what is still on its way then is taken, so that the connection ends in order.
    count = server.read(connection, server.in_data(), server.in_bytes(), &finished);
    moved = count > 0;
  }
  if (phase_ == running) bytes_[connection.step] += count;
  if (moved) moved_us_ = server.now_us();
  return finished ? Turn::finished : moved ? Turn::moved : Turn::idle;
}

Turn Iperf3Service::drain(Server& server, Connection& connection) {
  bool finished = false;
  const uint16_t taken = server.read(connection, server.in_data(), server.in_bytes(), &finished);
  if (finished || server.now_us() - connection.moved_us >= leftover_patience_us) return Turn::finished;
  return taken > 0 ? Turn::moved : Turn::idle;
}

bool Iperf3Service::say(Server& server, Connection& connection, uint8_t state) {
  return server.send(connection, &state, 1);
}

}  // namespace agent
