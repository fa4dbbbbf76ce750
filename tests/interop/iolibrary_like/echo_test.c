/* 64 KiB there and back over TCP, and a wait for the timer that looks at nothing. */
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

int driver_test(wizloop_t *bed) {
  static const uint8_t pc[] = {192, 168, 1, 10};
  uint8_t mask[] = {255, 255, 255, 0}, mac[] = {2, 0, 0, 0, 0, 0x20}, ip[] = {192, 168, 1, 20};
  uint8_t out[CHUNK], in[CHUNK];
  unsigned sent, i;
  uint64_t before;

  wizloop_iolibrary_attach(bed, ACCESS);
  access_block(0x04, 0x05, mask, sizeof mask);
  access_block(0x04, 0x09, mac, sizeof mac);
  access_block(0x04, 0x0F, ip, sizeof ip);

  before = wizloop_now_ns(bed);
  wait_two_seconds();
  access_block(0x00, 0x0F, ip, sizeof ip);
  if (wizloop_now_ns(bed) - before < 2000000000u) return 1;

  if (!socket(0, 1, 5000, 0) || !connect(0, pc, 7)) return 2;
  for (sent = 0; sent < TOTAL; sent += CHUNK) {
    unsigned received = 0;
    for (i = 0; i < CHUNK; ++i) out[i] = (uint8_t)(sent / CHUNK + i);
    send(0, out, CHUNK, 0);
    while (received < CHUNK) received += (unsigned)recv(0, in + received, CHUNK - received, 0);
    if (memcmp(in, out, CHUNK) != 0) return 3;
  }
  close(0);
  wizloop_iolibrary_detach();
  return 0;
}
