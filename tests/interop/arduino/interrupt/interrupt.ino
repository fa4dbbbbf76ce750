// Looks at the chip only when INTn has said so: once for a datagram, and once more for what is left when its header was read.
#include <PlainEthernet.h>

const uint8_t intn_pin = INTN_PIN;
byte mac[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x20};
EthernetUDP udp;
volatile bool received = false;
volatile unsigned long interrupts_seen = 0;

void setup() {
  Serial.begin(115200);
  Ethernet.begin(mac, IPAddress(192, 168, 1, 20));
  udp.begin(5000);
  Ethernet.interruptOn(0);
  pinMode(intn_pin, INPUT_PULLUP);
  attachInterrupt(digitalPinToInterrupt(intn_pin), on_receive, FALLING);
  Serial.println(F("ready"));
}

void on_receive() {
  received = true;
  interrupts_seen++;
}

void loop() {
  noInterrupts();
  const bool look = received;
  received = false;
  interrupts();
  if (!look) {
    delay(1);
    return;
  }
  Ethernet.clearInterrupt(0);
  while (int size = udp.parsePacket()) {
    Serial.print(size);
    Serial.print(F(" bytes, "));
    Serial.print(interrupts_seen);
    Serial.println(F(" interrupts"));
  }
}
