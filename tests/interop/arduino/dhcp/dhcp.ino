// An address by DHCP, another by DNS, and a connection to it.
#include <PlainEthernet.h>

byte mac[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x20};
EthernetClient client;

void setup() {
  Serial.begin(115200);
  if (Ethernet.begin(mac) == 0) {
    Serial.println(F("no server"));
    return;
  }
  Serial.print(F("address "));
  Serial.println(Ethernet.localIP());
  Serial.print(F("gateway "));
  Serial.println(Ethernet.gatewayIP());
  IPAddress nobody;
  Serial.print(F("unknown name "));
  Serial.println(Ethernet.hostByName("nobody.example", nobody));
  Serial.print(F("connected "));
  Serial.println(client.connect("echo.example", 7));
  client.println(F("hello, echo"));
  client.setTimeout(500);
  Serial.println(client.readStringUntil('\r'));
  client.stop();
  Serial.println(F("done"));
}

void loop() {}
