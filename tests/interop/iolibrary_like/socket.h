/* Functions that bear the names of the C library's, as ioLibrary's do. */
#ifndef SOCKET_H
#define SOCKET_H

#include <stdint.h>

#define Sn_MR_TCP 0x01
#define SOCK_OK 1
#define SOCKERR_TIMEOUT (-13)

int8_t socket(uint8_t number, uint8_t mode, uint16_t port, uint8_t flags);
int8_t connect(uint8_t number, uint8_t* ip, uint16_t port);
int32_t send(uint8_t number, uint8_t* data, uint16_t bytes);
int32_t recv(uint8_t number, uint8_t* data, uint16_t bytes);
int8_t disconnect(uint8_t number);
int8_t close(uint8_t number);

#endif
