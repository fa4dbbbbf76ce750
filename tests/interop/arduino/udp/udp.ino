// A datagram that is written in three pieces, and its echo.
#include <PlainEthernet.h>

byte mac[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x20};
IPAddress pc(192, 168, 1, 10);
EthernetUDP udp;

void setup() {
  Serial.begin(115200);
  Ethernet.begin(mac, IPAddress(192, 168, 1, 20));
  udp.begin(5000);
}

void loop() {
  udp.beginPacket(pc, 7);
  udp.write("abcd");
  udp.print(F("efghij"));
  udp.print(42);
  Serial.print(F("sent "));
  Serial.println(udp.endPacket());

  int size = 0;
  for (unsigned long start = millis(); size == 0 && millis() - start < 500;) size = udp.parsePacket();
  char text[32] = {};
  udp.read(text, 4);
  Serial.print(size);
  Serial.print(F(" bytes from "));
  Serial.print(udp.remoteIP());
  Serial.print(':');
  Serial.print(udp.remotePort());
  Serial.print(' ');
  Serial.print(text);
  while (udp.available()) Serial.write(udp.read());
  Serial.println();
}
