#include "stm32f405_port.hpp"

#include "registers.hpp"

namespace stm32f405 {
namespace {

constexpr unsigned intn = 2, rstn = 3, scsn = 4;  // of GPIOA

// SPI1 on DMA2 (RM0090 table 43): reception by stream 2, transmission by stream 3, both on channel 3.
constexpr uint32_t channel3 = uint32_t{3} << 25;
constexpr uint32_t memory_increments = bit(10), from_memory = uint32_t{1} << 6, enable = bit(0),
                   high_priority = bit(17);
constexpr unsigned rx_stream = 2, tx_stream = 3;
constexpr uint32_t rx_flags = uint32_t{0x3D} << 16, tx_flags = uint32_t{0x3D} << 22, rx_complete = bit(21);
constexpr size_t longest_dma = 65535;

const uint8_t zero = 0;
uint8_t dropped;

void set_mode(Gpio& gpio, unsigned pin, uint32_t mode) {
  gpio.MODER = (gpio.MODER & ~(uint32_t{3} << 2 * pin)) | mode << 2 * pin;
}

// For the compiler, which does not know that the DMA reads and writes memory.
inline void memory_barrier() { asm volatile("" ::: "memory"); }

void stop(DmaStream& stream) {
  stream.CR = 0;
  while ((stream.CR & enable) != 0) {
  }
}

uint32_t address_of(const volatile void* object) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(object)); }

void wait_until(Register& reg, uint32_t bits) {
  while ((reg & bits) != bits) {
  }
}

}  // namespace

bool start_clocks(uint32_t crystal_mhz) {
  constexpr uint32_t hsi_mhz = 16, vco_mhz = 336;
  constexpr uint32_t hse_on = bit(16), hse_ready = bit(17), pll_on = bit(24), pll_ready = bit(25),
                     pll_from_hse = bit(22);
  constexpr uint32_t wait_states = 5, prefetch = bit(8), instruction_cache = bit(9), data_cache = bit(10);
  SCB_CPACR() |= uint32_t{0xF} << 20;  // the FPU, which the compiler may use
  bool crystal = false;
  if (crystal_mhz != 0) {
    RCC().CR |= hse_on;
    for (uint32_t patience = 200000; patience != 0 && !crystal; --patience) crystal = (RCC().CR & hse_ready) != 0;
  }
  // Into the PLL go 1 MHz, out of it 336 MHz and half of that.
  const uint32_t divider = crystal ? crystal_mhz : hsi_mhz;
  RCC().PLLCFGR = divider | vco_mhz << 6 | (crystal ? pll_from_hse : 0) | uint32_t{7} << 24;
  RCC().CR |= pll_on;
  wait_until(RCC().CR, pll_ready);
  FLASH_ACR() = wait_states | prefetch | instruction_cache | data_cache;
  RCC().CFGR = uint32_t{5} << 10 | uint32_t{4} << 13 | 2;  // APB1 by 4, APB2 by 2, the PLL for the CPU
  wait_until(RCC().CFGR, 2 << 2);
  return crystal;
}

void Stm32f405Port::begin(Sclk sclk) {
  RCC().AHB1ENR |= bit(0) | bit(22);  // GPIOA, DMA2
  RCC().APB1ENR |= bit(0);            // TIM2
  RCC().APB2ENR |= bit(12);           // SPI1
  Gpio& gpio = GPIOA();
  gpio.BSRR = bit(scsn) | bit(rstn);
  constexpr uint32_t output = 1, alternate = 2, input = 0;
  set_mode(gpio, scsn, output);
  set_mode(gpio, rstn, output);
  set_mode(gpio, intn, input);
  gpio.PUPDR = (gpio.PUPDR & ~(uint32_t{3} << 2 * intn)) | uint32_t{1} << 2 * intn;
  for (unsigned pin = 5; pin <= 7; ++pin) set_mode(gpio, pin, alternate);
  gpio.AFRL = (gpio.AFRL & 0x000FFFFF) | 0x55500000;
  for (unsigned pin = 4; pin <= 7; ++pin) gpio.OSPEEDR |= uint32_t{3} << 2 * pin;

  constexpr uint32_t master = bit(2), software_select = bit(9) | bit(8), spi_enable = bit(6);
  SPI1().CR1 = master | software_select | static_cast<uint32_t>(sclk) << 3;
  SPI1().CR1 |= spi_enable;

  TIM2().PSC = 84 - 1;
  TIM2().ARR = 0xFFFFFFFF;
  TIM2().EGR = 1;  // takes the prescaler over
  TIM2().CR1 = 1;
}

