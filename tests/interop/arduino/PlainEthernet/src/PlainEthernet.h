// An Ethernet library for the W5500 in the shape that Arduino's have: the classes that sketches know, over one SPI
// frame for each register, 16-bit registers as two halves. The frames of a call and their order are those of
// drivers/patterns' Ethernet2 (see its header), so that a sketch can be held against the scenarios that use that
// pattern.
#pragma once

#include <Arduino.h>
#include <Client.h>
#include <IPAddress.h>
#include <Server.h>
#include <Udp.h>

enum class Transfer : uint8_t {
  bytes,       // SPI.transfer(byte), each in turn
  in_place,    // SPI.transfer(buffer, count)
  two_buffers  // SPI.transfer(out, in, count)
};

class EthernetClass {
 public:
  // Before begin(), where it is not as usual.
  void init(uint8_t scsn_pin) { scsn_pin_ = scsn_pin; }
  void clock(uint32_t hz) { clock_hz_ = hz; }
  void transfers(Transfer how) { how_ = how; }

  void begin(const uint8_t* mac, IPAddress ip);
  // By DHCP: 0 if no server has answered in time.
  int begin(const uint8_t* mac, unsigned long timeout_ms = 5000);
  IPAddress localIP() { return address(0x0F); }
  IPAddress gatewayIP() { return address(0x01); }
  IPAddress dnsServerIP() const { return dns_; }
  // By DNS: 0 if the name has no address.
  int hostByName(const char* name, IPAddress& ip);
  // INTn falls for what is received on this socket.
  void interruptOn(uint8_t socket);
  // Lets it rise; before the data is read, so that what comes meanwhile pulls it again.
  void clearInterrupt(uint8_t socket);

 private:
  friend class EthernetClient;
  friend class EthernetServer;
  friend class EthernetUDP;
  friend class DhcpClass;

  static constexpr uint8_t sockets = 8, none = 0xFF;

  void start();
  void frame(uint8_t block, uint16_t offset, bool is_write, uint8_t* data, uint16_t count);
  IPAddress address(uint16_t offset);

  uint8_t get(uint8_t socket, uint16_t offset);
  void put(uint8_t socket, uint16_t offset, uint8_t value);
  uint16_t get16(uint8_t socket, uint16_t offset);
  void put16(uint8_t socket, uint16_t offset, uint16_t value);
  uint16_t stable16(uint8_t socket, uint16_t offset);
  void command(uint8_t socket, uint8_t code);
  void open(uint8_t socket, uint8_t mode, uint16_t port);
  void close(uint8_t socket);
  void destination(uint8_t socket, IPAddress ip, uint16_t port);
  void append(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count);
  int receive(uint8_t socket, uint8_t* data, uint16_t count);

  uint8_t scsn_pin_ = 10;
  uint32_t clock_hz_ = 8000000;
  Transfer how_ = Transfer::bytes;
  IPAddress dns_;
};
extern EthernetClass Ethernet;

class EthernetClient : public Client {
 public:
  EthernetClient() {}
  explicit EthernetClient(uint8_t socket) : socket_(socket) {}
  int connect(IPAddress ip, uint16_t port) override;
  int connect(const char* host, uint16_t port) override;
  size_t write(uint8_t byte) override { return write(&byte, 1); }
  // At most 2048 bytes at once, whatever is asked for.
  size_t write(const uint8_t* buffer, size_t size) override;
  int available() override;
  int read() override;
  int read(uint8_t* buffer, size_t size) override;
  int peek() override;
  void flush() override {}
  void stop() override;
  uint8_t connected() override;
  operator bool() override { return socket_ != EthernetClass::none; }
  using Print::write;

 private:
  uint8_t socket_ = EthernetClass::none;
};

class EthernetServer : public Server {
 public:
  explicit EthernetServer(uint16_t port) : port_(port) {}
  void begin() override;
  // The connection that has something to read, if any.
  EthernetClient available();
  size_t write(uint8_t byte) override { return write(&byte, 1); }
  size_t write(const uint8_t* buffer, size_t size) override;
  using Print::write;

 private:
  uint16_t port_;
};

class EthernetUDP : public UDP {
 public:
  uint8_t begin(uint16_t port) override;
  void stop() override;
  int beginPacket(IPAddress ip, uint16_t port) override;
  int beginPacket(const char* host, uint16_t port) override;
  int endPacket() override;
  size_t write(uint8_t byte) override { return write(&byte, 1); }
  size_t write(const uint8_t* buffer, size_t size) override;
  int parsePacket() override;
  int available() override { return remaining_; }
  int read() override;
  int read(unsigned char* buffer, size_t size) override;
  int read(char* buffer, size_t size) override { return read(reinterpret_cast<unsigned char*>(buffer), size); }
  int peek() override { return -1; }
  void flush() override {}
  IPAddress remoteIP() override { return remote_ip_; }
  uint16_t remotePort() override { return remote_port_; }
  using Print::write;

 private:
  uint8_t socket_ = EthernetClass::none;
  uint16_t filled_ = 0;
  uint16_t remaining_ = 0;
  IPAddress remote_ip_;
  uint16_t remote_port_ = 0;
};
