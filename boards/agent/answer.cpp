#include "answer.hpp"

namespace agent {

using w5500::Error;

Text code_of(Error error) {
  switch (error) {
    case Error::none:
      return AGENT_TEXT("none");
    case Error::invalid_argument:
      return AGENT_TEXT("bad-value");
    case Error::bus_failed:
      return AGENT_TEXT("bus-failed");
    case Error::no_chip:
      return AGENT_TEXT("no-chip");
    case Error::wrong_version:
      return AGENT_TEXT("wrong-chip");
    case Error::command_timeout:
      return AGENT_TEXT("command-timeout");
    case Error::state_timeout:
      return AGENT_TEXT("state-timeout");
    case Error::send_timeout:
      return AGENT_TEXT("send-timeout");
    case Error::space_timeout:
      return AGENT_TEXT("space-timeout");
    case Error::unstable_counter:
    case Error::implausible_counter:
      return AGENT_TEXT("bad-counter");
    case Error::wrong_state:
      return AGENT_TEXT("wrong-state");
    case Error::refused:
      return AGENT_TEXT("refused");
    case Error::peer_timeout:
      return AGENT_TEXT("peer-timeout");
    case Error::closed_by_peer:
      return AGENT_TEXT("closed-by-peer");
    case Error::no_datagram:
      return AGENT_TEXT("no-datagram");
    case Error::out_of_step:
      return AGENT_TEXT("out-of-step");
    case Error::no_answer:
      return AGENT_TEXT("no-answer");
    case Error::no_such_name:
      return AGENT_TEXT("no-such-name");
    case Error::no_address:
      return AGENT_TEXT("no-address");
    case Error::server_failed:
      return AGENT_TEXT("server-failed");
    case Error::answer_truncated:
      return AGENT_TEXT("answer-truncated");
    default:
      return AGENT_TEXT("driver");
  }
}

void Answer::begin(Text outcome) {
  begun_ = true;
  out_.character('#');
  out_.characters(sequence_);
  out_.character(' ');
  out_.text(outcome);
}

void Answer::ok() { begin(AGENT_TEXT("ok")); }

void Answer::err(Text code) {
  is_err_ = true;
  begin(AGENT_TEXT("err"));
  say(code);
}

void Answer::bad_value(const Request& request) {
  err(request.value_fault() == ValueFault::missing ? AGENT_TEXT("missing-key") : AGENT_TEXT("bad-value"));
  say(request.faulty_key());
}

void Answer::number(Text key, uint64_t value) {
  out_.key(key);
  out_.decimal(value);
}

void Answer::word(Text key, Text value) {
  out_.key(key);
  out_.text(value);
}

void Answer::characters(Text key, const char* value) {
  out_.key(key);
  out_.characters(value);
}

void Answer::characters(Text key, const char* value, uint16_t length) {
  out_.key(key);
  out_.characters(value, length);
}

void Answer::hex(Text key, const uint8_t* data, uint16_t count) {
  out_.key(key);
  out_.hex(data, count);
}

void Answer::ip(Text key, const uint8_t* ip) {
  out_.key(key);
  out_.ip(ip);
}

void Answer::mac(Text key, const uint8_t* mac) {
  out_.key(key);
  out_.mac(mac);
}

void Answer::endpoint(Text key, const w5500::Endpoint& endpoint) {
  ip(key, endpoint.ip);
  out_.character(':');
  out_.decimal(endpoint.port);
}

void Answer::say(Text text) {
  out_.character(' ');
  out_.text(text);
}

void Answer::say(const char* text, uint16_t length) {
  out_.character(' ');
  out_.characters(text, length);
}

}  // namespace agent
