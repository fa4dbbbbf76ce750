#include "counter.h"

#include <Arduino.h>

int Counter::next() {
  delay(1);
  return ++count_;
}
