#ifndef SOCKET_H
#define SOCKET_H

#include <stdint.h>

int socket(int number, int mode, int port, int flags);
int connect(int number, const uint8_t *ip, int port);
long send(int number, const void *data, unsigned long bytes, int flags);
long recv(int number, void *data, unsigned long bytes, int flags);
int close(int number);
void wait_two_seconds(void);

#endif
