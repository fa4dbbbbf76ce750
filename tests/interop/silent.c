/* A driver that leaves the chip alone, as an RTL master does that is never let out of reset. */
#include "driver_test.h"

int driver_test(wizloop_t *bed) {
  (void)bed;
  return 0;
}
