// The one answer to a request: ok, or err with its code, and then what was measured.
//
//   answer.ok();
//   answer.number(AGENT_TEXT("bytes"), bytes);
#ifndef WIZLOOP_AGENT_ANSWER_HPP
#define WIZLOOP_AGENT_ANSWER_HPP

#include "drivers/w5500/endpoint.hpp"
#include "drivers/w5500/result.hpp"
#include "request.hpp"
#include "writer.hpp"

namespace agent {

// The code that stands for a driver's error.
Text code_of(w5500::Error error);

class Answer {
 public:
  Answer(Writer& out, const Request& request) : out_(out), sequence_(request.sequence()), checked_(request.checked()) {}

  void ok();
  void err(Text code);
  void err(w5500::Error error) { err(code_of(error)); }
  // missing-key or bad-value, and which.
  void bad_value(const Request& request);

  // After ok() or err().
  void number(Text key, uint64_t value);
  void word(Text key, Text value);
  void characters(Text key, const char* value);
  void characters(Text key, const char* value, uint16_t length);
  void hex(Text key, const uint8_t* data, uint16_t count);
  void ip(Text key, const uint8_t* ip);
  void mac(Text key, const uint8_t* mac);
  void endpoint(Text key, const w5500::Endpoint& endpoint);
  // Free text, to the end of the answer.
  void say(Text text);
  void say(const char* text, uint16_t length);
  Writer& out() { return out_; }

  bool begun() const { return begun_; }
  bool is_err() const { return is_err_; }
  const char* sequence() const { return sequence_; }
  bool checked() const { return checked_; }
  // Sends it.
  void end() { out_.end(checked_); }

 private:
  void begin(Text outcome);

  Writer& out_;
  const char* sequence_;
  bool checked_;
  bool begun_ = false;
  bool is_err_ = false;
};

}  // namespace agent

#endif
