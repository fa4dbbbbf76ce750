// Checks for a driver_test(): each failure is printed with its place, and driver_test() returns how many there were.
#pragma once

#include <cstdio>
#include <iostream>

inline int failures = 0;

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                         \
    }                                                                     \
  } while (false)

#define CHECK_EQ(actual, wanted)                                                                               \
  do {                                                                                                         \
    const auto is = (actual);                                                                                  \
    if (!(is == (wanted))) {                                                                                   \
      std::cout << __FILE__ << ":" << __LINE__ << ": " << #actual << " is " << is << ", expected " << (wanted) \
                << std::endl;                                                                                  \
      ++failures;                                                                                              \
    }                                                                                                          \
  } while (false)
