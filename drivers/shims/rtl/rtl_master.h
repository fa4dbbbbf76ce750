/* An SPI master in RTL in front of the chip model, for the test of one: wizloop_add_rtl_master() verilates the master and
 * brings what is below.
 *
 *   int driver_test(wizloop_t *bed) {
 *     const int sink = wizloop_pc_udp_open(bed, 5000);
 *     rtl_master_run(bed, 5000000);  // 5 ms of virtual time
 *     return wizloop_pc_receive_from(bed, sink, NULL, NULL, data, sizeof data) > 0 ? 0 : 1;
 *   }
 *
 * The master's ports are clk, rst_n, scsn, sclk, mosi (out), miso and intn. It is held in reset for its first four clocks. */
#ifndef WIZLOOP_RTL_MASTER_H
#define WIZLOOP_RTL_MASTER_H

#include "driver_test.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Clocks the master for so long, at least one clock. WIZLOOP_OK, or a code of wizloop.h. */
int rtl_master_run(wizloop_t *bed, uint64_t ns);
/* How many clocks it has had, those of its reset included. */
uint64_t rtl_master_clocks(void);

#ifdef __cplusplus
}
#endif

#endif
