// Two .ino files, a header and a C++ file of one sketch; functions called before they are defined, in ways that a prototype
// has to get right.
#include "counter.h"

struct Range {
  int low, high;
};

void setup() {
  Serial.begin(115200);
  const Range range = range_of(3, 9);
  Serial.println(String("range ") + range.low + '-' + range.high);
  Serial.println(largest(4, 7));
  Serial.println(described("{text}", '!'));
  Serial.println(from_second_file());
  blink();
}

void loop() {
  Counter counter;
  while (counter.next() < 3) continue;
  Serial.println(F("done"));
}

Range range_of(int low, int high) { return {low, high}; }

template <typename T>
T largest(T a, T b) {
  return a < b ? b : a;
}

String described(const char *text, char mark = ':') {
  return String(text) + mark;
}

#if defined(NO_BOARD_HAS_THIS)
Missing blink(Missing way) {}
#else
void blink() { digitalWrite(LED_BUILTIN, HIGH); }
#endif
