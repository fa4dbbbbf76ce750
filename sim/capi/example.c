/* A complete program on the C ABI: a driver of a dozen lines opens a UDP socket on the chip, sends a datagram to the
 * simulated PC and gets it back; then firmware with a bug hangs and is found out.
 *
 *   cc -std=c89 example.c $(pkg-config --cflags --libs wizloop) -o example && ./example
 */
#include <stdio.h>
#include <string.h>

#include "wizloop.h"

#define COMMON 0
#define S0 1
#define S0_TX 2
#define S0_RX 3

/* Everything the "driver" knows of its board: three functions, as a port would supply them. */
static wizloop_t *board;

static void frame(int block, unsigned offset, int is_write, uint8_t *data, size_t bytes) {
  uint8_t header[3];
  header[0] = (uint8_t)(offset >> 8);
  header[1] = (uint8_t)offset;
  header[2] = (uint8_t)(block << 3 | (is_write ? 4 : 0));
  wizloop_scsn(board, 0);
  wizloop_spi_transfer(board, header, NULL, sizeof header);
  if (is_write) {
    wizloop_spi_transfer(board, data, NULL, bytes);
  } else {
    wizloop_spi_transfer(board, NULL, data, bytes);
  }
  wizloop_scsn(board, 1);
}

static void put(int block, unsigned offset, const char *bytes, size_t count) {
  uint8_t data[64];
  memcpy(data, bytes, count);
  frame(block, offset, 1, data, count);
}

static unsigned get(int block, unsigned offset, size_t count) {
  uint8_t data[2];
  frame(block, offset, 0, data, count);
  return count == 1 ? data[0] : (unsigned)(data[0] << 8 | data[1]);
}

static void command(char code) {
  put(S0, 0x01, &code, 1); /* Sn_CR */
  while (get(S0, 0x01, 1) != 0) continue;
}

static int udp_round_trip(void) {
  char received[8 + 5];
  put(COMMON, 0x05, "\377\377\377\000", 4);         /* SUBR */
  put(COMMON, 0x09, "\002\000\000\000\000\040", 6); /* SHAR */
  put(COMMON, 0x0F, "\300\250\001\024", 4);         /* SIPR 192.168.1.20 */
  put(S0, 0x00, "\002", 1);                         /* Sn_MR: UDP */
  put(S0, 0x04, "\023\210", 2);                     /* Sn_PORT 5000 */
  command(0x01);                                    /* OPEN */
  put(S0, 0x0C, "\300\250\001\012\000\007", 6);     /* Sn_DIPR 192.168.1.10, Sn_DPORT 7 */
  put(S0_TX, get(S0, 0x24, 2), "hello", 5);
  put(S0, 0x24, "\000\005", 2); /* Sn_TX_WR, 0 after OPEN */
  command(0x20);                /* SEND */
  while ((get(S0, 0x02, 1) & 0x10) == 0) continue;
  put(S0, 0x02, "\020", 1);                      /* Sn_IR: SENDOK */
  while (get(S0, 0x26, 2) < 8 + 5) continue;     /* Sn_RX_RSR */
  frame(S0_RX, 0, 0, (uint8_t *)received, 8 + 5); /* the sender's address and the length come first */
  put(S0, 0x28, "\000\015", 2);                  /* Sn_RX_RD */
  command(0x40);                                 /* RECV */
  return memcmp(received + 8, "hello", 5) == 0;
}

/* Waits for a SENDOK that no SEND will give. */
static void firmware_with_a_bug(void *context) {
  (void)context;
  while ((get(S0, 0x02, 1) & 0x10) == 0) continue;
}

int main(void) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  int failed;

  config.name = "example";
  config.pcap_file = "example.pcapng";
  config.poll_limit_ns = 1000000000; /* a second of one and the same answer is a hang */
  board = wizloop_create(&config);
  if (board == NULL) {
    fprintf(stderr, "%s\n", wizloop_error());
    return 1;
  }
  wizloop_pc_serve(board, "udp-echo", "port=7");
  wizloop_advance_ns(board, 1000000); /* the chip's PLL */

  failed = !udp_round_trip();
  printf("round trip: %s after %lu us\n", failed ? "failed" : "ok", (unsigned long)(wizloop_now_ns(board) / 1000));
  failed |= wizloop_failing(board) != 0; /* a clean driver so far */

  if (wizloop_run(board, firmware_with_a_bug, NULL) == WIZLOOP_E_HANG) printf("%s\n", wizloop_error());
  fputs(wizloop_report(board), stdout);
  failed |= wizloop_failing(board) != 1; /* endless-poll */

  if (wizloop_destroy(board) != WIZLOOP_OK) {
    fprintf(stderr, "%s\n", wizloop_error());
    return 1;
  }
  return failed;
}
