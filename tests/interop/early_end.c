/* A driver that ends the process that it runs in. */
#include <stdlib.h>
#include <unistd.h>

#include "driver_test.h"

int driver_test(wizloop_t *bed) {
  (void)bed;
#if defined(WAY_exit)
  exit(0);
#elif defined(WAY__exit)
  _exit(0);
#else
  abort();
#endif
}
