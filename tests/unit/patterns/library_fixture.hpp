// One of the four libraries on a register file, with the chip and the addresses that all its tests use.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "drivers/patterns/ethernet2.hpp"
#include "drivers/patterns/ethernet3.hpp"
#include "drivers/patterns/iolibrary.hpp"
#include "drivers/patterns/pjrc_ethernet.hpp"
#include "tests/support/register_file_bus.hpp"

namespace wizloop::test {

inline constexpr patterns::NetConfig config_with(std::uint8_t buffer_kib) {
  return {{0x02, 0, 0, 0, 0, 0x01}, {192, 168, 1, 50}, {255, 255, 255, 0}, {192, 168, 1, 1}, buffer_kib};
}
inline constexpr patterns::Endpoint peer{{192, 168, 1, 9}, 5001};

inline std::vector<std::uint8_t> counting(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

inline std::uint16_t size16(const std::vector<std::uint8_t>& bytes) { return static_cast<std::uint16_t>(bytes.size()); }

inline std::unique_ptr<patterns::Ethernet2> make(RegisterFile& chip, const patterns::Ethernet2*) {
  return std::make_unique<patterns::Ethernet2>(chip.registers(), chip.data(), chip.port());
}
inline std::unique_ptr<patterns::Ethernet3> make(RegisterFile& chip, const patterns::Ethernet3*) {
  return std::make_unique<patterns::Ethernet3>(chip.registers(), chip.data(), chip.port());
}
inline std::unique_ptr<patterns::PjrcEthernet> make(RegisterFile& chip, const patterns::PjrcEthernet*) {
  return std::make_unique<patterns::PjrcEthernet>(chip.data(), chip.port());
}
inline std::unique_ptr<patterns::IoLibrary> make(RegisterFile& chip, const patterns::IoLibrary*) {
  return std::make_unique<patterns::IoLibrary>(chip.registers(), chip.data(), chip.port());
}

template <typename Library>
class LibraryTest : public ::testing::Test {
 protected:
  void begin(std::uint8_t buffer_kib = 2) {
    ASSERT_TRUE(library.begin(config_with(buffer_kib)));
    chip.forget();
  }
  void connect() {
    begin();
    ASSERT_TRUE(library.tcp_connect(peer, 0));
    chip.forget();
  }
  void open_udp() {
    begin();
    ASSERT_TRUE(library.udp_open(5001));
    chip.forget();
  }
  // A server whose peer has connected, and sent `bytes`.
  void accept(const std::vector<std::uint8_t>& bytes) {
    begin();
    ASSERT_TRUE(library.tcp_listen(5001));
    chip.socket(0, 0x03) = 0x17;
    chip.deliver(0, bytes);
    ASSERT_TRUE(library.tcp_connected());
    chip.forget();
  }

  RegisterFile chip;
  std::unique_ptr<Library> owner = make(chip, static_cast<const Library*>(nullptr));
  Library& library = *owner;
};

}  // namespace wizloop::test
