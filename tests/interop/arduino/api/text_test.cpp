// String, Print, Stream and IPAddress, against the language reference: what they give for each kind of argument.
#include <Arduino.h>
#include <Client.h>
#include <Server.h>
#include <Udp.h>

#include <string>

#include "check.hpp"
#include "wizloop_arduino.h"

namespace {

std::string text(const String& of) { return of.c_str(); }

// What was printed, as text.
class Paper : public Print {
 public:
  size_t write(uint8_t value) override {
    if (all_.size() == room) {
      setWriteError();
      return 0;
    }
    all_ += static_cast<char>(value);
    return 1;
  }
  using Print::write;
  template <typename... Arguments>
  static std::string of(Arguments... arguments) {
    Paper paper;
    paper.print(arguments...);
    return paper.all_;
  }
  template <typename... Arguments>
  static std::string line_of(Arguments... arguments) {
    Paper paper;
    paper.println(arguments...);
    return paper.all_;
  }
  const std::string& all() const { return all_; }

  size_t room = 1000;

 private:
  std::string all_;
};

// Text that arrives, none of it late.
class Input : public Stream {
 public:
  explicit Input(std::string text) : text_{std::move(text)} { setTimeout(10); }
  int available() override { return static_cast<int>(text_.size()); }
  int read() override {
    const int c = peek();
    if (c >= 0) text_.erase(0, 1);
    return c;
  }
  int peek() override { return text_.empty() ? -1 : static_cast<unsigned char>(text_.front()); }
  size_t write(uint8_t) override { return 0; }
  const std::string& rest() const { return text_; }

