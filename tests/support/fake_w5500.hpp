// A register file that answers like a W5500, behind the driver's Port: for testing the driver alone. It decodes SPI
// frames from whichever calls they come in, performs commands at once or as a test scripts them, and keeps each frame.
// Offsets and values are written out as numbers here, so that a wrong name in the driver's register map shows.
//
//   FakeW5500 fake;
//   fake.after_us(500, [&] { fake.receive(0, bytes); });
//   ... driver calls on `fake` ...
//   EXPECT_THAT(fake.frames().back().mosi, ElementsAre(0x00, 0x39, 0x00, 0x00));
//   EXPECT_THAT(fake.violations(), IsEmpty());
//
// Time is the fake's own: a byte on the bus takes 1 us, and delays take what they say. What it knows of networks is
// what tests say through receive(), acknowledge() and the script; the chip model of sim/chip is the real thing.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/w5500/port.hpp"

namespace wizloop::test {

using Bytes = std::vector<std::uint8_t>;

class FakeW5500 final : public w5500::Port {
 public:
  struct Frame {
    Bytes mosi;
    Bytes miso;
    unsigned byte_calls = 0;
    unsigned buffer_calls = 0;
    unsigned dma_transfers = 0;

    unsigned block() const { return mosi.size() < 3 ? 0xFFu : mosi[2] >> 3; }
    unsigned offset() const { return mosi.size() < 3 ? 0xFFFFu : mosi[0] * 256u + mosi[1]; }
    bool is_write() const { return mosi.size() >= 3 && (mosi[2] & 0x04) != 0; }
    Bytes data() const { return Bytes((is_write() ? mosi : miso).begin() + 3, (is_write() ? mosi : miso).end()); }
  };

  // What one SEND took, and where it would go.
  struct Sent {
    Bytes data;
    Bytes destination;  // Sn_DIPR, Sn_DPORT
  };

  // Knobs, all harmless at first.
  bool commands_hang = false;               // Sn_CR keeps what was written, nothing happens
  std::uint32_t command_us = 0;             // until a command is performed and Sn_CR clears
  std::uint32_t send_us = 0;                // from SEND to SENDOK
  bool sends_hang = false;                  // neither SENDOK nor TIMEOUT
  bool acknowledges = true;                 // TCP: the peer acknowledges a SEND when it is done
  std::uint16_t first_tx_pointer = 0x1234;  // Sn_TX_RD and Sn_TX_WR of a new connection
  std::optional<std::uint8_t> stuck_miso;   // each byte reads as this
  bool dma_available = true;
  bool dma_hangs = false;
  std::optional<unsigned> hanging_dma;  // only this one hangs, counted from 0
  bool reset_pin_wired = false;
  bool interrupt_pin_wired = true;
  std::uint32_t version_zero_until_us = 0;  // VERSIONR reads 0 before
  // Called before a command is performed; true: the test has performed it.
  std::function<bool(unsigned socket, std::uint8_t command)> on_command;
  // May replace the value of a register byte that is read.
  std::function<std::uint8_t(unsigned block, unsigned offset, std::uint8_t value)> on_read;

  FakeW5500();

  // The back door: no bus time, no frames.
  std::uint8_t& common(unsigned offset) { return common_.at(offset); }
  std::uint8_t& socket(unsigned n, unsigned offset) { return sockets_.at(n).registers.at(offset); }
  std::uint16_t socket16(unsigned n, unsigned offset) const;
  void set_socket16(unsigned n, unsigned offset, unsigned value);
  void set_state(unsigned n, std::uint8_t state) { socket(n, 0x03) = state; }
  void raise(unsigned n, std::uint8_t events) { socket(n, 0x02) |= events; }
  // Data into the RX ring; a UDP datagram gets its record header.
  void receive(unsigned n, const Bytes& data);
  void receive_datagram(unsigned n, const Bytes& source_ip, unsigned source_port, const Bytes& payload);
  void set_rx_pointers(unsigned n, std::uint16_t value);
  // A connection comes up: pointers, state, CON.
  void establish(unsigned n);
  void acknowledge_all(unsigned n);
  // TIMEOUT: TCP closes, UDP drops its datagram (or keeps it unsent, which nobody has ruled out).
  void time_out(unsigned n, bool keeps_datagram = false);
  void after_us(std::uint32_t delay, std::function<void()> action);
  void set_now_us(std::uint32_t now);

