// A front that takes single edges at its pins and can stand in for the chip's own (sim/rtl makes them).
//
//   std::unique_ptr<chip::PinFront> front = make(queue, chip.behind_front());
//   chip.set_front(*front);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sim/chip/chip.hpp"
#include "sim/chip/spi_front.hpp"
#include "sim/chip/spi_pins.hpp"
#include "sim/core/result.hpp"

namespace wizloop::chip {

// Thrown out of the firmware of a run whose fronts do not agree, some time after they did last.
struct FrontsDiffer {};

class PinFront : public Front, public SpiPins {
 public:
  virtual ~PinFront() = default;

  // How its fronts differ, where it has two; empty as long as they do not.
  virtual std::string difference() const { return {}; }
  // At the end of a run: what it has to write down about a difference. The error says which file could not be written.
  virtual std::optional<Error> close() { return std::nullopt; }
};

using FrontMaker = std::function<std::unique_ptr<PinFront>(const EventQueue& queue, Chip::BehindFront behind)>;

}  // namespace wizloop::chip
