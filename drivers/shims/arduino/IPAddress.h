// An IPv4 address. Libraries reach into it: some by raw_address(), some, as friends, into `_address`.
#ifndef IPAddress_h
#define IPAddress_h

#include <stdint.h>

#include "Printable.h"
#include "WString.h"

class IPAddress : public Printable {
 public:
  IPAddress() : IPAddress(0, 0, 0, 0) {}
  IPAddress(uint8_t first, uint8_t second, uint8_t third, uint8_t fourth);
  // As the four bytes lie in memory.
  IPAddress(uint32_t address) { _address.dword = address; }
  IPAddress(int address) : IPAddress((uint32_t)address) {}
  IPAddress(long address) : IPAddress((uint32_t)address) {}
  IPAddress(unsigned long address) : IPAddress((uint32_t)address) {}
  IPAddress(const uint8_t* address);

  // "192.168.1.20"; false, and nothing changes, if it is anything else.
  bool fromString(const char* text);
  bool fromString(const String& text) { return fromString(text.c_str()); }
  String toString() const;

  operator uint32_t() const { return _address.dword; }
  bool operator==(const IPAddress& other) const { return _address.dword == other._address.dword; }
  bool operator!=(const IPAddress& other) const { return !(*this == other); }
  bool operator==(const uint8_t* address) const;
  uint8_t operator[](int index) const { return _address.bytes[index]; }
  uint8_t& operator[](int index) { return _address.bytes[index]; }
  IPAddress& operator=(const uint8_t* address);
  IPAddress& operator=(uint32_t address);

  uint8_t* raw_address() { return _address.bytes; }
  size_t printTo(Print& to) const override;

 private:
  union {
    uint8_t bytes[4];
    uint32_t dword;
  } _address;

  friend class EthernetClass;
  friend class UDP;
  friend class Client;
  friend class Server;
  friend class DhcpClass;
  friend class DNSClient;
};

#undef INADDR_NONE
extern const IPAddress INADDR_NONE;

#endif
