// 64 KiB to the echo service of the PC and back, in pieces that no buffer size divides.
#include <PlainEthernet.h>

const byte mac[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x20};
const IPAddress pc(192, 168, 1, 10);
const long total = 65536;
EthernetClient client;

void setup() {
  Serial.begin(115200);
  Ethernet.transfers(TRANSFER);
  Ethernet.begin(mac, IPAddress(192, 168, 1, 20));
  Serial.print(F("address "));
  Serial.println(Ethernet.localIP());
  if (!client.connect(pc, 7)) fail(F("no connection"));
}

void loop() {
  static long sent = 0, received = 0;
  byte piece[1000];
  if (sent < total && sent - received <= 1000) {
    const int count = min(total - sent, (long)sizeof piece);
    for (int i = 0; i < count; i++) piece[i] = pattern(sent + i);
    sent += client.write(piece, count);
  }
  const int got = client.read(piece, sizeof piece);
  for (int i = 0; i < got; i++) {
    if (piece[i] != pattern(received + i)) fail(F("wrong byte"));
  }
  if (got > 0) received += got;
  if (received == total) {
    client.stop();
    Serial.print(received);
    Serial.println(F(" bytes echoed"));
  }
}

byte pattern(long at) { return at * 7 + at / 256; }

void fail(const __FlashStringHelper *why) {
  Serial.println(why);
  Serial.println(F("failed"));
}
