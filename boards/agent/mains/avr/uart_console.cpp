#include "uart_console.hpp"

#include <avr/interrupt.h>
#include <avr/io.h>

namespace agent {
namespace {

// A power of two, so that the indices wrap by themselves. The ATmega328P has a quarter of the memory.
#if RAMEND >= 0x2000
constexpr uint8_t ring_bytes = 128;
#else
constexpr uint8_t ring_bytes = 64;
#endif
volatile uint8_t ring[ring_bytes];
volatile uint8_t written = 0;  // by the interrupt; both count on and wrap at 256
volatile uint8_t taken = 0;
volatile bool overrun = false;

}  // namespace

void UartConsole::begin(uint32_t baud) {
  UCSR0A = _BV(U2X0);
  UBRR0 = static_cast<uint16_t>((F_CPU / 4 / baud - 1) / 2);
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
}

size_t UartConsole::read(uint8_t* data, size_t count) {
  size_t got = 0;
  while (got < count && taken != written) {
    data[got++] = ring[taken % ring_bytes];
    taken = static_cast<uint8_t>(taken + 1);
  }
  return got;
}

void UartConsole::write(const uint8_t* data, size_t count) {
  for (; count != 0; --count) {
    while ((UCSR0A & _BV(UDRE0)) == 0) {
    }
    UDR0 = *data++;
  }
}

bool UartConsole::take_overrun() {
  if (!overrun) return false;
  overrun = false;  // one that comes in between is told with this one
  return true;
}

void UartConsole::wait(uint32_t timeout_us) {
  const uint32_t start = port_.now_us();
  while (taken == written && port_.now_us() - start < timeout_us) {
  }
}

}  // namespace agent

#if defined(USART0_RX_vect)
ISR(USART0_RX_vect) {
#else
ISR(USART_RX_vect) {
#endif
  using namespace agent;
  const uint8_t status = UCSR0A;
  const uint8_t byte = UDR0;
  if ((status & _BV(DOR0)) != 0) overrun = true;
  if (static_cast<uint8_t>(written - taken) == ring_bytes) {
    overrun = true;
    return;
  }
  ring[written % ring_bytes] = byte;
  written = static_cast<uint8_t>(written + 1);
}
