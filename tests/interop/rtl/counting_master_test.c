/* Lets counting_master.sv run for longer than its assertion holds. */
#include <stdio.h>

#include "rtl_master.h"

int driver_test(wizloop_t *bed) {
  if (rtl_master_run(bed, 10000) != WIZLOOP_OK) {
    fprintf(stderr, "%s\n", wizloop_error());
    return 1;
  }
  printf("no assertion has stopped %lu clocks\n", (unsigned long)rtl_master_clocks());
  return 0;
}
