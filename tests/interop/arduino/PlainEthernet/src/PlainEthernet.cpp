#include "PlainEthernet.h"

#include <SPI.h>

EthernetClass Ethernet;

namespace {

// Offsets, commands and states: W5500 datasheet 4.1 and 4.2.
constexpr uint16_t MR = 0x00, GAR = 0x01, SUBR = 0x05, SHAR = 0x09, SIPR = 0x0F, SIMR = 0x18;
constexpr uint16_t Sn_MR = 0x00, Sn_CR = 0x01, Sn_IR = 0x02, Sn_SR = 0x03, Sn_PORT = 0x04, Sn_DIPR = 0x0C,
                   Sn_DPORT = 0x10, Sn_RXBUF_SIZE = 0x1E, Sn_TXBUF_SIZE = 0x1F, Sn_TX_FSR = 0x20, Sn_TX_WR = 0x24,
                   Sn_RX_RSR = 0x26, Sn_RX_RD = 0x28, Sn_IMR = 0x2C;
constexpr uint8_t tcp = 0x01, udp = 0x02;
constexpr uint8_t OPEN = 0x01, LISTEN = 0x02, CONNECT = 0x04, DISCON = 0x08, CLOSE = 0x10, SEND = 0x20, RECV = 0x40;
constexpr uint8_t CLOSED = 0x00, LISTENING = 0x14, ESTABLISHED = 0x17, FIN_WAIT = 0x18, CLOSE_WAIT = 0x1C;
constexpr uint8_t SENDOK = 0x10, TIMEOUT = 0x08, RECEIVED = 0x04;
constexpr uint16_t largest_write = 2048;
constexpr unsigned long stop_limit_ms = 1000;
constexpr uint8_t datagram_header_bytes = 8;

uint16_t server_ports[8];
uint16_t source_port = 49152;

constexpr uint8_t registers_of(uint8_t socket) { return static_cast<uint8_t>(socket * 4 + 1); }
constexpr uint8_t tx_buffer_of(uint8_t socket) { return static_cast<uint8_t>(socket * 4 + 2); }
constexpr uint8_t rx_buffer_of(uint8_t socket) { return static_cast<uint8_t>(socket * 4 + 3); }

}  // namespace

// The chip -----------------------------------------------------------------------------------------------------------

void EthernetClass::frame(uint8_t block, uint16_t offset, bool is_write, uint8_t* data, uint16_t count) {
  uint8_t header[] = {highByte(offset), lowByte(offset), static_cast<uint8_t>(block << 3 | (is_write ? 4 : 0))};
  SPI.beginTransaction(SPISettings(clock_hz_, MSBFIRST, SPI_MODE0));
  digitalWrite(scsn_pin_, LOW);
  if (how_ == Transfer::bytes) {
    for (const uint8_t byte : header) SPI.transfer(byte);
    for (uint16_t i = 0; i < count; ++i) {
      const uint8_t in = SPI.transfer(is_write ? data[i] : uint8_t{0});
      if (!is_write) data[i] = in;
    }
  } else {
    SPI.transfer(header, sizeof header);
    if (how_ == Transfer::two_buffers || is_write) {
      SPI.transfer(is_write ? data : nullptr, is_write ? nullptr : data, count);
    } else {
      memset(data, 0, count);
      SPI.transfer(data, count);
    }
  }
  digitalWrite(scsn_pin_, HIGH);
  SPI.endTransaction();
}

uint8_t EthernetClass::get(uint8_t socket, uint16_t offset) {
  uint8_t value;
  frame(registers_of(socket), offset, false, &value, 1);
  return value;
}

void EthernetClass::put(uint8_t socket, uint16_t offset, uint8_t value) {
  frame(registers_of(socket), offset, true, &value, 1);
}

uint16_t EthernetClass::get16(uint8_t socket, uint16_t offset) {
  const uint8_t high = get(socket, offset);
  return word(high, get(socket, static_cast<uint16_t>(offset + 1)));
}

