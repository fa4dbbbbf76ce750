#include "SPI.h"

#include <vector>

#include "board.hpp"

using wizloop_arduino::Board;

SPIClass SPI;

namespace {

std::uint8_t reversed(std::uint8_t value) {
  std::uint8_t result = 0;
  for (int i = 0; i < 8; ++i) result = static_cast<std::uint8_t>(result << 1 | (value >> i & 1));
  return result;
}

}  // namespace

void SPIClass::begin() { apply(); }

void SPIClass::apply() { Board::it().set_spi_clock(settings_.clock_, settings_.data_mode_); }

void SPIClass::beginTransaction(SPISettings settings) {
  settings_ = settings;
  Board::it().enter_transaction();
  apply();
}

void SPIClass::endTransaction() { Board::it().leave_transaction(); }

void SPIClass::usingInterrupt(uint8_t interrupt) { Board::it().hold_in_transactions(interrupt, true); }
void SPIClass::notUsingInterrupt(uint8_t interrupt) { Board::it().hold_in_transactions(interrupt, false); }

uint8_t SPIClass::transfer(uint8_t mosi) {
  if (settings_.bit_order_ == MSBFIRST) [[likely]]
    return Board::it().exchange(mosi);
  return reversed(Board::it().exchange(reversed(mosi)));
}

uint16_t SPIClass::transfer16(uint16_t mosi) {
  const auto high = static_cast<uint8_t>(mosi >> 8);
  const auto low = static_cast<uint8_t>(mosi);
  const bool low_first = settings_.bit_order_ == LSBFIRST;
  const uint8_t first = transfer(low_first ? low : high);
  const uint8_t second = transfer(low_first ? high : low);
  return static_cast<uint16_t>(low_first ? second << 8 | first : first << 8 | second);
}

void SPIClass::transfer(const void* out, void* in, size_t count) {
  const auto* const mosi = static_cast<const uint8_t*>(out);
  auto* const miso = static_cast<uint8_t*>(in);
  if (settings_.bit_order_ == MSBFIRST) {
    Board::it().exchange(mosi, miso, count);
    return;
  }
  std::vector<uint8_t> turned(count);
  for (size_t i = 0; i < count; ++i) turned[i] = reversed(mosi != nullptr ? mosi[i] : uint8_t{0});
  Board::it().exchange(turned.data(), turned.data(), count);
  for (size_t i = 0; miso != nullptr && i < count; ++i) miso[i] = reversed(turned[i]);
}

void SPIClass::setBitOrder(uint8_t bit_order) { settings_.bit_order_ = bit_order; }

void SPIClass::setDataMode(uint8_t data_mode) {
  settings_.data_mode_ = data_mode;
  apply();
}

void SPIClass::setClockDivider(uint8_t divider) {
  settings_.clock_ = Board::it().cpu_hz() / (divider != 0 ? divider : 1);
  apply();
}

void SPIClass::begin(uint8_t pin) {
  digitalWrite(pin, HIGH);
  pinMode(pin, OUTPUT);
  begin();
}

void SPIClass::beginTransaction(uint8_t pin, SPISettings settings) {
  digitalWrite(pin, HIGH);
  pinMode(pin, OUTPUT);
  beginTransaction(settings);
}

uint8_t SPIClass::transfer(uint8_t pin, uint8_t mosi, SPITransferMode mode) {
  uint8_t moved = mosi;
  transfer(pin, &moved, 1, mode);
  return moved;
}

void SPIClass::transfer(uint8_t pin, void* buffer, size_t count, SPITransferMode mode) {
  auto* const bytes = static_cast<uint8_t*>(buffer);
  digitalWrite(pin, LOW);
  for (size_t i = 0; i < count; ++i) bytes[i] = transfer(bytes[i]);
  if (mode == SPI_LAST) digitalWrite(pin, HIGH);
}
