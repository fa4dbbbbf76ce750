#include "W5500/w5500.h"

#include <stddef.h>

#include "wizchip_conf.h"

void access_block(uint8_t control, uint16_t offset, uint8_t* data, uint16_t bytes) {
  uint8_t header[3];
  uint16_t i;
  header[0] = (uint8_t)(offset >> 8);
  header[1] = (uint8_t)offset;
  header[2] = control;
  wizchip.select();
  if (wizchip.read_burst != NULL) {
    wizchip.write_burst(header, sizeof header);
    if (control & WRITE) {
      wizchip.write_burst(data, bytes);
    } else {
      wizchip.read_burst(data, bytes);
    }
  } else {
    for (i = 0; i < sizeof header; ++i) wizchip.write_byte(header[i]);
    for (i = 0; i < bytes; ++i) {
      if (control & WRITE) {
        wizchip.write_byte(data[i]);
      } else {
        data[i] = wizchip.read_byte();
      }
    }
  }
  wizchip.deselect();
}
