// The three ways to the chip, one of which is in use; counts what passes.
#ifndef WIZLOOP_AGENT_SWITCH_BUS_HPP
#define WIZLOOP_AGENT_SWITCH_BUS_HPP

#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "drivers/w5500/dma_bus.hpp"

namespace agent {

enum class Path : uint8_t { byte, burst, dma };

class SwitchBus final : public w5500::Bus {
 public:
  struct Counters {
    uint64_t frames = 0;
    uint64_t bytes = 0;  // headers and data
    uint32_t errors = 0;
  };

  explicit SwitchBus(w5500::Port& port) : byte_(port), burst_(port), dma_(port) {}

  Path path() const { return path_; }
  void use(Path path) { path_ = path; }

  bool read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) override;
  bool write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) override;

  Counters counters{};

 private:
  w5500::Bus& current();
  bool counted(bool transferred, uint16_t count);

  w5500::ByteBus byte_;
  w5500::BurstBus burst_;
  w5500::DmaBus dma_;
  Path path_ = Path::burst;
};

}  // namespace agent

#endif
