// DHCP (RFC 2131) and DNS (RFC 1035) as small as a client can be: both build their packets by several writes.
#include "PlainEthernet.h"

namespace {

constexpr uint32_t dhcp_id = 0x57495A31;
constexpr uint8_t DISCOVER = 1, OFFER = 2, REQUEST = 3, ACK = 5;
constexpr uint16_t fixed_bytes = 236;
constexpr unsigned long resend_ms = 1000;

void put32(uint8_t* to, uint32_t value) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

}  // namespace

class DhcpClass {
 public:
  DhcpClass(EthernetClass& ethernet, const uint8_t* mac) : ethernet_(ethernet), mac_(mac) {}

  bool run(unsigned long timeout_ms) {
    const unsigned long start = millis();
    if (udp_.begin(68) != 1) return false;
    uint8_t wants = OFFER;
    unsigned long sent_at = start - resend_ms;
    while (millis() - start < timeout_ms) {
      if (millis() - sent_at >= resend_ms) {
        send(wants == OFFER ? DISCOVER : REQUEST);
        sent_at = millis();
      }
      if (udp_.parsePacket() == 0) {
        delay(1);
      } else if (answer() == wants) {
        if (wants == ACK) {
          udp_.stop();
          return true;
        }
        wants = ACK;
        sent_at = millis() - resend_ms;
      }
    }
    udp_.stop();
    return false;
  }

  IPAddress ip, mask, gateway, dns;

 private:
  void send(uint8_t type) {
    const IPAddress everybody(255, 255, 255, 255);
    uint8_t fixed[fixed_bytes] = {1, 1, 6, 0};
    put32(fixed + 4, dhcp_id);
    fixed[10] = 0x80;  // answer by broadcast
    memcpy(fixed + 28, mac_, 6);
    const uint8_t cookie[] = {99, 130, 83, 99};
    const uint8_t type_option[] = {53, 1, type};
    uint8_t request[] = {50, 4, 0, 0, 0, 0, 54, 4, 0, 0, 0, 0};
    memcpy(request + 2, ip.raw_address(), 4);
    memcpy(request + 8, server_.raw_address(), 4);
    const uint8_t end[] = {55, 3, 1, 3, 6, 255};
    udp_.beginPacket(everybody, 67);
    udp_.write(fixed, sizeof fixed);
    udp_.write(cookie, sizeof cookie);
    udp_.write(type_option, sizeof type_option);
    if (type == REQUEST) udp_.write(request, sizeof request);
    udp_.write(end, sizeof end);
    udp_.endPacket();
  }

  // The type of message, 0 for somebody else's.
  uint8_t answer() {
    uint8_t fixed[fixed_bytes + 4];
    if (udp_.read(fixed, sizeof fixed) != sizeof fixed) return 0;
    uint8_t id[4];
    put32(id, dhcp_id);
    if (memcmp(fixed + 4, id, 4) != 0) return 0;
    ip = IPAddress(fixed + 16);
    uint8_t type = 0;
    while (udp_.available() > 0) {
      const int option = udp_.read();
      if (option == 255) break;
      if (option == 0) continue;
      const int length = udp_.read();
      uint8_t value[4] = {0, 0, 0, 0};
      for (int i = 0; i < length; ++i) {
        const int byte = udp_.read();
        if (i < 4) value[i] = static_cast<uint8_t>(byte);
      }
      if (option == 53) type = value[0];
      if (option == 1) mask = value;
      if (option == 3) gateway = value;
      if (option == 6) dns = value;
      if (option == 54) server_ = value;
    }
    return type;
  }

  EthernetClass& ethernet_;
  const uint8_t* mac_;
  EthernetUDP udp_;
  IPAddress server_;
};

int EthernetClass::begin(const uint8_t* mac, unsigned long timeout_ms) {
  begin(mac, IPAddress(0, 0, 0, 0));
  IPAddress nobody;
  frame(0, 0x01, true, nobody.raw_address(), 4);
  DhcpClass dhcp(*this, mac);
  if (!dhcp.run(timeout_ms)) return 0;
  frame(0, 0x0F, true, dhcp.ip.raw_address(), 4);
  frame(0, 0x05, true, dhcp.mask.raw_address(), 4);
  frame(0, 0x01, true, dhcp.gateway.raw_address(), 4);
  dns_ = dhcp.dns;
  return 1;
}

int EthernetClass::hostByName(const char* name, IPAddress& ip) {
  if (ip.fromString(name)) return 1;
  EthernetUDP udp;
  if (udp.begin(1053) != 1) return 0;
  udp.beginPacket(dns_, 53);
  const uint8_t header[] = {0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0};
  udp.write(header, sizeof header);
  for (const char* label = name; *label != '\0';) {
    const size_t length = strcspn(label, ".");
    udp.write(static_cast<uint8_t>(length));
    udp.write(label, length);
    label += length + (label[length] == '.' ? 1 : 0);
  }
  const uint8_t question_end[] = {0, 0, 1, 0, 1};
  udp.write(question_end, sizeof question_end);
  udp.endPacket();

  int result = 0;
  for (const unsigned long start = millis(); millis() - start < 2000 && udp.parsePacket() == 0;) delay(1);
  uint8_t answer[512];
  const int size = udp.read(answer, sizeof answer);
  // The address is the last thing in an answer with one record of type A.
  if (size > 16 && answer[7] == 1 && (answer[3] & 0x0F) == 0) {
    ip = IPAddress(answer + size - 4);
    result = 1;
  }
  udp.stop();
  return result;
}