void EthernetClass::put16(uint8_t socket, uint16_t offset, uint16_t value) {
  put(socket, offset, highByte(value));
  put(socket, static_cast<uint16_t>(offset + 1), lowByte(value));
}

uint16_t EthernetClass::stable16(uint8_t socket, uint16_t offset) {
  uint16_t first, second = 0;
  do {
    first = get16(socket, offset);
    if (first != 0) second = get16(socket, offset);
  } while (first != second);
  return second;
}

void EthernetClass::command(uint8_t socket, uint8_t code) {
  put(socket, Sn_CR, code);
  while (get(socket, Sn_CR) != 0) continue;
}

IPAddress EthernetClass::address(uint16_t offset) {
  IPAddress ip;
  frame(0, offset, false, ip.raw_address(), 4);
  return ip;
}

void EthernetClass::start() {
  pinMode(scsn_pin_, OUTPUT);
  digitalWrite(scsn_pin_, HIGH);
  SPI.begin();
  delay(1000);
  uint8_t mode;
  frame(0, MR, false, &mode, 1);
  mode |= 0x80;
  frame(0, MR, true, &mode, 1);
  for (uint8_t socket = 0; socket < sockets; ++socket) {
    put(socket, Sn_RXBUF_SIZE, 2);
    put(socket, Sn_TXBUF_SIZE, 2);
  }
}

void EthernetClass::begin(const uint8_t* mac, IPAddress ip) {
  start();
  IPAddress gateway = ip, mask(255, 255, 255, 0);
  gateway[3] = 1;
  uint8_t own[6];
  memcpy(own, mac, sizeof own);
  frame(0, SHAR, true, own, sizeof own);
  frame(0, SIPR, true, ip._address.bytes, 4);
  frame(0, GAR, true, gateway._address.bytes, 4);
  frame(0, SUBR, true, mask._address.bytes, 4);
}

void EthernetClass::interruptOn(uint8_t socket) {
  put(socket, Sn_IMR, RECEIVED);
  uint8_t sockets_mask = static_cast<uint8_t>(bit(socket));
  frame(0, SIMR, true, &sockets_mask, 1);
}

void EthernetClass::clearInterrupt(uint8_t socket) { put(socket, Sn_IR, RECEIVED); }

// Sockets ------------------------------------------------------------------------------------------------------------

void EthernetClass::open(uint8_t socket, uint8_t mode, uint16_t port) {
  close(socket);
  put(socket, Sn_MR, mode);
  put16(socket, Sn_PORT, port);
  command(socket, OPEN);
}

void EthernetClass::close(uint8_t socket) {
  command(socket, CLOSE);
  put(socket, Sn_IR, 0xFF);
}

void EthernetClass::destination(uint8_t socket, IPAddress ip, uint16_t port) {
  frame(registers_of(socket), Sn_DIPR, true, ip.raw_address(), 4);
  put16(socket, Sn_DPORT, port);
}

void EthernetClass::append(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count) {
  const uint16_t at = static_cast<uint16_t>(get16(socket, Sn_TX_WR) + offset);
  frame(tx_buffer_of(socket), at, true, const_cast<uint8_t*>(data), count);
  put16(socket, Sn_TX_WR, static_cast<uint16_t>(at + count));
}

// -1: nothing is there, but more may come.
int EthernetClass::receive(uint8_t socket, uint8_t* data, uint16_t count) {
  uint16_t waiting = stable16(socket, Sn_RX_RSR);
  if (waiting == 0) {
    const uint8_t state = get(socket, Sn_SR);
    return state == LISTENING || state == CLOSED || state == CLOSE_WAIT ? 0 : -1;
  }
  waiting = min(waiting, count);
  const uint16_t at = get16(socket, Sn_RX_RD);
  frame(rx_buffer_of(socket), at, false, data, waiting);
  put16(socket, Sn_RX_RD, static_cast<uint16_t>(at + waiting));
  command(socket, RECV);
  return waiting;
}

