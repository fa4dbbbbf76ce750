// What the driver's tests share: a fake chip, the three buses on it, and the driver above the one that the test names.
// Every test ends with the question whether the driver did something that no driver may do.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <ostream>
#include <string>

#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "drivers/w5500/chip.hpp"
#include "drivers/w5500/dma_bus.hpp"
#include "drivers/w5500/socket.hpp"
#include "tests/support/fake_w5500.hpp"

namespace w5500 {

inline std::ostream& operator<<(std::ostream& out, Error error) { return out << "Error " << static_cast<int>(error); }

}  // namespace w5500

namespace wizloop::test {

using w5500::Error;

enum class BusKind { byte, burst, dma };

inline std::string name_of(BusKind kind) {
  return kind == BusKind::byte ? "Byte" : kind == BusKind::burst ? "Burst" : "Dma";
}
inline void PrintTo(BusKind kind, std::ostream* out) { *out << name_of(kind); }
inline std::string bus_name(const testing::TestParamInfo<BusKind>& info) { return name_of(info.param); }

class DriverTest : public testing::TestWithParam<BusKind> {
 protected:
  DriverTest() : chip{bus(), fake} {}

  w5500::Bus& bus() {
    switch (GetParam()) {
      case BusKind::byte:
        return byte_bus;
      case BusKind::burst:
        return burst_bus;
      default:
        return dma_bus;
    }
  }

  void TearDown() override { EXPECT_THAT(fake.violations(), testing::IsEmpty()); }

  // How many SPI frames a call makes.
  template <typename Call>
  std::size_t frames_of(Call call) {
    const std::size_t before = fake.frames().size();
    call();
    return fake.frames().size() - before;
  }

  template <typename Call>
  std::uint64_t us_of(Call call) {
    const std::uint64_t before = fake.elapsed_us();
    call();
    return fake.elapsed_us() - before;
  }

  FakeW5500 fake;
  w5500::ByteBus byte_bus{fake};
  w5500::BurstBus burst_bus{fake};
  w5500::DmaBus dma_bus{fake};
  w5500::Chip chip;
};

// 0, 1, 2 ... with a period that divides no ring.
inline Bytes pattern(std::size_t count, std::uint8_t first = 0) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>((first + i) % 251);
  return bytes;
}

#define WIZLOOP_ON_EVERY_BUS(Suite) \
  INSTANTIATE_TEST_SUITE_P(OnEveryBus, Suite, testing::Values(BusKind::byte, BusKind::burst, BusKind::dma), bus_name)

}  // namespace wizloop::test
