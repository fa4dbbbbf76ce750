// Text in: what can be read byte by byte, with a timeout on waiting for more.
#ifndef Stream_h
#define Stream_h

#include "Print.h"

// What parseInt() and parseFloat() may skip before the number.
enum LookaheadMode {
  SKIP_ALL,        // anything
  SKIP_NONE,       // nothing
  SKIP_WHITESPACE  // spaces, tabs and ends of lines
};
#define NO_IGNORE_CHAR '\x01'

class Stream : public Print {
 public:
  virtual int available() = 0;
  virtual int read() = 0;
  virtual int peek() = 0;

  void setTimeout(unsigned long ms) { _timeout = ms; }
  unsigned long getTimeout() const { return _timeout; }

  // Reads on until the text has passed; false after a timeout.
  bool find(const char* target) { return find(target, strlen(target)); }
  bool find(const uint8_t* target) { return find((const char*)target); }
  bool find(const char* target, size_t length) { return findUntil(target, length, nullptr, 0); }
  bool find(const uint8_t* target, size_t length) { return find((const char*)target, length); }
  bool find(char target) { return find(&target, 1); }
  // The same, but false as soon as the terminator has passed.
  bool findUntil(const char* target, const char* terminator) {
    return findUntil(target, strlen(target), terminator, terminator == nullptr ? 0 : strlen(terminator));
  }
  bool findUntil(const uint8_t* target, const char* terminator) { return findUntil((const char*)target, terminator); }
  bool findUntil(const char* target, size_t length, const char* terminator, size_t terminator_length);

  // 0 after a timeout. `ignore` is a character that may stand within the number, such as a comma.
  long parseInt(LookaheadMode lookahead = SKIP_ALL, char ignore = NO_IGNORE_CHAR);
  float parseFloat(LookaheadMode lookahead = SKIP_ALL, char ignore = NO_IGNORE_CHAR);

  virtual size_t readBytes(char* buffer, size_t length);
  size_t readBytes(uint8_t* buffer, size_t length) { return readBytes((char*)buffer, length); }
  size_t readBytesUntil(char terminator, char* buffer, size_t length);
  size_t readBytesUntil(char terminator, uint8_t* buffer, size_t length) {
    return readBytesUntil(terminator, (char*)buffer, length);
  }
  String readString();
  String readStringUntil(char terminator);

 protected:
  int timedRead();
  int timedPeek();

  unsigned long _timeout = 1000;

 private:
  int peek_next_digit(LookaheadMode lookahead, bool detect_decimal);
};

#endif
