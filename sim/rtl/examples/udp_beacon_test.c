/* Receives what udp_beacon.sv sends: from the second datagram on (the first waits for ARP) one in each millisecond. */
#include <stdio.h>
#include <string.h>

#include "rtl_master.h"

#define BOARD_IP 0xC0A80114u /* 192.168.1.20 */
#define DATAGRAMS 10u

static int fail(const char *what, unsigned number) {
  fprintf(stderr, "datagram %u: %s\n", number, what);
  return 1;
}

int driver_test(wizloop_t *bed) {
  const uint64_t millisecond = 1000000;
  const int socket = wizloop_pc_udp_open(bed, 5000);
  unsigned number = 0;
  if (rtl_master_run(bed, 2 * millisecond) != WIZLOOP_OK) return fail(wizloop_error(), number);
  while (number < DATAGRAMS) {
    uint8_t data[64];
    uint32_t ip = 0;
    uint16_t port = 0;
    int bytes = wizloop_pc_receive_from(bed, socket, &ip, &port, data, sizeof data);
    if (bytes == 0) {
      if (rtl_master_run(bed, millisecond) != WIZLOOP_OK) return fail(wizloop_error(), number);
      bytes = wizloop_pc_receive_from(bed, socket, &ip, &port, data, sizeof data);
    }
    if (bytes != 8) return fail("none came within a millisecond, or not 8 bytes", number);
    if (ip != BOARD_IP || port != 5000) return fail("not from 192.168.1.20:5000", number);
    if (data[0] != 0 || data[1] != 0 || data[2] != 0 || data[3] != number || memcmp(data + 4, "W55!", 4) != 0) {
      return fail("not its number and W55!", number);
    }
    ++number;
  }
  return 0;
}
