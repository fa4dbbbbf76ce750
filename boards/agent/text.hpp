// Texts that stay in flash on an AVR, where a string literal would take RAM.
//
//   out.text(AGENT_TEXT("unknown-verb"));      // inside a function that is neither inline nor a template
#ifndef WIZLOOP_AGENT_TEXT_HPP
#define WIZLOOP_AGENT_TEXT_HPP

#include <stdint.h>

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define AGENT_FLASH PROGMEM
#define AGENT_TEXT(literal) (::agent::Text(PSTR(literal)))
#else
#define AGENT_FLASH
#define AGENT_TEXT(literal) (::agent::Text(literal))
#endif

namespace agent {

class Text {
 public:
  constexpr explicit Text(const char* at) : at_(at) {}

  // 0 behind the last character.
  char operator[](uint16_t index) const {
#if defined(__AVR__)
    return static_cast<char>(pgm_read_byte(at_ + index));
#else
    return at_[index];
#endif
  }

 private:
  const char* at_;
};

// Whether the text is these `length` characters.
bool equals(Text text, const char* characters, uint16_t length);

}  // namespace agent

#endif
