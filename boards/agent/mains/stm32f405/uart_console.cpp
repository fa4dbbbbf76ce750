#include "uart_console.hpp"

#include "../receive_ring.hpp"
#include "drivers/ports/stm32f405/registers.hpp"

namespace agent {
namespace {

using stm32f405::bit;

ReceiveRing<uint16_t, 1024> ring;

constexpr uint32_t rx_overrun = bit(3), rx_not_empty = bit(5), tx_empty = bit(7);

}  // namespace

void UartConsole::begin(uint32_t baud) {
  constexpr unsigned tx = 9, rx = 10, interrupt = 37;
  constexpr uint32_t apb2_hz = 84000000;
  stm32f405::RCC().AHB1ENR |= bit(0);
  stm32f405::RCC().APB2ENR |= bit(4);
  stm32f405::Gpio& gpio = stm32f405::GPIOA();
  gpio.AFRH = (gpio.AFRH & 0xFFFFF00F) | 0x00000770;
  gpio.MODER = (gpio.MODER & ~(uint32_t{15} << 2 * tx)) | uint32_t{10} << 2 * tx;
  gpio.PUPDR = (gpio.PUPDR & ~(uint32_t{3} << 2 * rx)) | uint32_t{1} << 2 * rx;
  stm32f405::Usart& uart = stm32f405::USART1();
  uart.BRR = (apb2_hz + baud / 2) / baud;
  uart.CR1 = bit(13) | bit(5) | bit(3) | bit(2);  // UE, RXNEIE, TE, RE
  stm32f405::NVIC_ISER1() = bit(interrupt - 32);
}

size_t UartConsole::read(uint8_t* data, size_t count) { return ring.take(data, count); }

void UartConsole::write(const uint8_t* data, size_t count) {
  for (; count != 0; --count) {
    while ((stm32f405::USART1().SR & tx_empty) == 0) {
    }
    stm32f405::USART1().DR = *data++;
  }
}

bool UartConsole::take_overrun() { return ring.take_overrun(); }

void UartConsole::wait(uint32_t timeout_us) {
  const uint32_t start = port_.now_us();
  while (ring.empty() && port_.now_us() - start < timeout_us) {
  }
}

}  // namespace agent

extern "C" void on_usart1() {
  using namespace agent;
  const uint32_t status = stm32f405::USART1().SR;
  const auto byte = static_cast<uint8_t>(stm32f405::USART1().DR);
  if ((status & rx_overrun) != 0) ring.lose();
  if ((status & rx_not_empty) != 0) ring.put(byte);
}
