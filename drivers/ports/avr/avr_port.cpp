#include "avr_port.hpp"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

namespace avr {
namespace {

// SS must be an output, or the SPI may fall back to being a slave.
#if defined(__AVR_ATmega2560__)
constexpr uint8_t scs = _BV(PB4), sck = _BV(PB1), mosi_pin = _BV(PB2), ss = _BV(PB0);
bool intn_low() { return (PINE & _BV(PE4)) == 0; }
void pull_up_intn() { PORTE |= _BV(PE4); }
#elif defined(__AVR_ATmega328P__)
constexpr uint8_t scs = _BV(PB2), sck = _BV(PB5), mosi_pin = _BV(PB3), ss = _BV(PB2);
bool intn_low() { return (PIND & _BV(PD2)) == 0; }
void pull_up_intn() { PORTD |= _BV(PD2); }
#else
#error "unknown AVR: say where its SPI pins and D2 are"
#endif

// Timer 1 counts half microseconds and overflows each 32768 us.
volatile uint32_t overflows = 0;

}  // namespace

void AvrPort::begin() {
  PORTB |= scs;
  DDRB |= static_cast<uint8_t>(scs | sck | mosi_pin | ss);
  pull_up_intn();
  SPCR = _BV(SPE) | _BV(MSTR);
  SPSR = _BV(SPI2X);  // F_CPU / 2
  TCCR1A = 0;
  TCCR1B = _BV(CS11);  // F_CPU / 8
  TIMSK1 = _BV(TOIE1);
}

void AvrPort::select() { PORTB &= static_cast<uint8_t>(~scs); }
void AvrPort::deselect() { PORTB |= scs; }

uint8_t AvrPort::exchange(uint8_t mosi) {
  SPDR = mosi;
  while ((SPSR & _BV(SPIF)) == 0) {
  }
  return SPDR;
}

void AvrPort::exchange(const uint8_t* mosi, uint8_t* miso, size_t count) {
  if (count == 0) return;
  SPDR = mosi != nullptr ? *mosi : 0;
  while (--count != 0) {
    // The next byte is fetched while this one moves, which takes 16 cycles.
    const uint8_t next = mosi != nullptr ? *++mosi : uint8_t{0};
    while ((SPSR & _BV(SPIF)) == 0) {
    }
    const uint8_t in = SPDR;
    SPDR = next;
    if (miso != nullptr) *miso++ = in;
  }
  while ((SPSR & _BV(SPIF)) == 0) {
  }
  const uint8_t last = SPDR;
  if (miso != nullptr) *miso = last;
}

uint32_t AvrPort::now_us() {
  uint32_t high;
  uint16_t low;
  ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
    low = TCNT1;
    high = overflows;
    // An overflow that waits for its interrupt; if the counter stood high, it came after it was read.
    if ((TIFR1 & _BV(TOV1)) != 0 && low < 0x8000) ++high;
  }
  return high << 15 | low >> 1;
}

void AvrPort::delay_us(uint32_t us) {
  const uint32_t start = now_us();
  while (now_us() - start < us) {
  }
}

bool AvrPort::wait_for_interrupt(uint32_t timeout_us) {
  if (!interrupt_wired_) return false;
  const uint32_t start = now_us();
  while (!intn_low()) {
    if (now_us() - start >= timeout_us) return false;
  }
  return true;
}

}  // namespace avr

ISR(TIMER1_OVF_vect) { avr::overflows = avr::overflows + 1; }