// Client -------------------------------------------------------------------------------------------------------------

int EthernetClient::connect(IPAddress ip, uint16_t port) {
  if (socket_ != EthernetClass::none) return 0;
  for (uint8_t socket = 0; socket < EthernetClass::sockets; ++socket) {
    const uint8_t state = Ethernet.get(socket, Sn_SR);
    if (state != CLOSED && state != FIN_WAIT && state != CLOSE_WAIT) continue;
    socket_ = socket;
    break;
  }
  if (socket_ == EthernetClass::none) return 0;
  Ethernet.open(socket_, tcp, source_port++);
  Ethernet.destination(socket_, ip, port);
  Ethernet.command(socket_, CONNECT);
  while (Ethernet.get(socket_, Sn_SR) != ESTABLISHED) {
    delay(1);
    if (Ethernet.get(socket_, Sn_SR) != CLOSED) continue;
    socket_ = EthernetClass::none;
    return 0;
  }
  return 1;
}

int EthernetClient::connect(const char* host, uint16_t port) {
  IPAddress ip;
  return Ethernet.hostByName(host, ip) == 1 ? connect(ip, port) : 0;
}

size_t EthernetClient::write(const uint8_t* buffer, size_t size) {
  if (socket_ == EthernetClass::none) return 0;
  const uint16_t count = min(size, size_t{largest_write});
  while (true) {
    const uint16_t free = Ethernet.stable16(socket_, Sn_TX_FSR);
    const uint8_t state = Ethernet.get(socket_, Sn_SR);
    if (state != ESTABLISHED && state != CLOSE_WAIT) return 0;
    if (free >= count) break;
  }
  Ethernet.append(socket_, 0, buffer, count);
  Ethernet.command(socket_, SEND);
  while ((Ethernet.get(socket_, Sn_IR) & SENDOK) == 0) {
    if (Ethernet.get(socket_, Sn_SR) != CLOSED) continue;
    Ethernet.close(socket_);
    return 0;
  }
  Ethernet.put(socket_, Sn_IR, SENDOK);
  return count;
}

int EthernetClient::available() { return socket_ == EthernetClass::none ? 0 : Ethernet.stable16(socket_, Sn_RX_RSR); }

int EthernetClient::read() {
  uint8_t byte;
  return read(&byte, 1) == 1 ? byte : -1;
}

int EthernetClient::read(uint8_t* buffer, size_t size) {
  return socket_ == EthernetClass::none ? 0 : Ethernet.receive(socket_, buffer, static_cast<uint16_t>(size));
}

int EthernetClient::peek() {
  if (available() == 0) return -1;
  uint8_t byte;
  Ethernet.frame(rx_buffer_of(socket_), Ethernet.get16(socket_, Sn_RX_RD), false, &byte, 1);
  return byte;
}

void EthernetClient::stop() {
  if (socket_ == EthernetClass::none) return;
  Ethernet.command(socket_, DISCON);
  const unsigned long start = millis();
  while (Ethernet.get(socket_, Sn_SR) != CLOSED && millis() - start < stop_limit_ms) delay(1);
  if (Ethernet.get(socket_, Sn_SR) != CLOSED) Ethernet.close(socket_);
  server_ports[socket_] = 0;
  socket_ = EthernetClass::none;
}

uint8_t EthernetClient::connected() {
  if (socket_ == EthernetClass::none) return 0;
  const uint8_t state = Ethernet.get(socket_, Sn_SR);
  return state != LISTENING && state != CLOSED && state != FIN_WAIT && (state != CLOSE_WAIT || available() > 0);
}

// Server -------------------------------------------------------------------------------------------------------------

void EthernetServer::begin() {
  for (uint8_t socket = 0; socket < EthernetClass::sockets; ++socket) {
    if (Ethernet.get(socket, Sn_SR) != CLOSED) continue;
    Ethernet.open(socket, tcp, port_);
    server_ports[socket] = port_;
    Ethernet.command(socket, LISTEN);
    return;
  }
}