void Stm32f405Port::select() { GPIOA().BSRR = bit(scsn + 16); }
void Stm32f405Port::deselect() { GPIOA().BSRR = bit(scsn); }

uint8_t Stm32f405Port::exchange(uint8_t mosi) {
  constexpr uint32_t rxne = 1;
  SPI1().DR = mosi;
  wait_until(SPI1().SR, rxne);
  return static_cast<uint8_t>(SPI1().DR);
}

void Stm32f405Port::exchange(const uint8_t* mosi, uint8_t* miso, size_t count) {
  constexpr uint32_t rxne = 1, txe = 2;
  Spi& spi = SPI1();
  // One byte ahead, so that SCLK does not stop; never two, or an answer would be lost.
  size_t sent = 0;
  for (size_t received = 0; received < count;) {
    if (sent < count && sent < received + 2 && (spi.SR & txe) != 0) {
      spi.DR = mosi != nullptr ? mosi[sent] : 0;
      ++sent;
    }
    if ((spi.SR & rxne) != 0) {
      const auto in = static_cast<uint8_t>(spi.DR);
      if (miso != nullptr) miso[received] = in;
      ++received;
    }
  }
}

bool Stm32f405Port::start_dma(const uint8_t* mosi, uint8_t* miso, size_t count) {
  if (count == 0 || count > longest_dma) return false;
  DMA2().LIFCR = rx_flags | tx_flags;
  DmaStream& rx = DMA2().stream[rx_stream];
  rx.PAR = address_of(&SPI1().DR);
  rx.M0AR = address_of(miso != nullptr ? miso : &dropped);
  rx.NDTR = count;
  rx.CR = channel3 | high_priority | (miso != nullptr ? memory_increments : 0);
  DmaStream& tx = DMA2().stream[tx_stream];
  tx.PAR = address_of(&SPI1().DR);
  tx.M0AR = address_of(mosi != nullptr ? mosi : &zero);
  tx.NDTR = count;
  tx.CR = channel3 | from_memory | (mosi != nullptr ? memory_increments : 0);
  memory_barrier();  // the bytes of `mosi` are in memory before the DMA looks
  rx.CR |= enable;
  tx.CR |= enable;
  constexpr uint32_t rx_by_dma = 1, tx_by_dma = 2;
  SPI1().CR2 = rx_by_dma | tx_by_dma;
  return true;
}

bool Stm32f405Port::wait_dma(uint32_t timeout_us) {
  const uint32_t start = now_us();
  while ((DMA2().LISR & rx_complete) == 0) {
    if (now_us() - start >= timeout_us) return false;
  }
  abort_dma();
  memory_barrier();  // and those of `miso` are not read before it is done
  return true;
}

void Stm32f405Port::abort_dma() {
  SPI1().CR2 = 0;
  stop(DMA2().stream[tx_stream]);
  stop(DMA2().stream[rx_stream]);
  // What the DMA has cut short leaves a byte behind.
  constexpr uint32_t rxne = 1, busy = bit(7);
  while ((SPI1().SR & busy) != 0) {
  }
  while ((SPI1().SR & rxne) != 0) static_cast<void>(static_cast<uint32_t>(SPI1().DR));
}

uint32_t Stm32f405Port::now_us() { return TIM2().CNT; }

void Stm32f405Port::delay_us(uint32_t us) {
  const uint32_t start = now_us();
  while (now_us() - start < us) {
  }
}

bool Stm32f405Port::set_reset_pin(bool high) {
  GPIOA().BSRR = high ? bit(rstn) : bit(rstn + 16);
  return true;
}

bool Stm32f405Port::wait_for_interrupt(uint32_t timeout_us) {
  if (!interrupt_wired_) return false;
  const uint32_t start = now_us();
  while ((GPIOA().IDR & bit(intn)) != 0) {
    if (now_us() - start >= timeout_us) return false;
  }
  return true;
}

}  // namespace stm32f405
