/* WIZnet's ioLibrary on the simulated chip: its callbacks wired to a testbed, its timer ticked.
 *
 *   int driver_test(wizloop_t *bed) {
 *     uint8_t sizes[8] = {2, 2, 2, 2, 2, 2, 2, 2};
 *     wizloop_iolibrary_attach(bed, WIZLOOP_IOLIBRARY_BURST);
 *     if (wizchip_init(sizes, sizes) != 0) return 1;
 *     ...
 *   }
 *
 * Compile ioLibrary with -D_WIZCHIP_=W5500. */
#ifndef WIZLOOP_IOLIBRARY_H
#define WIZLOOP_IOLIBRARY_H

#include "wizloop.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WIZLOOP_IOLIBRARY_BYTE 0  /* reg_wizchip_spi_cbfunc() alone */
#define WIZLOOP_IOLIBRARY_BURST 1 /* reg_wizchip_spiburst_cbfunc() too */

/* Registers the callbacks, and calls DHCP_time_handler() and DNS_time_handler() each second of virtual time where the
 * driver has them. ioLibrary waits in its DHCP client for that second without looking at the chip, so that nothing
 * moves virtual time: firmware that has computed for a quarter of a second of CPU time without any call gets its second
 * then. So does a test that computes for as long: let it call something, or detach first. One testbed at a time, as
 * ioLibrary's callbacks carry no context: attaching another lets go of the one before. */
int wizloop_iolibrary_attach(wizloop_t *bed, int access);
void wizloop_iolibrary_detach(void);

#ifdef __cplusplus
}
#endif

#endif
