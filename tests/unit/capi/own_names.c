/* A driver that defines, as WIZnet's ioLibrary does and as ports of BSD code do, the names of system calls. None of them
 * may be reached from within wizloop, whatever it does: each ends the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wizloop.h"

/* Under the name itself, whatever the compiler knows of it. */
#define TRAP(name)                                            \
  void trap_##name(void) __asm__(#name);                      \
  void trap_##name(void) {                                    \
    fputs("wizloop called the driver's " #name "()\n", stderr); \
    abort();                                                  \
  }

TRAP(socket)
TRAP(listen)
TRAP(disconnect)
TRAP(setsockopt)
TRAP(getsockopt)
TRAP(bind)
TRAP(accept)
TRAP(connect)
TRAP(sendto)
TRAP(recvfrom)
TRAP(select)
TRAP(poll)
TRAP(shutdown)
TRAP(close)
TRAP(send)
TRAP(recv)
TRAP(read)
TRAP(write)
TRAP(open)

int main(int argc, char **argv) {
  static const char *const settings[] = {"fault.link_loss=nth=1"};
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  wizloop_t *bed;
  uint8_t version = 0;
  int pings;
  uint64_t answered = 0;
  static char pcap[4096], trace[4096];
  (void)argc;

  snprintf(pcap, sizeof pcap, "%s.pcapng", argv[0]);
  snprintf(trace, sizeof trace, "%s.trace", argv[0]);
  config.board = "w55rp20";
  config.settings = settings;
  config.setting_count = 1;
  config.pcap_file = pcap;
  config.trace_file = trace;
  bed = wizloop_create(&config);
  if (bed == NULL) {
    fprintf(stderr, "%s\n", wizloop_error());
    return 1;
  }
  wizloop_advance_ns(bed, 1000000);
  wizloop_read(bed, 0, 0x39, &version, 1);
  wizloop_write(bed, 0, 0x05, "\377\377\377\000", 4);
  wizloop_write(bed, 0, 0x09, "\002\000\000\000\000\040", 6);
  wizloop_write(bed, 0, 0x0F, "\300\250\001\024", 4);
  pings = wizloop_pc_serve(bed, "ping", "to=192.168.1.20 count=3 interval_ms=10");
  wizloop_advance_ns(bed, 3000000000u);
  wizloop_pc_count(bed, pings, "answered", &answered);
  if (wizloop_destroy(bed) != WIZLOOP_OK) {
    fprintf(stderr, "%s\n", wizloop_error());
    return 1;
  }
  if (version != 4 || answered < 2) {
    fprintf(stderr, "VERSIONR %02X, %lu pings answered\n", version, (unsigned long)answered);
    return 1;
  }
  return 0;
}
