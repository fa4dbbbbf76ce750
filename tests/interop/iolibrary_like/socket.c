#include "socket.h"

#include "W5500/w5500.h"

static uint16_t get(uint8_t number, uint16_t offset, uint16_t bytes) {
  uint8_t data[2] = {0, 0};
  access_block(REGISTERS(number), offset, data, bytes);
  return bytes == 1 ? data[0] : (uint16_t)(data[0] << 8 | data[1]);
}
static void put(uint8_t number, uint16_t offset, uint16_t value, uint16_t bytes) {
  uint8_t data[2];
  data[0] = (uint8_t)(bytes == 1 ? value : value >> 8);
  data[1] = (uint8_t)value;
  access_block(REGISTERS(number) | WRITE, offset, data, bytes);
}
static void command(uint8_t number, uint8_t code) {
  put(number, 0x01, code, 1);
  while (get(number, 0x01, 1) != 0) continue;
}

int8_t socket(uint8_t number, uint8_t mode, uint16_t port, uint8_t flags) {
  put(number, 0x00, (uint16_t)(mode | flags), 1);
  put(number, 0x04, port, 2);
  command(number, 0x01);
  while (get(number, 0x03, 1) == 0) continue;
  return (int8_t)number;
}
int8_t connect(uint8_t number, uint8_t* ip, uint16_t port) {
  access_block(REGISTERS(number) | WRITE, 0x0C, ip, 4);
  put(number, 0x10, port, 2);
  command(number, 0x04);
  while (get(number, 0x03, 1) != 0x17) {
    if (get(number, 0x02, 1) & 0x08) return SOCKERR_TIMEOUT;
  }
  return SOCK_OK;
}
int32_t send(uint8_t number, uint8_t* data, uint16_t bytes) {
  const uint16_t at = get(number, 0x24, 2);
  while (get(number, 0x20, 2) < bytes) continue;
  access_block(TX_BUFFER(number) | WRITE, at, data, bytes);
  put(number, 0x24, (uint16_t)(at + bytes), 2);
  command(number, 0x20);
  while ((get(number, 0x02, 1) & 0x10) == 0) continue;
  put(number, 0x02, 0x10, 1);
  return bytes;
}
int32_t recv(uint8_t number, uint8_t* data, uint16_t bytes) {
  uint16_t there, at;
  while ((there = get(number, 0x26, 2)) == 0) continue;
  if (there > bytes) there = bytes;
  at = get(number, 0x28, 2);
  access_block(RX_BUFFER(number), at, data, there);
  put(number, 0x28, (uint16_t)(at + there), 2);
  command(number, 0x40);
  return there;
}
int8_t disconnect(uint8_t number) {
  command(number, 0x08);
  while (get(number, 0x03, 1) != 0) continue;
  return SOCK_OK;
}
int8_t close(uint8_t number) {
  command(number, 0x10);
  return SOCK_OK;
}
