// The registers of an STM32F405 that the port and its mains use, by the names and offsets of the reference manual
// (RM0090: 7 RCC, 8 GPIO, 10 DMA, 18 TIM2, 28 SPI, 30 USART).
#ifndef WIZLOOP_STM32F405_REGISTERS_HPP
#define WIZLOOP_STM32F405_REGISTERS_HPP

#include <stdint.h>

namespace stm32f405 {

using Register = volatile uint32_t;

struct Rcc {
  Register CR, PLLCFGR, CFGR, CIR, AHB1RSTR, AHB2RSTR, AHB3RSTR, reserved0, APB1RSTR, APB2RSTR, reserved1[2], AHB1ENR,
      AHB2ENR, AHB3ENR, reserved2, APB1ENR, APB2ENR;
};
struct Gpio {
  Register MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR, BSRR, LCKR, AFRL, AFRH;
};
struct Usart {
  Register SR, DR, BRR, CR1, CR2, CR3;
};
struct Spi {
  Register CR1, CR2, SR, DR;
};
struct DmaStream {
  Register CR, NDTR, PAR, M0AR, M1AR, FCR;
};
struct Dma {
  Register LISR, HISR, LIFCR, HIFCR;
  DmaStream stream[8];
};
struct Timer {
  Register CR1, CR2, SMCR, DIER, SR, EGR, CCMR1, CCMR2, CCER, CNT, PSC, ARR;
};

template <typename Peripheral>
Peripheral& at(uint32_t address) {
  return *reinterpret_cast<Peripheral*>(address);
}

inline Rcc& RCC() { return at<Rcc>(0x40023800); }
inline Gpio& GPIOA() { return at<Gpio>(0x40020000); }
inline Usart& USART1() { return at<Usart>(0x40011000); }
inline Spi& SPI1() { return at<Spi>(0x40013000); }
inline Dma& DMA2() { return at<Dma>(0x40026400); }
inline Timer& TIM2() { return at<Timer>(0x40000000); }
inline Register& FLASH_ACR() { return at<Register>(0x40023C00); }
inline Register& NVIC_ISER1() { return at<Register>(0xE000E104); }  // interrupts 32 to 63
inline Register& SCB_CPACR() { return at<Register>(0xE000ED88); }

constexpr uint32_t bit(unsigned position) { return uint32_t{1} << position; }

}  // namespace stm32f405

#endif
