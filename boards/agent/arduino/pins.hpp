// Which pins the W5500 is on: a row for each family of boards, to be changed to what is wired. rstn may be -1. SCLK,
// MISO and MOSI are those of the core's SPI, SCLK at most sclk_hz, as the core can divide its clock. boards/README.md
// has it as a table.
#ifndef WIZLOOP_AGENT_PINS_HPP
#define WIZLOOP_AGENT_PINS_HPP

#include <Arduino.h>
#include <SPI.h>
#include <wizloop_agent.h>

#if defined(ARDUINO_WIZNET_55RP20_EVB_PICO)
#include <SoftwareSPI.h>
#endif

namespace agent {

#if defined(ARDUINO_WIZNET_55RP20_EVB_PICO)  // inside the package, where the RP2040's own SPI does not reach: by PIO
constexpr const char* board_name = "w55rp20";
constexpr int scsn = 20, rstn = 25, intn = 24;
constexpr uint32_t sclk_hz = 20000000;
constexpr bool intn_wired = true;
inline SoftwareSPI& w5500_spi() {
  static SoftwareSPI pio(21, 22, 23);
  return pio;
}
#else
#if defined(ARDUINO_ARCH_ESP32)
constexpr const char* board_name = "esp32-w5500";
constexpr int scsn = 5, rstn = 26, intn = 27;
constexpr uint32_t sclk_hz = 20000000;
#elif defined(ARDUINO_ARCH_STM32)
constexpr const char* board_name = "stm32-w5500";
constexpr int scsn = PA4, rstn = PB0, intn = PB1;
constexpr uint32_t sclk_hz = 30000000;
#elif defined(TEENSYDUINO)
constexpr const char* board_name = "teensy-w5500";
constexpr int scsn = 10, rstn = 9, intn = 2;
constexpr uint32_t sclk_hz = 30000000;
#elif defined(ARDUINO_ARCH_RP2040)  // as on the W5500-EVB-Pico
constexpr const char* board_name = "rp2040-w5500";
constexpr int scsn = 17, rstn = 20, intn = 21;
constexpr uint32_t sclk_hz = 30000000;
#else                               // a shield on a board in the form of an Uno
constexpr const char* board_name = "arduino-w5500";
constexpr int scsn = 10, rstn = 9, intn = 2;
constexpr uint32_t sclk_hz = 20000000;
#endif
constexpr bool intn_wired = AGENT_INTN_WIRED != 0;
inline decltype(SPI)& w5500_spi() { return SPI; }
#endif

}  // namespace agent

#endif
