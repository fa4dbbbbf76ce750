// One request, taken apart where it lies: #SEQ VERB key=value ... [*HHHH]. Values are read by name; the first one that
// is missing or not what it should be is remembered, so that a verb reads all of them and asks once.
//
//   Request request(line, length);
//   if (request.parse() != RequestFault::none) ...
//   const uint16_t port = request.number16(AGENT_TEXT("port"), 1, 65535);
//   if (!request.values_good()) return answer.bad_value(request);
#ifndef WIZLOOP_AGENT_REQUEST_HPP
#define WIZLOOP_AGENT_REQUEST_HPP

#include <stdint.h>

#include "text.hpp"

namespace agent {

enum class RequestFault : uint8_t { none, syntax, crc };
enum class ValueFault : uint8_t { none, missing, bad };

class Request {
 public:
  static constexpr uint8_t max_sequence_digits = 9;

  // Reads the SEQ alone, as far as there is one; the line ends with a 0 and is changed by parse().
  Request(char* line, uint16_t length);

  RequestFault parse();

  // The digits as they came; "0" if there are none.
  const char* sequence() const { return sequence_; }
  bool same_sequence(const Request& other) const;
  bool checked() const { return checked_; }  // it carried a checksum, right or wrong

  const char* verb() const { return verb_; }
  bool is(Text verb) const;

  // Goes through the words behind the verb: those of the form key=value. Null after the last one.
  const char* next_key(const char* key, uint16_t* length) const;

  bool has(Text key) const;
  uint32_t number(Text key, uint32_t least, uint32_t most);                      // must be there
  uint32_t number(Text key, uint32_t least, uint32_t most, uint32_t otherwise);  // may be left out
  uint16_t number16(Text key, uint16_t least, uint16_t most);
  uint16_t number16(Text key, uint16_t least, uint16_t most, uint16_t otherwise);
  uint64_t number64(Text key, uint64_t otherwise);
  bool flag(Text key, bool otherwise);  // 0 or 1
  void ip(Text key, uint8_t (&ip)[4]);  // must be there
  // Leaves the address alone if there is none.
  void ip_if_given(Text key, uint8_t (&ip)[4]);
  void mac_if_given(Text key, uint8_t (&mac)[6]);
  // Which of these words, separated by blanks, the value is: 0 for the first. Missing: `otherwise`.
  uint8_t choice(Text key, Text words, uint8_t otherwise);
  // The value itself, to be changed where it lies; null if there is none.
  char* value(Text key, uint16_t* length);
  void set_fault(ValueFault fault, Text key);

  bool values_good() const { return fault_ == ValueFault::none; }
  ValueFault value_fault() const { return fault_; }
  Text faulty_key() const { return faulty_key_; }

 private:
  bool parse_checksum();
  uint64_t checked_number(Text key, uint64_t least, uint64_t most, const uint64_t* otherwise);

  char* line_;
  uint16_t length_;
  uint16_t at_ = 0;  // behind the SEQ
  char sequence_[max_sequence_digits + 1];
  bool has_sequence_ = false;
  bool checked_ = false;
  const char* verb_ = "";
  char* words_ = nullptr;  // behind the verb
  ValueFault fault_ = ValueFault::none;
  Text faulty_key_;
};

}  // namespace agent

#endif
