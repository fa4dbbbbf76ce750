// A real W5500 driven from the host, by SPI frames that the agent firmware of its board exchanges (its verb spi). Two
// faces: a Bus, whose frames travel whole and in batches, for drivers; a Port, whose every exchange is a request of its
// own, for whoever has to hold SCSn while it thinks.
//
//   auto channel = AgentChannel::open("tcp:127.0.0.1:5555");
//   auto bridge = SpiBridge::attach(*channel.value());
//   BridgePort port(*bridge.value());
//   BridgeBus bus(*bridge.value());
//   w5500::Chip chip(bus, port);
//
// Nothing here is fast: a request takes the console's time for its digits and back. What the board measured is in
// counters().board_us.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/ports/spi_bridge/agent_channel.hpp"
#include "drivers/w5500/bus.hpp"
#include "drivers/w5500/port.hpp"
#include "sim/core/bytes.hpp"

namespace wizloop::spi_bridge {

class SpiBridge {
 public:
  struct Counters {
    std::uint64_t lines = 0;  // requests with frames
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t board_us = 0;  // what the board measured of its own exchanges and waits
  };

  // Asks who is there. The error says what is wrong with the line, or that there is no agent, or no W5500.
  static Result<std::unique_ptr<SpiBridge>> attach(AgentChannel& channel);

  // A frame of its own, or a piece of one: SCSn falls before it unless it is low by `joins`, rises after it unless
  // `holds`. As many lines as it takes. False if the line or the board failed; see failure().
  bool exchange(Bytes mosi, MutableBytes miso, bool joins, bool holds);

  // Frames whose answers nobody needs, and which may wait for the next line: done in order before anything else is.
  bool post(Bytes mosi);
  bool flush();

  bool wait(std::uint32_t us);                            // the board waits
  std::optional<bool> intn_low(std::uint32_t within_us);  // empty: the line failed
  bool set_reset_pin(bool high);                          // false if the board has not wired it
  // SCSn, left low by exchange(), rises: by itself with the next frame, and before anything else that is asked for.
  void release_select() { release_due_ = select_low_; }

  bool has(std::string_view capability) const;  // of the greeting's caps=
  const std::string& board() const { return board_; }

  // The first thing that went wrong. From then on nothing is exchanged.
  const std::optional<Error>& failure() const { return failure_; }
  const Counters& counters() const { return counters_; }
  AgentChannel& channel() { return channel_; }

 private:
  explicit SpiBridge(AgentChannel& channel) : channel_{channel} {}

  struct Piece {  // of a line: where its MISO goes
    std::uint8_t* miso;
    std::size_t count;
  };
  bool send_line();
  void add_token(Bytes mosi, std::uint8_t* miso, bool joins, bool holds);
  bool settle_select();
  void fail(Error error);
  std::size_t room() const;

  AgentChannel& channel_;
  std::string board_;
  std::string caps_;
  std::size_t line_characters_ = 0;
  std::string tokens_;
  std::vector<Piece> pieces_;
  bool only_reads_ = true;
  bool select_low_ = false;
  bool release_due_ = false;
  std::uint64_t waits_us_ = 0;
  std::optional<Error> failure_;
  Counters counters_;
};

// Writes are posted: a loss shows at the next read.
class BridgeBus final : public w5500::Bus {
 public:
  explicit BridgeBus(SpiBridge& bridge) : bridge_{bridge} {}

  bool read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) override;
  bool write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) override;

 private:
  SpiBridge& bridge_;
  std::vector<std::uint8_t> mosi_;
  std::vector<std::uint8_t> miso_;
};

class BridgePort final : public w5500::Port {
 public:
  explicit BridgePort(SpiBridge& bridge) : bridge_{bridge} {}

  void select() override { selected_ = false; }
  void deselect() override { bridge_.release_select(); }
  uint8_t exchange(uint8_t mosi) override;
  void exchange(const uint8_t* mosi, uint8_t* miso, size_t count) override;

  bool start_dma(const uint8_t*, uint8_t*, size_t) override { return false; }
  bool wait_dma(uint32_t) override { return false; }
  void abort_dma() override {}

  uint32_t now_us() override;  // of the host
  void delay_us(uint32_t us) override { bridge_.wait(us); }

  bool set_reset_pin(bool high) override { return bridge_.set_reset_pin(high); }
  bool wait_for_interrupt(uint32_t timeout_us) override { return bridge_.intn_low(timeout_us).value_or(false); }

 private:
  SpiBridge& bridge_;
  bool selected_ = false;  // the frame has begun on the board, too
};

}  // namespace wizloop::spi_bridge
