/* A socket library whose functions bear the names of the C library's, as ioLibrary's do, and whose timer is a variable that
 * only an interrupt changes. */
#include <string.h>

#include "socket.h"
#include "wizchip_conf.h"

static void (*select_chip)(void), (*deselect_chip)(void);
static uint8_t (*read_byte)(void);
static void (*write_byte)(uint8_t);
static void (*read_burst)(uint8_t *, uint16_t), (*write_burst)(uint8_t *, uint16_t);
static volatile uint32_t seconds;

void reg_wizchip_cris_cbfunc(void (*enter)(void), void (*leave)(void)) { (void)enter, (void)leave; }
void reg_wizchip_cs_cbfunc(void (*select)(void), void (*deselect)(void)) {
  select_chip = select;
  deselect_chip = deselect;
}
void reg_wizchip_spi_cbfunc(uint8_t (*read)(void), void (*write)(uint8_t)) {
  read_byte = read;
  write_byte = write;
}
void reg_wizchip_spiburst_cbfunc(void (*read)(uint8_t *, uint16_t), void (*write)(uint8_t *, uint16_t)) {
  read_burst = read;
  write_burst = write;
}

void access_block(uint8_t control, uint16_t offset, uint8_t *data, uint16_t bytes) {
  uint8_t header[3];
  uint16_t i;
  header[0] = (uint8_t)(offset >> 8);
  header[1] = (uint8_t)offset;
  header[2] = control;
  select_chip();
  if (read_burst != NULL) {
    write_burst(header, sizeof header);
    if (control & 0x04) {
      write_burst(data, bytes);
    } else {
      read_burst(data, bytes);
    }
  } else {
    for (i = 0; i < sizeof header; ++i) write_byte(header[i]);
    for (i = 0; i < bytes; ++i) {
      if (control & 0x04) {
        write_byte(data[i]);
      } else {
        data[i] = read_byte();
      }
    }
  }
  deselect_chip();
}

static uint16_t get(uint16_t offset, uint16_t bytes) {
  uint8_t data[2] = {0, 0};
  access_block(0x08, offset, data, bytes);
  return bytes == 1 ? data[0] : (uint16_t)(data[0] << 8 | data[1]);
}
static void put(uint16_t offset, uint16_t value, uint16_t bytes) {
  uint8_t data[2];
  data[0] = (uint8_t)(bytes == 1 ? value : value >> 8);
  data[1] = (uint8_t)value;
  access_block(0x0C, offset, data, bytes);
}
static void command(uint8_t code) {
  put(0x01, code, 1);
  while (get(0x01, 1) != 0) continue;
}

int socket(int number, int mode, int port, int flags) {
  (void)number, (void)flags;
  put(0x00, (uint16_t)mode, 1);
  put(0x04, (uint16_t)port, 2);
  command(0x01);
  return get(0x03, 1) != 0;
}
int connect(int number, const uint8_t *ip, int port) {
  uint8_t copy[4];
  (void)number;
  memcpy(copy, ip, sizeof copy);
  access_block(0x0C, 0x0C, copy, sizeof copy);
  put(0x10, (uint16_t)port, 2);
  command(0x04);
  while (get(0x03, 1) != 0x17) {
    if (get(0x02, 1) & 0x08) return 0;
  }
  return 1;
}
long send(int number, const void *data, unsigned long bytes, int flags) {
  uint8_t copy[2048];
  const uint16_t at = get(0x24, 2);
  (void)number, (void)flags;
  memcpy(copy, data, bytes);
  while (get(0x20, 2) < bytes) continue;
  access_block(0x14, at, copy, (uint16_t)bytes);
  put(0x24, (uint16_t)(at + bytes), 2);
  command(0x20);
  while ((get(0x02, 1) & 0x10) == 0) continue;
  put(0x02, 0x10, 1);
  return (long)bytes;
}
long recv(int number, void *data, unsigned long bytes, int flags) {
  uint16_t there, at;
  (void)number, (void)flags;
  while ((there = get(0x26, 2)) == 0) continue;
  if (there > bytes) there = (uint16_t)bytes;
  at = get(0x28, 2);
  access_block(0x18, at, data, there);
  put(0x28, (uint16_t)(at + there), 2);
  command(0x40);
  return there;
}
int close(int number) {
  (void)number;
  command(0x08);
  while (get(0x03, 1) != 0) continue;
  return 0;
}

void DHCP_time_handler(void) { ++seconds; }
void wait_two_seconds(void) {
  const uint32_t start = seconds;
  while (seconds - start < 2) continue;
}
