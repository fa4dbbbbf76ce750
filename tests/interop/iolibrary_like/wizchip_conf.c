#include "wizchip_conf.h"

#include "W5500/w5500.h"

callbacks wizchip;

void reg_wizchip_cris_cbfunc(void (*enter)(void), void (*leave)(void)) { (void)enter, (void)leave; }
void reg_wizchip_cs_cbfunc(void (*select)(void), void (*deselect)(void)) {
  wizchip.select = select;
  wizchip.deselect = deselect;
}
void reg_wizchip_spi_cbfunc(uint8_t (*read)(void), void (*write)(uint8_t)) {
  wizchip.read_byte = read;
  wizchip.write_byte = write;
}
void reg_wizchip_spiburst_cbfunc(void (*read)(uint8_t*, uint16_t), void (*write)(uint8_t*, uint16_t)) {
  wizchip.read_burst = read;
  wizchip.write_burst = write;
}

int8_t wizchip_init(uint8_t* tx_kib, uint8_t* rx_kib) {
  uint8_t mode = 0x80;
  uint8_t number;
  access_block(COMMON | WRITE, 0x00, &mode, 1);
  do {
    access_block(COMMON, 0x00, &mode, 1);
  } while (mode & 0x80);
  for (number = 0; number < 8; ++number) {
    access_block(REGISTERS(number) | WRITE, 0x1E, &rx_kib[number], 1);
    access_block(REGISTERS(number) | WRITE, 0x1F, &tx_kib[number], 1);
  }
  return 0;
}

void wizchip_setnetinfo(wiz_NetInfo* net) {
  access_block(COMMON | WRITE, 0x01, net->gw, sizeof net->gw);
  access_block(COMMON | WRITE, 0x05, net->sn, sizeof net->sn);
  access_block(COMMON | WRITE, 0x09, net->mac, sizeof net->mac);
  access_block(COMMON | WRITE, 0x0F, net->ip, sizeof net->ip);
}
