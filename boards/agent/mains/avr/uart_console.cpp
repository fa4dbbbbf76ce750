#include "uart_console.hpp"

#include <avr/interrupt.h>
#include <avr/io.h>

#include "../receive_ring.hpp"

namespace agent {
namespace {

// The ATmega328P has a quarter of the memory.
#if RAMEND >= 0x2000
ReceiveRing<uint8_t, 128> ring;
#else
ReceiveRing<uint8_t, 64> ring;
#endif

}  // namespace

void UartConsole::begin(uint32_t baud) {
  UCSR0A = _BV(U2X0);
  UBRR0 = static_cast<uint16_t>((F_CPU / 4 / baud - 1) / 2);
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
}

size_t UartConsole::read(uint8_t* data, size_t count) { return ring.take(data, count); }

void UartConsole::write(const uint8_t* data, size_t count) {
  for (; count != 0; --count) {
    while ((UCSR0A & _BV(UDRE0)) == 0) {
    }
    UDR0 = *data++;
  }
}

bool UartConsole::take_overrun() { return ring.take_overrun(); }

void UartConsole::wait(uint32_t timeout_us) {
  const uint32_t start = port_.now_us();
  while (ring.empty() && port_.now_us() - start < timeout_us) {
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
  if ((status & _BV(DOR0)) != 0) ring.lose();
  ring.put(byte);
}
