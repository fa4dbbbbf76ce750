/* SCSn is not low before synchronous_master.sv has been clocked: there are as many frames as it sends, each of four bytes. */
#include <stdio.h>

#include "rtl_master.h"

int driver_test(wizloop_t *bed) {
  uint64_t frames = 0, bytes = 0;
  if (rtl_master_run(bed, 20) != WIZLOOP_OK) {
    fprintf(stderr, "%s\n", wizloop_error());
    return 1;
  }
  wizloop_counter(bed, "spi_frames", &frames);
  if (frames != 0) {
    fprintf(stderr, "a frame has begun in reset\n");
    return 1;
  }
  rtl_master_run(bed, 10000);
  wizloop_counter(bed, "spi_frames", &frames);
  wizloop_counter(bed, "spi_bytes", &bytes);
  if (frames != 4 || bytes != 12) {
    fprintf(stderr, "%lu frames of %lu bytes in all\n", (unsigned long)frames, (unsigned long)bytes);
    return 1;
  }
  return 0;
}
