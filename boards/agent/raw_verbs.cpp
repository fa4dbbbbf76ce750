// The chip itself: registers and buffers by reg, SPI frames by spi.
#include "digits.hpp"
#include "drivers/w5500/bytes.hpp"
#include "verbs.hpp"

namespace agent {
namespace {

constexpr uint8_t no_block = 0xFF;
constexpr uint32_t most_waiting_us = 1000000;

// common, s0 to s7, s0-tx, s0-rx ...
uint8_t block_number(const char* name, uint16_t length) {
  if (equals(AGENT_TEXT("common"), name, length)) return w5500::common_block;
  if (length < 2 || name[0] != 's' || name[1] < '0' || name[1] > '7') return no_block;
  const uint8_t socket = static_cast<uint8_t>(name[1] - '0');
  if (length == 2) return w5500::socket_block(socket);
  if (equals(AGENT_TEXT("-tx"), name + 2, static_cast<uint16_t>(length - 2))) return w5500::tx_buffer_block(socket);
  if (equals(AGENT_TEXT("-rx"), name + 2, static_cast<uint16_t>(length - 2))) return w5500::rx_buffer_block(socket);
  return no_block;
}

// Pairs of hexadecimal digits become bytes where they lie; false if they are none.
bool decode_hex(char* digits, uint16_t length) {
  if (length == 0 || length % 2 != 0) return false;
  for (uint16_t i = 0; i < length; ++i) {
    if (hex_value(digits[i]) < 0) return false;
  }
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(digits);
  for (uint16_t i = 0; i < length / 2; ++i) bytes[i] = hex_byte(digits + 2 * i);
  return true;
}

// One token of tx=: bytes with their marks, or a wait.
struct Token {
  enum Kind : uint8_t { bad, bytes, wait, wait_intn };
  Kind kind;
  bool joins;  // + in front: SCSn is low already
  bool holds;  // + behind: SCSn stays low
  char* digits;
  uint16_t length;  // of the digits
  uint32_t us;
};

uint16_t token_length(const char* at) {
  uint16_t length = 0;
  while (at[length] != 0 && at[length] != ',') ++length;
  return length;
}

Token read_token(char* at, uint16_t length) {
  Token token = {Token::bad, false, false, at, length, 0};
  if (length > 0 && (at[0] == 'w' || at[0] == 'i')) {
    if (!parse_number(at + 1, static_cast<uint16_t>(length - 1), &token.us) || token.us > most_waiting_us) return token;
    token.kind = at[0] == 'w' ? Token::wait : Token::wait_intn;
    return token;
  }
  if (token.length > 0 && at[0] == '+') {
    token.joins = true;
    ++token.digits;
    --token.length;
  }
  if (token.length > 0 && token.digits[token.length - 1] == '+') {
    token.holds = true;
    --token.length;
  }
  if (token.length == 0 || token.length % 2 != 0) return token;
  for (uint16_t i = 0; i < token.length; ++i) {
    if (hex_value(token.digits[i]) < 0) return token;
  }
  token.kind = Token::bytes;
  return token;
}

// Whether all tokens are well formed, stay within the time, and only join where SCSn is low.
bool tokens_good(char* at, bool selected, uint32_t timeout_us) {
  uint32_t waiting_us = 0;
  for (;;) {
    const uint16_t length = token_length(at);
    const Token token = read_token(at, length);
    if (token.kind == Token::bad || (token.joins && !selected)) return false;
    if (token.kind == Token::bytes) selected = token.holds;
    waiting_us += token.us;
    if (waiting_us > timeout_us) return false;
    if (at[length] == 0) return true;
    at += length + 1;
  }
}

void exchange(Device& device, const uint8_t* mosi, uint8_t* miso, uint16_t count) {
  switch (device.bus.path()) {
    case Path::byte:
      for (uint16_t i = 0; i < count; ++i) miso[i] = device.port.exchange(mosi[i]);
      return;
    case Path::dma:
      if (device.port.start_dma(mosi, miso, count)) {
        if (device.port.wait_dma(w5500::DmaBus::timeout_us(count))) return;
        device.port.abort_dma();
        ++device.bus.counters.errors;
        return;
      }
      break;
    case Path::burst:
      break;
  }
  device.port.exchange(mosi, miso, count);
}

// The digits of MOSI become those of MISO: n bytes of each fit where 2n digits were.
void perform(Device& device, const Token& token) {
  const uint16_t count = token.length / 2;
  uint8_t* const mosi = reinterpret_cast<uint8_t*>(token.digits);
  uint8_t* const miso = mosi + count;
  for (uint16_t i = 0; i < count; ++i) mosi[i] = hex_byte(token.digits + 2 * i);

  if (!token.joins) {
    device.release_select();
    device.port.select();
  }
  device.selected = true;
  exchange(device, mosi, miso, count);
  if (!token.holds) device.release_select();
  device.bus.counters.bytes += count;
  if (!token.holds) ++device.bus.counters.frames;

  for (uint16_t i = 0; i < count; ++i) {
    const uint8_t byte = miso[i];
    token.digits[2 * i] = hex_digit(static_cast<uint8_t>(byte >> 4));
    token.digits[2 * i + 1] = hex_digit(byte);
  }
}

}  // namespace

void reg(Device& device, Request& request, Answer& answer) {
  uint16_t block_length = 0;
  const char* block_name = request.value(AGENT_TEXT("block"), &block_length);
  if (block_name == nullptr) request.set_fault(ValueFault::missing, AGENT_TEXT("block"));
  const uint8_t block = block_name != nullptr ? block_number(block_name, block_length) : no_block;
  if (block == no_block) request.set_fault(ValueFault::bad, AGENT_TEXT("block"));
  const uint16_t offset = request.number16(AGENT_TEXT("offset"), 0, 65535);
  const uint16_t count = request.number16(AGENT_TEXT("count"), 1, device.buffers.data_bytes, 1);
  uint16_t digits = 0;
  char* data = request.value(AGENT_TEXT("data"), &digits);
  if (data != nullptr && request.has(AGENT_TEXT("count"))) request.set_fault(ValueFault::bad, AGENT_TEXT("count"));
  if (data != nullptr && !decode_hex(data, digits)) request.set_fault(ValueFault::bad, AGENT_TEXT("data"));
  if (!request.values_good()) return answer.bad_value(request);

  if (data != nullptr) {
    const uint16_t bytes = digits / 2;
    // Buffer sizes may have been among what was written.
    device.memory_kib = 0;
    if (!device.bus.write(block, offset, reinterpret_cast<const uint8_t*>(data), bytes)) {
      return answer.err(w5500::Error::bus_failed);
    }
    answer.ok();
    answer.number(AGENT_TEXT("count"), bytes);
    return;
  }
  if (!device.bus.read(block, offset, device.buffers.data, count)) return answer.err(w5500::Error::bus_failed);
  answer.ok();
  answer.hex(AGENT_TEXT("data"), device.buffers.data, count);
}

void spi(Device& device, Request& request, Answer& answer) {
  uint16_t length = 0;
  char* const tokens = request.value(AGENT_TEXT("tx"), &length);
  if (tokens == nullptr) request.set_fault(ValueFault::missing, AGENT_TEXT("tx"));
  const uint32_t timeout_us = 1000 * request.number(AGENT_TEXT("timeout_ms"), 1, 10000, 1000);
  if (tokens != nullptr && !tokens_good(tokens, device.selected, timeout_us)) {
    request.set_fault(ValueFault::bad, AGENT_TEXT("tx"));
  }
  if (!request.values_good()) return answer.bad_value(request);

  device.memory_kib = 0;  // who drives the chip by frames may have changed anything
  const uint32_t errors = device.bus.counters.errors;
  bool asked_intn = false;
  bool intn_low = false;
  const uint32_t start_us = device.port.now_us();
  for (char* at = tokens;;) {
    const uint16_t span = token_length(at);
    const Token token = read_token(at, span);
    if (token.kind == Token::wait) device.port.delay_us(token.us);
    if (token.kind == Token::wait_intn) {
      asked_intn = true;
      intn_low = device.port.wait_for_interrupt(token.us);
    }
    if (token.kind == Token::bytes) perform(device, token);
    if (at[span] == 0) break;
    at += span + 1;
  }
  const uint32_t us = device.port.now_us() - start_us;
  if (device.bus.counters.errors != errors) return answer.err(w5500::Error::bus_failed);

  answer.ok();
  answer.out().key(AGENT_TEXT("rx"));
  bool first = true;
  for (char* at = tokens;;) {
    const uint16_t span = token_length(at);
    const Token token = read_token(at, span);
    if (token.kind == Token::bytes) {
      if (!first) answer.out().character(',');
      answer.out().characters(token.digits, token.length);
      first = false;
    }
    if (at[span] == 0) break;
    at += span + 1;
  }
  answer.number(AGENT_TEXT("us"), us);
  if (asked_intn) answer.number(AGENT_TEXT("intn"), intn_low ? 0 : 1);
}

}  // namespace agent
