// Answers each line with its length, and says how many it has answered.
#include <PlainEthernet.h>

byte mac[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x20};
EthernetServer server(2323);

void setup() {
  Serial.begin(115200);
  Ethernet.begin(mac, IPAddress(192, 168, 1, 20));
  server.begin();
}

void loop() {
  static int lines = 0;
  EthernetClient client = server.available();
  if (!client) return;
  String line = client.readStringUntil('\n');
  line.trim();
  client.print(line.length());
  client.println(F(" characters"));
  Serial.println(String(++lines) + ": " + line);
  if (line == "bye") client.stop();
}
