/* 64 KiB there and back over TCP. */
#include <string.h>

#include "driver_test.h"
#include "socket.h"
#include "wizchip_conf.h"
#include "wizloop_iolibrary.h"

#define TOTAL 65536u
#define CHUNK 1024u

#ifndef ACCESS
#define ACCESS WIZLOOP_IOLIBRARY_BURST
#endif

int driver_test(wizloop_t* bed) {
  uint8_t sizes[8] = {2, 2, 2, 2, 2, 2, 2, 2}, pc[] = {192, 168, 1, 10};
  wiz_NetInfo net = {{2, 0, 0, 0, 0, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}};
  uint8_t out[CHUNK], in[CHUNK];
  unsigned sent, i;

  wizloop_iolibrary_attach(bed, ACCESS);
  wizchip_init(sizes, sizes);
  wizchip_setnetinfo(&net);

  if (socket(0, Sn_MR_TCP, 5000, 0) != 0 || connect(0, pc, 7) != SOCK_OK) return 2;
  for (sent = 0; sent < TOTAL; sent += CHUNK) {
    unsigned received = 0;
    for (i = 0; i < CHUNK; ++i) out[i] = (uint8_t)(sent / CHUNK + i);
    send(0, out, CHUNK);
    while (received < CHUNK) received += (unsigned)recv(0, in + received, (uint16_t)(CHUNK - received));
    if (memcmp(in, out, CHUNK) != 0) return 3;
  }
  disconnect(0);
  wizloop_iolibrary_detach();
  return 0;
}
