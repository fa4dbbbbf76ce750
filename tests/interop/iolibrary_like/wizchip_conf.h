/* The part of an API like ioLibrary's that its shim uses: callbacks without a context, registered by function. Names and
 * signatures are the interface; what is behind them here is a small library of the tests' own. */
#ifndef WIZCHIP_CONF_H
#define WIZCHIP_CONF_H

#include <stdint.h>

void reg_wizchip_cris_cbfunc(void (*enter)(void), void (*leave)(void));
void reg_wizchip_cs_cbfunc(void (*select)(void), void (*deselect)(void));
void reg_wizchip_spi_cbfunc(uint8_t (*read)(void), void (*write)(uint8_t byte));
void reg_wizchip_spiburst_cbfunc(void (*read)(uint8_t *data, uint16_t bytes),
                                 void (*write)(uint8_t *data, uint16_t bytes));

void access_block(uint8_t control, uint16_t offset, uint8_t *data, uint16_t bytes);

#endif