EthernetClient EthernetServer::available() {
  uint8_t found = EthernetClass::none;
  bool listening = false;
  for (uint8_t socket = 0; socket < EthernetClass::sockets; ++socket) {
    if (server_ports[socket] != port_) continue;
    const uint8_t state = Ethernet.get(socket, Sn_SR);
    const uint16_t waiting = Ethernet.stable16(socket, Sn_RX_RSR);
    if (state == LISTENING) listening = true;
    if (state == CLOSE_WAIT && waiting == 0) EthernetClient(socket).stop();
    if ((state == ESTABLISHED || state == CLOSE_WAIT) && waiting > 0 && found == EthernetClass::none) found = socket;
  }
  if (!listening) begin();
  return EthernetClient(found);
}

size_t EthernetServer::write(const uint8_t* buffer, size_t size) {
  for (uint8_t socket = 0; socket < EthernetClass::sockets; ++socket) {
    if (server_ports[socket] == port_ && Ethernet.get(socket, Sn_SR) == ESTABLISHED)
      EthernetClient(socket).write(buffer, size);
  }
  return size;
}

// UDP ----------------------------------------------------------------------------------------------------------------

uint8_t EthernetUDP::begin(uint16_t port) {
  for (uint8_t socket = 0; socket < EthernetClass::sockets; ++socket) {
    if (Ethernet.get(socket, Sn_SR) != CLOSED) continue;
    Ethernet.open(socket, udp, port);
    socket_ = socket;
    remaining_ = 0;
    return 1;
  }
  return 0;
}

void EthernetUDP::stop() {
  if (socket_ != EthernetClass::none) Ethernet.close(socket_);
  socket_ = EthernetClass::none;
}

int EthernetUDP::beginPacket(IPAddress ip, uint16_t port) {
  filled_ = 0;
  if (socket_ == EthernetClass::none) return 0;
  Ethernet.destination(socket_, ip, port);
  return 1;
}

int EthernetUDP::beginPacket(const char* host, uint16_t port) {
  IPAddress ip;
  return Ethernet.hostByName(host, ip) == 1 ? beginPacket(ip, port) : 0;
}

size_t EthernetUDP::write(const uint8_t* buffer, size_t size) {
  const uint16_t count = min(static_cast<uint16_t>(size), Ethernet.stable16(socket_, Sn_TX_FSR));
  Ethernet.append(socket_, filled_, buffer, count);
  filled_ = static_cast<uint16_t>(filled_ + count);
  return count;
}

int EthernetUDP::endPacket() {
  Ethernet.command(socket_, SEND);
  uint8_t causes;
  do {
    causes = Ethernet.get(socket_, Sn_IR);
  } while ((causes & (SENDOK | TIMEOUT)) == 0);
  Ethernet.put(socket_, Sn_IR, SENDOK | TIMEOUT);
  return (causes & SENDOK) != 0;
}

int EthernetUDP::parsePacket() {
  if (socket_ == EthernetClass::none) return 0;
  while (remaining_ > 0) read();
  if (Ethernet.stable16(socket_, Sn_RX_RSR) == 0) return 0;
  uint8_t header[datagram_header_bytes];
  if (Ethernet.receive(socket_, header, sizeof header) <= 0) return 0;
  memcpy(rawIPAddress(remote_ip_), header, 4);
  remote_port_ = word(header[4], header[5]);
  remaining_ = word(header[6], header[7]);
  return remaining_;
}

int EthernetUDP::read() {
  uint8_t byte;
  return read(&byte, 1) == 1 ? byte : -1;
}

int EthernetUDP::read(unsigned char* buffer, size_t size) {
  if (remaining_ == 0) return 0;
  const int got = Ethernet.receive(socket_, buffer, static_cast<uint16_t>(min(size, size_t{remaining_})));
  if (got > 0) remaining_ = static_cast<uint16_t>(remaining_ - got);
  return got;
}
