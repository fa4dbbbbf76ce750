/* A wait for the one-second timer that looks at nothing meanwhile, as DHCP clients do. */
#include "driver_test.h"
#include "wizchip_conf.h"
#include "wizloop_iolibrary.h"

static volatile uint32_t seconds; /* only the interrupt changes it */
void DHCP_time_handler(void);
void DHCP_time_handler(void) { ++seconds; }

int driver_test(wizloop_t* bed) {
  wiz_NetInfo net = {{2, 0, 0, 0, 0, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}};
  const uint64_t before = wizloop_now_ns(bed);

  wizloop_iolibrary_attach(bed, WIZLOOP_IOLIBRARY_BYTE);
  while (seconds < 2) continue;
  wizchip_setnetinfo(&net);
  wizloop_iolibrary_detach();
  return wizloop_now_ns(bed) - before < 2000000000u;
}
