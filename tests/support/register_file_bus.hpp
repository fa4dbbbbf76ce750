// A W5500 reduced to its registers, for tests that ask which frames a driver makes: no SPI bytes, no network, no time
// of its own. It does what drivers lean on (datasheet 4.2): Sn_CR clears itself, Sn_IR is cleared by ones, Sn_TX_WR
// reads back its value at the last SEND, Sn_RX_RD counts from RECV on, and the rings fold addresses. The rest is
// scripted.
//
//   RegisterFile chip;
//   Ethernet2 library(chip.registers(), chip.data(), chip.port());
//   ...
//   chip.deliver(0, {1, 2, 3});                       // three bytes arrive on socket 0
//   chip.script(1, 0x02, {0x00, 0x00});               // Sn_IR of socket 0 reads 0 twice more
//   EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0002 00", ...));
//
// A line of the log is one frame: direction, block, offset, data in hex; above eight bytes only their number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "drivers/w5500/bus.hpp"
#include "drivers/w5500/port.hpp"

namespace wizloop::test {

class RegisterFile {
 public:
  static constexpr int socket_count = 8;

  RegisterFile() : registers_(*this, "registers"), data_(*this, "data"), port_(*this) { reset(); }

  w5500::Bus& registers() { return registers_; }
  w5500::Bus& data() { return data_; }
  w5500::Port& port() { return port_; }

  // ---- what the test sees
  std::vector<std::string> take_log() { return std::exchange(log_, {}); }
  std::size_t frames() const { return frames_; }
  std::size_t spi_bytes() const { return spi_bytes_; }  // three of header in each frame included
  std::size_t frames_on_data_bus() const { return frames_on_data_; }
  std::uint64_t slept_us() const { return slept_us_; }  // by delay_us()
  void forget() {
    log_.clear();
    frames_ = spi_bytes_ = frames_on_data_ = 0;
    slept_us_ = 0;
  }
  std::vector<std::vector<std::uint8_t>> sent[socket_count];  // what lay between Sn_TX_RD and Sn_TX_WR at each SEND
  std::uint8_t common(std::uint16_t offset) const { return common_.at(offset); }
  std::uint8_t& socket(int n, std::uint16_t offset) { return sockets_.at(static_cast<std::size_t>(n)).at(offset); }

  // ---- what the test decides
  // The next reads of this byte return these values, one each; then the register's own value shows again.
  void script(std::uint8_t block, std::uint16_t offset, std::initializer_list<int> values) {
    auto& queue = scripts_[{block, offset}];
    for (int value : values) queue.push_back(static_cast<std::uint8_t>(value));
  }
  void stick(std::uint8_t block, std::uint16_t offset, std::uint8_t value) { stuck_[{block, offset}] = value; }
  // Called at a command; true: the test has done what there is to do, false: the default follows.
  std::function<bool(int socket, std::uint8_t command)> on_command;
  std::uint32_t frame_us = 1;         // how much time a frame takes
  bool keeps_log = true;              // off for runs of very many frames
  bool bus_works = true;              // off: each transfer fails
  bool present = true;                // off: nobody drives MISO, and all reads give 0xFF
  std::uint16_t tx_pointer = 0x07FD;  // where the TX pointers stand after OPEN

  void deliver(int n, std::span<const std::uint8_t> bytes) {
    const std::uint16_t size = ring_size(n, 0x1E);
    for (std::uint8_t byte : bytes) {
      rx_[static_cast<std::size_t>(n)][rx_wr_[static_cast<std::size_t>(n)]++ & (size - 1)] = byte;
    }
  }
  void deliver_datagram(int n, std::array<std::uint8_t, 4> ip, std::uint16_t port,
                        std::span<const std::uint8_t> bytes) {
    const std::uint8_t header[] = {
        ip[0], ip[1], ip[2], ip[3], high(port), low(port), high(bytes.size()), low(bytes.size())};
    deliver(n, header);
    deliver(n, bytes);
  }
  void reset() {
    common_.fill(0);
    common_[0x19] = 0x07;  // RTR
    common_[0x1A] = 0xD0;
    common_[0x39] = 0x04;
    for (auto& registers : sockets_) {
      registers.fill(0);
      registers[0x1E] = registers[0x1F] = 2;
    }
    tx_wr_.fill(0);
    tx_rd_.fill(0);
    rx_rd_.fill(0);
    rx_wr_.fill(0);
  }