 private:
  std::string text_;
};

class Point : public Printable {
 public:
  size_t printTo(Print& to) const override { return to.print("(1,2)"); }
};

void strings() {
  CHECK_EQ(text(String()), "");
  CHECK_EQ(text(String("abc")), "abc");
  CHECK_EQ(text(String(F("flash"))), "flash");
  CHECK_EQ(text(String('x')), "x");
  CHECK_EQ(text(String(static_cast<unsigned char>(200))), "200");
  CHECK_EQ(text(String(-17)), "-17");
  CHECK_EQ(text(String(255, HEX)), "FF");
  CHECK_EQ(text(String(5, BIN)), "101");
  CHECK_EQ(text(String(-1, HEX)), "FFFFFFFF");
  CHECK_EQ(text(String(4000000000UL)), "4000000000");
  CHECK_EQ(text(String(-5000000000LL)), "-5000000000");
  CHECK_EQ(text(String(3.14159)), "3.14");
  CHECK_EQ(text(String(2.5f, 3)), "2.500");
  CHECK_EQ(text(String(static_cast<const char*>(nullptr))), "");
  CHECK(String("") ? true : false);

  String s = "a";
  s += 'b';
  s += 12;
  s += "c";
  s += F("d");
  s += 1.5;
  CHECK_EQ(text(s), "ab12cd1.50");
  CHECK_EQ(text(String("n=") + 5 + ',' + 2.25 + F("!") + String("?")), "n=5,2.25!?");
  CHECK_EQ(text("x" + String("y")), "xy");
  CHECK(s.concat("z") && s.endsWith("z"));

  CHECK(String("abc") == "abc" && String("abc") != "abd" && String("abc") < String("abd"));
  CHECK(String("aBc").equalsIgnoreCase("AbC"));
  CHECK(String("abc").equals("abc") && !String("abc").equals("abcd"));
  CHECK(String("a").compareTo("b") < 0 && String("b").compareTo("a") > 0 && String("a").compareTo("a") == 0);
  CHECK(String("hello").startsWith("he") && String("hello").startsWith("llo", 2) && !String("he").startsWith("hello"));
  CHECK(String("hello").endsWith("llo") && !String("lo").endsWith("hello"));

  const String word = "hello";
  CHECK_EQ(word.charAt(1), 'e');
  CHECK_EQ(word.charAt(99), '\0');
  CHECK_EQ(word[4], 'o');
  CHECK_EQ(word.indexOf('l'), 2);
  CHECK_EQ(word.indexOf('l', 3), 3);
  CHECK_EQ(word.indexOf("lo"), 3);
  CHECK_EQ(word.indexOf("xy"), -1);
  CHECK_EQ(word.lastIndexOf('l'), 3);
  CHECK_EQ(word.lastIndexOf("l", 2), 2);
  CHECK_EQ(text(word.substring(2)), "llo");
  CHECK_EQ(text(word.substring(1, 3)), "el");
  CHECK_EQ(text(word.substring(3, 1)), "el");  // they change places
  CHECK_EQ(text(word.substring(9)), "");
  CHECK_EQ(text(word.substring(3, 99)), "lo");

  String edit = "  Some Text \r\n";
  edit.trim();
  CHECK_EQ(text(edit), "Some Text");
  edit.replace("Text", "longer Text");
  CHECK_EQ(text(edit), "Some longer Text");
  edit.replace('o', '0');
  edit.replace("", "endless");
  CHECK_EQ(text(edit), "S0me l0nger Text");
  edit.remove(4);
  edit.toUpperCase();
  CHECK_EQ(text(edit), "S0ME");
  edit.toLowerCase();
  edit.remove(1, 2);
  CHECK_EQ(text(edit), "se");
  edit.setCharAt(1, 'a');
  edit.setCharAt(7, 'x');
  edit[0] = 'l';
  edit[99] = 'x';
  CHECK_EQ(text(edit), "la");
  String spaces = "   ";
  spaces.trim();
  CHECK(spaces.isEmpty());

  CHECK_EQ(String("42abc").toInt(), 42);
  CHECK_EQ(String(" -7").toInt(), -7);
  CHECK_EQ(String("x").toInt(), 0);
  CHECK_EQ(String("2.5e1").toDouble(), 25.0);
  char buffer[4];
  word.toCharArray(buffer, sizeof buffer);
  CHECK_EQ(std::string{buffer}, "hel");
  word.toCharArray(buffer, sizeof buffer, 99);
  CHECK_EQ(std::string{buffer}, "");
}

void printing() {
  CHECK_EQ(Paper::of("text"), "text");
  CHECK_EQ(Paper::of(F("flash")), "flash");
  CHECK_EQ(Paper::of('c'), "c");
  CHECK_EQ(Paper::of(static_cast<uint8_t>(65)), "65");
  CHECK_EQ(Paper::of(-3), "-3");
  CHECK_EQ(Paper::of(-3, HEX), "FFFFFFFD");
  CHECK_EQ(Paper::of(-1L, BIN), "11111111111111111111111111111111");
  CHECK_EQ(Paper::of(78, BIN), "1001110");
  CHECK_EQ(Paper::of(78, OCT), "116");
  CHECK_EQ(Paper::of(4294967295u), "4294967295");
  CHECK_EQ(Paper::of(-2147483648LL), "-2147483648");
  CHECK_EQ(Paper::of(65, 0), "A");
  CHECK_EQ(Paper::of(1.23456), "1.23");
  CHECK_EQ(Paper::of(1.23456, 4), "1.2346");
  CHECK_EQ(Paper::of(-0.5, 0), "-0");
  CHECK_EQ(Paper::of(NAN), "nan");
  CHECK_EQ(Paper::of(1e10), "ovf");
  CHECK_EQ(Paper::of(INFINITY), "inf");
  CHECK_EQ(Paper::of(String("s")), "s");
  CHECK_EQ(Paper::of(Point{}), "(1,2)");
  CHECK_EQ(Paper::of(true), "1");
  CHECK_EQ(Paper::line_of(IPAddress(10, 0, 0, 7)), "10.0.0.7\r\n");
  CHECK_EQ(Paper::line_of(255, HEX), "FF\r\n");
  CHECK_EQ(Paper::line_of(), "\r\n");

  Paper paper;
  CHECK_EQ(paper.printf("%d of %s", 3, "four"), 9u);
  CHECK_EQ(paper.println(12), 4u);
  CHECK_EQ(paper.write("ab"), 2u);
  CHECK_EQ(paper.write(static_cast<const char*>(nullptr)), 0u);
  CHECK_EQ(paper.all(), "3 of four12\r\nab");

  Paper small;
  small.room = 2;
  CHECK_EQ(small.print("abc"), 2u);
  CHECK_EQ(small.getWriteError(), 1);
  small.clearWriteError();
  CHECK_EQ(small.getWriteError(), 0);
}

void reading() {
  Input numbers{"x=12, y=-7;"};
  CHECK_EQ(numbers.parseInt(), 12);
  CHECK_EQ(numbers.parseInt(), -7);
  CHECK_EQ(numbers.rest(), ";");
  CHECK_EQ(Input{"1,234"}.parseInt(SKIP_ALL, ','), 1234);
  CHECK_EQ(Input{"  5"}.parseInt(SKIP_WHITESPACE), 5);
  CHECK_EQ(Input{"a5"}.parseInt(SKIP_WHITESPACE), 0);
  CHECK_EQ(Input{" 5"}.parseInt(SKIP_NONE), 0);
  CHECK(std::fabs(Input{"t: -2.75C"}.parseFloat() + 2.75f) < 1e-6f);

  CHECK(Input{"aaab"}.find("aab"));
  Input header{"GET / HTTP\r\nHost: x\r\n\r\nbody"};
  CHECK(header.find("\r\n\r\n"));
  CHECK_EQ(header.rest(), "body");
  CHECK(!Input{"abc.def"}.findUntil("def", "."));
  CHECK(Input{"abc.def"}.findUntil("bc", "."));
  CHECK(Input{"abc"}.find('c'));

  Input lines{"first\nsecond"};
  CHECK_EQ(text(lines.readStringUntil('\n')), "first");
  CHECK_EQ(text(lines.readString()), "second");
  char buffer[8] = {};
  Input words{"one;two"};
  CHECK_EQ(words.readBytesUntil(';', buffer, sizeof buffer), 3u);
  CHECK_EQ(words.readBytes(buffer, 2), 2u);
  CHECK_EQ(std::string(buffer, 2), "tw");

  // Nothing comes: the timeout is virtual, and no more than it.
  Input nothing{""};
  nothing.setTimeout(250);
  CHECK_EQ(nothing.getTimeout(), 250u);
  const unsigned long start = millis();
  CHECK(!nothing.find("x"));
  CHECK(millis() - start >= 250 && millis() - start <= 251);
}

void addresses() {
  const IPAddress address(192, 168, 1, 20);
  CHECK_EQ(text(address.toString()), "192.168.1.20");
  CHECK_EQ(address[3], 20);
  const uint8_t bytes[] = {192, 168, 1, 20};
  CHECK(address == bytes && address == IPAddress(bytes) && address != IPAddress(192, 168, 1, 21));
  CHECK_EQ(static_cast<uint32_t>(address), 0x1401A8C0u);  // as the bytes lie in memory
  CHECK(IPAddress(0x1401A8C0u) == address);
  CHECK(INADDR_NONE == IPAddress(0, 0, 0, 0));
  IPAddress edit = bytes;
  edit[0] = 10;
  CHECK_EQ(edit.raw_address()[0], 10);

  IPAddress parsed(1, 2, 3, 4);
  for (const char* const bad : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "a.b.c.d", "1..2.3", "1.2.3.4 "}) {
    CHECK(!parsed.fromString(bad));
  }
  CHECK(parsed == IPAddress(1, 2, 3, 4));
  CHECK(parsed.fromString("255.0.10.9") && parsed == IPAddress(255, 0, 10, 9));
}

