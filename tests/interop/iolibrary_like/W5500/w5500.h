#ifndef W5500_H
#define W5500_H

#include <stdint.h>

/* Control bytes. */
#define COMMON 0x00
#define REGISTERS(number) ((uint8_t)((number)*0x20 + 0x08))
#define TX_BUFFER(number) ((uint8_t)((number)*0x20 + 0x10))
#define RX_BUFFER(number) ((uint8_t)((number)*0x20 + 0x18))
#define WRITE 0x04

/* One frame, byte by byte or in bursts. */
void access_block(uint8_t control, uint16_t offset, uint8_t* data, uint16_t bytes);

#endif