 private:
  class PlainBus final : public w5500::Bus {
   public:
    PlainBus(RegisterFile& chip, const char* name) : chip_(chip), is_data_(std::string(name) == "data") {}
    bool read(std::uint8_t block, std::uint16_t offset, std::uint8_t* data, std::uint16_t count) override {
      return chip_.read(is_data_, block, offset, std::span(data, count));
    }
    bool write(std::uint8_t block, std::uint16_t offset, const std::uint8_t* data, std::uint16_t count) override {
      return chip_.write(is_data_, block, offset, std::span(data, count));
    }

   private:
    RegisterFile& chip_;
    bool is_data_;
  };

  // Time only: a driver under this test reaches the chip through its bus.
  class Clock final : public w5500::Port {
   public:
    explicit Clock(RegisterFile& chip) : chip_(chip) {}
    void select() override { refuse(); }
    void deselect() override { refuse(); }
    std::uint8_t exchange(std::uint8_t) override { return refuse(), std::uint8_t{0}; }
    void exchange(const std::uint8_t*, std::uint8_t*, std::size_t) override { refuse(); }
    bool start_dma(const std::uint8_t*, std::uint8_t*, std::size_t) override { return refuse(), false; }
    bool wait_dma(std::uint32_t) override { return refuse(), false; }
    void abort_dma() override { refuse(); }
    std::uint32_t now_us() override { return static_cast<std::uint32_t>(chip_.now_us_); }
    void delay_us(std::uint32_t us) override {
      chip_.now_us_ += us;
      chip_.slept_us_ += us;
    }
    bool set_reset_pin(bool) override { return false; }
    bool wait_for_interrupt(std::uint32_t) override { return false; }

   private:
    static void refuse() { throw std::logic_error("SPI beside the bus"); }
    RegisterFile& chip_;
  };

  static std::uint8_t high(std::size_t value) { return static_cast<std::uint8_t>(value >> 8); }
  static std::uint8_t low(std::size_t value) { return static_cast<std::uint8_t>(value & 0xFF); }
  static std::string hex(unsigned value, int digits) {
    std::string text;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += "0123456789abcdef"[(value >> shift) & 0xF];
    return text;
  }

  std::uint16_t ring_size(int n, std::uint16_t size_register) {
    return static_cast<std::uint16_t>(socket(n, size_register) * 1024);
  }

  void record(bool is_data, char direction, std::uint8_t block, std::uint16_t offset,
              std::span<const std::uint8_t> data) {
    ++frames_;
    spi_bytes_ += 3 + data.size();
    if (is_data) ++frames_on_data_;
    now_us_ += frame_us;
    if (!keeps_log) return;
    std::string line = std::string(1, direction) + " " + hex(block, 2) + ":" + hex(offset, 4);
    if (data.size() > 8) {
      line += " [" + std::to_string(data.size()) + "]";
    } else {
      for (std::uint8_t byte : data) line += " " + hex(byte, 2);
    }
    log_.push_back(std::move(line));
  }

  bool read(bool is_data, std::uint8_t block, std::uint16_t offset, std::span<std::uint8_t> data) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = read_byte(block, static_cast<std::uint16_t>(offset + i));
    record(is_data, 'r', block, offset, data);
    return bus_works;
  }

  bool write(bool is_data, std::uint8_t block, std::uint16_t offset, std::span<const std::uint8_t> data) {
    record(is_data, 'w', block, offset, data);
    if (!bus_works || !present) return bus_works;
    for (std::size_t i = 0; i < data.size(); ++i) write_byte(block, static_cast<std::uint16_t>(offset + i), data[i]);
    return true;
  }

  std::uint8_t read_byte(std::uint8_t block, std::uint16_t offset) {
    if (!present) return 0xFF;
    const auto stuck = stuck_.find({block, offset});
    if (stuck != stuck_.end()) return stuck->second;
    auto& queue = scripts_[{block, offset}];
    if (!queue.empty()) {
      const std::uint8_t value = queue.front();
      queue.pop_front();
      return value;
    }
    if (block == 0) return offset < common_.size() ? common_[offset] : std::uint8_t{0};
    if (block % 4 == 0) return 0;  // reserved
    const int n = block / 4;
    const auto index = static_cast<std::size_t>(n);
    if (block % 4 == 2) return tx_[index][offset & (ring_size(n, 0x1F) - 1)];
    if (block % 4 == 3) return rx_[index][offset & (ring_size(n, 0x1E) - 1)];
    if (offset >= sockets_[index].size()) return 0;
    const auto half_of = [&](std::uint16_t value) { return (offset & 1) != 0 ? low(value) : high(value); };
    switch (offset & ~1) {
      case 0x20:
        return half_of(ring_size(n, 0x1F));
      case 0x22:
        return half_of(tx_rd_[index]);
      case 0x24:
        return half_of(tx_wr_[index]);
      case 0x26:
        return half_of(static_cast<std::uint16_t>(rx_wr_[index] - rx_rd_[index]));
      case 0x28:
        return half_of(rx_rd_[index]);
      case 0x2A:
        return half_of(rx_wr_[index]);
      default:
        return sockets_[index][offset];
    }
  }