void language() {
  CHECK_EQ(min(3, 4), 3);
  CHECK_EQ(max(3, 4.5), 4.5);
  CHECK_EQ(constrain(12, 0, 10), 10);
  CHECK_EQ(map(5, 0, 10, 0, 100), 50);
  CHECK_EQ(map(0, 10, 0, 0, 100), 100);
  CHECK_EQ(map(1, 2, 2, 0, 9), -1);
  unsigned long bits = 0;
  bitSet(bits, 3);
  bitWrite(bits, 0, 1);
  CHECK_EQ(bits, 9u);
  bitClear(bits, 3);
  bitToggle(bits, 1);
  CHECK_EQ(bits, 3u);
  CHECK_EQ(bitRead(bits, 1), 1u);
  CHECK_EQ(bit(4), 16u);
  CHECK_EQ(word(0x12, 0x34), 0x1234);
  CHECK_EQ(int{highByte(0x1234)}, 0x12);
  CHECK_EQ(int{lowByte(0x1234)}, 0x34);
  CHECK(isWhitespace('\t') && !isWhitespace('\n') && isSpace('\n') && isDigit('7') && isHexadecimalDigit('f'));

  static const char flash[] PROGMEM = "flash";
  static const uint16_t numbers[] PROGMEM = {7, 8};
  char copy[8];
  strcpy_P(copy, flash);
  CHECK(strcmp_P(copy, PSTR("flash")) == 0 && strlen_P(flash) == 5);
  CHECK_EQ(pgm_read_word(&numbers[1]), 8);
  CHECK_EQ(static_cast<char>(pgm_read_byte(flash + 1)), 'l');

  randomSeed(7);
  const long first = random(1000), second = random(10, 20);
  CHECK(first >= 0 && first < 1000 && second >= 10 && second < 20);
  randomSeed(7);
  CHECK_EQ(random(1000), first);
  CHECK_EQ(random(5, 5), 5);
  CHECK_EQ(random(0L), 0);
}

}  // namespace

int driver_test(wizloop_t* bed) {
  wizloop_arduino_attach(bed, 10, 9, 2);
  strings();
  printing();
  reading();
  addresses();
  language();
  return failures;
}
