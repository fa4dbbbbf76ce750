/* The part of an API like ioLibrary's that its shim and the test of drivers/shims/README.md use. Names, signatures and
 * files are the interface; what is behind them here is a small library of the tests' own. */
#ifndef WIZCHIP_CONF_H
#define WIZCHIP_CONF_H

#include <stdint.h>

typedef struct {
  uint8_t mac[6], ip[4], sn[4], gw[4];
} wiz_NetInfo;

void reg_wizchip_cris_cbfunc(void (*enter)(void), void (*leave)(void));
void reg_wizchip_cs_cbfunc(void (*select)(void), void (*deselect)(void));
void reg_wizchip_spi_cbfunc(uint8_t (*read)(void), void (*write)(uint8_t byte));
void reg_wizchip_spiburst_cbfunc(void (*read)(uint8_t* data, uint16_t bytes),
                                 void (*write)(uint8_t* data, uint16_t bytes));

/* Resets the chip by MR.RST and sets the buffer sizes, in KiB; 0 if all went well. */
int8_t wizchip_init(uint8_t* tx_kib, uint8_t* rx_kib);
void wizchip_setnetinfo(wiz_NetInfo* net);

/* What the callbacks are for: one frame. */
typedef struct {
  void (*select)(void), (*deselect)(void);
  uint8_t (*read_byte)(void);
  void (*write_byte)(uint8_t byte);
  void (*read_burst)(uint8_t* data, uint16_t bytes), (*write_burst)(uint8_t* data, uint16_t bytes);
} callbacks;
extern callbacks wizchip;

#endif