  void write_byte(std::uint8_t block, std::uint16_t offset, std::uint8_t value) {
    if (block == 0) {
      if (offset == 0 && (value & 0x80) != 0) return reset();
      if (offset < common_.size() && offset != 0x39) common_[offset] = value;
      return;
    }
    if (block % 4 == 0) return;
    const int n = block / 4;
    const auto index = static_cast<std::size_t>(n);
    if (block % 4 == 2) {
      tx_[index][offset & (ring_size(n, 0x1F) - 1)] = value;
    } else if (block % 4 == 1 && offset == 0x01) {
      command(n, value);
    } else if (block % 4 == 1 && offset == 0x02) {
      sockets_[index][offset] = static_cast<std::uint8_t>(sockets_[index][offset] & ~value);
    } else if (block % 4 == 1 && offset != 0x03 && offset < sockets_[index].size()) {
      sockets_[index][offset] = value;  // Sn_TX_WR and Sn_RX_RD wait here for their command
    }
  }

  static std::uint8_t status_after_open(int protocol) {
    if (protocol == 0x01) return 0x13;
    return protocol == 0x04 ? 0x42 : 0x22;
  }

  void command(int n, std::uint8_t code) {
    if (on_command && on_command(n, code)) return;
    const auto index = static_cast<std::size_t>(n);
    auto& registers = sockets_[index];
    const auto written = [&](std::uint16_t offset) {
      return static_cast<std::uint16_t>((registers[offset] << 8) | registers[offset + 1u]);
    };
    switch (code) {
      case 0x01:  // OPEN
        registers[0x03] = status_after_open(registers[0x00] & 0x0F);
        tx_wr_[index] = tx_rd_[index] = tx_pointer;
        rx_rd_[index] = rx_wr_[index] = 0;
        return;
      case 0x02:
        registers[0x03] = 0x14;
        return;  // LISTEN
      case 0x04:
        registers[0x03] = 0x17;
        return;   // CONNECT: at once
      case 0x08:  // DISCON: at once
      case 0x10:
        registers[0x03] = 0x00;
        return;     // CLOSE
      case 0x20: {  // SEND
        tx_wr_[index] = written(0x24);
        std::vector<std::uint8_t> bytes;
        for (; tx_rd_[index] != tx_wr_[index]; ++tx_rd_[index]) {
          bytes.push_back(tx_[index][tx_rd_[index] & (ring_size(n, 0x1F) - 1)]);
        }
        sent[index].push_back(std::move(bytes));
        registers[0x02] |= 0x10;
        return;
      }
      case 0x40:
        rx_rd_[index] = written(0x28);
        return;  // RECV
      default:
        return;
    }
  }

  PlainBus registers_;
  PlainBus data_;
  Clock port_;
  std::array<std::uint8_t, 0x40> common_{};
  std::array<std::array<std::uint8_t, 0x30>, socket_count> sockets_{};
  std::array<std::array<std::uint8_t, 0x4000>, socket_count> tx_{};
  std::array<std::array<std::uint8_t, 0x4000>, socket_count> rx_{};
  std::array<std::uint16_t, socket_count> tx_wr_{}, tx_rd_{}, rx_rd_{}, rx_wr_{};
  std::map<std::pair<std::uint8_t, std::uint16_t>, std::deque<std::uint8_t>> scripts_;
  std::map<std::pair<std::uint8_t, std::uint16_t>, std::uint8_t> stuck_;
  std::vector<std::string> log_;
  std::size_t frames_ = 0;
  std::size_t spi_bytes_ = 0;
  std::size_t frames_on_data_ = 0;
  std::uint64_t now_us_ = 0;
  std::uint64_t slept_us_ = 0;
};

}  // namespace wizloop::test
