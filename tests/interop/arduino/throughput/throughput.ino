// How long 256 KiB take to the PC, and from it, in pieces of the size of a socket buffer.
#include <PlainEthernet.h>

byte mac[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x20};
const IPAddress pc(192, 168, 1, 10);
const unsigned long total = 262144;
EthernetClient client;
byte piece[2048];
unsigned long moved, started;
bool receives;

void setup() {
  Serial.begin(115200);
  Ethernet.clock(80000000);  // as fast as the board can
  Ethernet.begin(mac, IPAddress(192, 168, 1, 20));
  start(5001);
}

void start(uint16_t port) {
  if (!client.connect(pc, port)) Serial.println(F("no connection"));
  moved = 0;
  started = micros();
}

void loop() {
  if (receives) {
    if (client.available() == 0) return;
    const int got = client.read(piece, sizeof piece);
    if (got > 0) moved += got;
  } else {
    for (unsigned long i = 0; i < sizeof piece; i++) piece[i] = moved + i;
    moved += client.write(piece, min(total - moved, sizeof piece));
  }
  if (moved < total) return;
  Serial.print(receives ? F("received in ") : F("sent in "));
  Serial.print(micros() - started);
  Serial.println(F(" us"));
  client.stop();
  receives = true;
  start(19);
}
