// The UART of a simulated board, from the firmware's side a Console: 8N1, a receive FIFO that loses what does not fit,
// and a transmit FIFO that makes firmware wait. Exact in virtual time, without an event for each byte.
//
//   SimConsole console{queue, bus, {.baud = 115'200}};
//   console.listen([&](Bytes sent) { ... });
//   console.type("#1 hello\n");          // the far end begins to send, now or when it is done with what came before
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>

#include "boards/agent/console.hpp"
#include "sim/bus/spi_bus.hpp"
#include "sim/core/bytes.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/core/event_scope.hpp"

namespace wizloop::board {

struct UartSetup {
  std::int64_t baud = 1'000'000;
  std::size_t rx_fifo_bytes = 1024;  // a driver's ring buffer included
  std::size_t tx_fifo_bytes = 256;
};

class SimConsole final : public agent::Console {
 public:
  // Called when the last bit of a piece of output has left; the bytes are valid during the call.
  using Listener = std::function<void(Bytes)>;

  struct Counters {
    std::uint64_t received = 0;  // by the UART, those lost included
    std::uint64_t lost = 0;      // because the FIFO was full
    std::uint64_t sent = 0;
  };

  SimConsole(EventQueue& queue, bus::SpiBus& bus, const UartSetup& setup);

  void listen(Listener listener) { listener_ = std::move(listener); }
  void type(Bytes bytes);
  void type(std::string_view text);
  // The UART loses its supply or is reset: what is in it, or on its way in either direction, is gone.
  void reset();

  const Counters& counters() const { return counters_; }

  // agent::Console
  std::size_t read(std::uint8_t* data, std::size_t count) override;
  void write(const std::uint8_t* data, std::size_t count) override;
  bool take_overrun() override;
  void wait(std::uint32_t timeout_us) override;

 private:
  void take_in();
  bool has_input();
  void deliver(std::size_t count, std::uint32_t start);

  EventQueue& queue_;
  EventScope events_{queue_};
  bus::SpiBus& bus_;
  UartSetup setup_;
  Duration byte_time_;
  Listener listener_;
  Counters counters_;
  struct Arriving {
    Instant at;  // its last bit
    std::uint8_t byte;
  };
  std::deque<Arriving> arriving_;
  std::deque<std::uint8_t> rx_;
  bool overrun_ = false;
  Instant rx_busy_until_{};
  std::vector<std::uint8_t> leaving_;
  Instant tx_busy_until_{};
  std::uint32_t starts_ = 0;  // tells output apart that was on its way at a reset
};

}  // namespace wizloop::board