  std::vector<Frame>& frames() { return frames_; }
  // All but the one that is under way, so that a long run does not fill memory.
  void forget_frames();
  const std::vector<Sent>& sent(unsigned n) const { return sockets_.at(n).sent; }
  Bytes sent_bytes(unsigned n) const;  // of all SENDs
  const std::vector<std::uint8_t>& commands(unsigned n) const { return sockets_.at(n).commands; }
  // What no driver may do: see fake_w5500.cpp.
  const std::vector<std::string>& violations() const { return violations_; }
  unsigned dma_count() const { return dma_count_; }
  unsigned interrupt_waits() const { return interrupt_waits_; }
  std::uint64_t elapsed_us() const { return elapsed_us_; }

  // w5500::Port
  void select() override;
  void deselect() override;
  std::uint8_t exchange(std::uint8_t mosi) override;
  void exchange(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) override;
  bool start_dma(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) override;
  bool wait_dma(std::uint32_t timeout_us) override;
  void abort_dma() override;
  std::uint32_t now_us() override { return static_cast<std::uint32_t>(start_us_ + elapsed_us_); }
  void delay_us(std::uint32_t us) override { advance(us); }
  bool set_reset_pin(bool high) override;
  bool wait_for_interrupt(std::uint32_t timeout_us) override;

 private:
  struct Socket {
    std::array<std::uint8_t, 0x30> registers{};
    Bytes tx = Bytes(0x4000);
    Bytes rx = Bytes(0x4000);
    std::uint16_t written_tx_wr = 0;  // Sn_TX_WR reads as of the last SEND, not as written
    std::uint16_t acknowledged = 0;
    std::uint16_t released_rx_rd = 0;  // Sn_RX_RD as of the last RECV
    bool sending = false;
    std::vector<Sent> sent;
    std::vector<std::uint8_t> commands;
  };
  struct Dma {
    const std::uint8_t* mosi;
    std::uint8_t* miso;
    std::size_t count;
  };

  void advance(std::uint64_t us);
  void reset();
  std::uint8_t transfer(std::uint8_t mosi);
  std::uint8_t read_byte(unsigned block, unsigned offset);
  void write_byte(unsigned block, unsigned offset, std::uint8_t value);
  void write_common(unsigned offset, std::uint8_t value);
  void write_socket(unsigned n, unsigned offset, std::uint8_t value);
  void perform(unsigned n, std::uint8_t command);
  void send(unsigned n);
  void finish_send(unsigned n);
  void set_tx_pointers(unsigned n, std::uint16_t value);
  void update_counters(unsigned n);
  unsigned tx_size(unsigned n) const { return sockets_[n].registers[0x1F] * 1024u; }
  unsigned rx_size(unsigned n) const { return sockets_[n].registers[0x1E] * 1024u; }
  bool interrupt_pending() const;
  void violation(const std::string& what) { violations_.push_back(what); }

  std::array<std::uint8_t, 0x40> common_{};
  std::array<Socket, 8> sockets_;
  std::vector<Frame> frames_;
  std::vector<std::string> violations_;
  std::multimap<std::uint64_t, std::function<void()>> schedule_;
  std::uint64_t elapsed_us_ = 0;
  std::uint32_t start_us_ = 0;
  unsigned interrupt_waits_ = 0;
  bool selected_ = false;
  std::optional<Dma> dma_;
  unsigned dma_count_ = 0;
  bool aborted_ = false;
  std::uint64_t reset_edge_us_ = 0;
  bool held_in_reset_ = false;
};

}  // namespace wizloop::test
