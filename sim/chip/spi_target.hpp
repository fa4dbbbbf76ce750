// The face that an SPI bus sees: select, exchange bytes, deselect. The bus has moved time to the byte's eighth rising
// SCLK edge before it calls exchange().
#pragma once

#include <cstddef>
#include <cstdint>

namespace wizloop::chip {

class SpiTarget {
 public:
  virtual void select() = 0;    // SCSn falls
  virtual void deselect() = 0;  // SCSn rises

  // One byte each way. The MISO byte was fetched at the last edge of the byte before.
  virtual std::uint8_t exchange(std::uint8_t mosi) = 0;

  // The chip itself, with nothing in between that could change what is on the wires.
  virtual bool is_chip() const { return false; }

  // What MISO shows during the byte that comes next.
  virtual std::uint8_t next_miso() const = 0;

  // How many bytes from here on would only move data between the bus and buffer memory, so that their exact instants
  // matter to nobody as long as no event falls among them. 0 in headers and register blocks.
  virtual std::size_t quiet_bytes() const = 0;

  // `count` bytes at once, at most quiet_bytes(). `mosi` may be null (zeros are sent), `miso` may be null (dropped).
  virtual void exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) = 0;

 protected:
  ~SpiTarget() = default;
};

}  // namespace wizloop::chip
