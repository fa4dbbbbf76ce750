// A socket library whose calls cost CPU time on the simulated board, besides the time of their SPI frames, and are
// under the eyes of a watchdog. Between two calls the host may start anew, if the run plans it.
#pragma once

#include <cstdint>

#include "drivers/patterns/socket_library.hpp"
#include "sim/bus/spi_bus.hpp"
#include "sim/core/fault.hpp"

namespace wizloop::scenario {

// A call that takes longer than this hangs: the chip itself gives up on a silent peer after 31.8 s.
inline constexpr Duration call_patience = 60s;

// Thrown out of firmware whose host starts anew, by fault.host_restart.
struct HostRestarts {
  Duration boot;
};

class PricedLibrary final : public patterns::SocketLibrary {
 public:
  // `restart` is null unless planned. `taken` counts the bytes that reads have handed to the program.
  PricedLibrary(patterns::SocketLibrary& library, bus::SpiBus& bus, Duration call, FaultPoint* restart,
                std::uint64_t& taken)
      : library_{library}, bus_{bus}, call_{call}, restart_{restart}, taken_{taken} {}

  bool begin(const patterns::NetConfig& config) override { return priced().begin(config); }
  bool tcp_connect(const patterns::Endpoint& peer, std::uint16_t local_port) override {
    return priced().tcp_connect(peer, local_port);
  }
  bool tcp_listen(std::uint16_t local_port) override { return priced().tcp_listen(local_port); }
  bool tcp_connected() override { return priced().tcp_connected(); }
  std::uint16_t tcp_write(const std::uint8_t* data, std::uint16_t count) override {
    return priced().tcp_write(data, count);
  }
  std::uint16_t tcp_available() override { return priced().tcp_available(); }
  std::uint16_t tcp_read(std::uint8_t* data, std::uint16_t count) override {
    return take(priced().tcp_read(data, count));
  }
  void tcp_stop() override { priced().tcp_stop(); }
  bool udp_open(std::uint16_t local_port) override { return priced().udp_open(local_port); }
  bool udp_send(const patterns::Endpoint& to, const std::uint8_t* data, std::uint16_t count) override {
    return priced().udp_send(to, data, count);
  }
  std::uint16_t udp_parse() override { return priced().udp_parse(); }
  std::uint16_t udp_read(std::uint8_t* data, std::uint16_t count) override {
    return take(priced().udp_read(data, count));
  }

 private:
  patterns::SocketLibrary& priced() {
    if (restart_ != nullptr && restart_->strikes()) throw HostRestarts{restart_->time("boot")};
    bus_.start_watchdog(call_patience);
    bus_.spend(call_, Account::cpu);
    return library_;
  }

  std::uint16_t take(std::uint16_t bytes) {
    taken_ += bytes;
    return bytes;
  }

  patterns::SocketLibrary& library_;
  bus::SpiBus& bus_;
  Duration call_;
  FaultPoint* restart_;
  std::uint64_t& taken_;
};

}  // namespace wizloop::scenario
