// WIZ_ASSERT(condition): a bug of ours, never of the firmware or the network. On in every build; one condition each.
#pragma once

#include <cstdio>
#include <cstdlib>

#define WIZ_ASSERT(condition)                                                                         \
  do {                                                                                                \
    if (!(condition)) [[unlikely]] {                                                                  \
      std::fprintf(stderr, "%s:%d: wizloop bug: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                   \
    }                                                                                                 \
  } while (false)
