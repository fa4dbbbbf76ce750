// Builds the lines that the agent sends, and their checksum. Bytes go to the console in pieces, so that a line may be
// longer than any buffer.
//
//   out.text(AGENT_TEXT("! progress"));
//   out.key(AGENT_TEXT("bytes"));
//   out.decimal(bytes);
//   out.end(checked);
#ifndef WIZLOOP_AGENT_WRITER_HPP
#define WIZLOOP_AGENT_WRITER_HPP

#include "console.hpp"
#include "crc16.hpp"
#include "text.hpp"

namespace agent {

class Writer {
 public:
  explicit Writer(Console& console) : console_(console) {}

  void character(char c);
  void text(Text text);
  void characters(const char* text);
  void characters(const char* text, uint16_t length);
  void decimal(uint64_t number);
  void hex(const uint8_t* data, uint16_t count);
  void ip(const uint8_t* ip);
  void mac(const uint8_t* mac);
  // " key="
  void key(Text key);
  // Ends the line, with " *HHHH" before it if wanted, and sends it.
  void end(bool with_crc);

 private:
  void flush();

  Console& console_;
  uint16_t crc_ = crc16_start;
  uint8_t count_ = 0;
  uint8_t buffer_[64];
};

}  // namespace agent

#endif
