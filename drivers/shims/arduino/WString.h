// Text that grows, and text in flash.
#ifndef String_class_h
#define String_class_h

#include <stddef.h>
#include <stdint.h>

#include <string>

class __FlashStringHelper;
#define FPSTR(text) (reinterpret_cast<const __FlashStringHelper*>(text))
#define F(text) FPSTR(PSTR(text))

class String {
 public:
  String(const char* text = "") : text_(text == nullptr ? "" : text) {}
  String(const char* text, unsigned int length) : text_(text, length) {}
  String(const __FlashStringHelper* text) : String(reinterpret_cast<const char*>(text)) {}
  explicit String(char c) : text_(1, c) {}
  explicit String(unsigned char value, unsigned char base = 10);
  explicit String(int value, unsigned char base = 10);
  explicit String(unsigned int value, unsigned char base = 10);
  explicit String(long value, unsigned char base = 10);
  explicit String(unsigned long value, unsigned char base = 10);
  explicit String(long long value, unsigned char base = 10);
  explicit String(unsigned long long value, unsigned char base = 10);
  explicit String(float value, unsigned char digits = 2) : String((double)value, digits) {}
  explicit String(double value, unsigned char digits = 2);

  bool reserve(unsigned int size) {
    text_.reserve(size);
    return true;
  }
  unsigned int length() const { return (unsigned int)text_.size(); }
  bool isEmpty() const { return text_.empty(); }
  const char* c_str() const { return text_.c_str(); }
  char* begin() { return &text_[0]; }
  char* end() { return begin() + length(); }
  const char* begin() const { return c_str(); }
  const char* end() const { return c_str() + length(); }
  explicit operator bool() const { return true; }  // a string that could not be allocated would not be

  template <typename Value>
  bool concat(const Value& value) {
    *this += value;
    return true;
  }
  bool concat(const char* text, unsigned int length) {
    text_.append(text, length);
    return true;
  }
  String& operator+=(const String& other) {
    text_ += other.text_;
    return *this;
  }
  String& operator+=(const char* text) { return *this += String(text); }
  String& operator+=(const __FlashStringHelper* text) { return *this += String(text); }
  template <typename Value>
  String& operator+=(Value value) {
    return *this += String(value);
  }

  int compareTo(const String& other) const { return text_.compare(other.text_); }
  bool equals(const String& other) const { return text_ == other.text_; }
  bool equalsIgnoreCase(const String& other) const;
  bool operator==(const String& other) const { return text_ == other.text_; }
  bool operator!=(const String& other) const { return text_ != other.text_; }
  bool operator<(const String& other) const { return text_ < other.text_; }
  bool operator>(const String& other) const { return text_ > other.text_; }
  bool operator<=(const String& other) const { return text_ <= other.text_; }
  bool operator>=(const String& other) const { return text_ >= other.text_; }
  bool operator==(const char* text) const { return *this == String(text); }
  bool operator!=(const char* text) const { return !(*this == text); }
  bool startsWith(const String& prefix) const { return startsWith(prefix, 0); }
  bool startsWith(const String& prefix, unsigned int offset) const;
  bool endsWith(const String& suffix) const;

  // 0 beyond the end.
  char charAt(unsigned int index) const { return index < length() ? text_[index] : '\0'; }
  void setCharAt(unsigned int index, char c) {
    if (index < length()) text_[index] = c;
  }
  char operator[](unsigned int index) const { return charAt(index); }
  char& operator[](unsigned int index);
  void getBytes(unsigned char* buffer, unsigned int size, unsigned int index = 0) const;
  void toCharArray(char* buffer, unsigned int size, unsigned int index = 0) const {
    getBytes((unsigned char*)buffer, size, index);
  }

  // -1: not there.
  int indexOf(char c, unsigned int from = 0) const { return place(text_.find(c, from)); }
  int indexOf(const String& part, unsigned int from = 0) const { return place(text_.find(part.text_, from)); }
  int lastIndexOf(char c) const { return place(text_.rfind(c)); }
  int lastIndexOf(char c, unsigned int from) const { return place(text_.rfind(c, from)); }
  int lastIndexOf(const String& part) const { return place(text_.rfind(part.text_)); }
  int lastIndexOf(const String& part, unsigned int from) const { return place(text_.rfind(part.text_, from)); }
  String substring(unsigned int begin) const { return substring(begin, length()); }
  String substring(unsigned int begin, unsigned int end) const;

  void replace(char find, char with);
  void replace(const String& find, const String& with);
  void remove(unsigned int index) { remove(index, length()); }
  void remove(unsigned int index, unsigned int count);
  void toLowerCase();
  void toUpperCase();
  void trim();

  long toInt() const;
  float toFloat() const { return (float)toDouble(); }
  double toDouble() const;

 private:
  static int place(size_t found) { return found == std::string::npos ? -1 : (int)found; }

  std::string text_;
};

// What `a + b` is in the original, where it saves copies.
typedef String StringSumHelper;

inline String operator+(String left, const String& right) { return left += right; }
inline String operator+(String left, const char* right) { return left += right; }
inline String operator+(String left, const __FlashStringHelper* right) { return left += right; }
template <typename Value>
String operator+(String left, Value right) {
  return left += String(right);
}

#endif
