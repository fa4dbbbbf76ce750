// Something that can print itself: IPAddress, and classes of a sketch.
#ifndef Printable_h
#define Printable_h

#include <stddef.h>

class Print;

class Printable {
 public:
  virtual size_t printTo(Print& to) const = 0;
};

#endif
