// The faults of one test: a plan in the words of a scenario file, brought to life.
//
//   PlannedFaults faults{board.queue, board.trace, {{"spi_flip", "nth=3"}}};
//   faults->point(Fault::spi_flip)
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/core/fault.hpp"

namespace wizloop::test {

class PlannedFaults {
 public:
  using Texts = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  PlannedFaults(EventQueue& queue, Trace& trace, Texts texts, std::uint64_t seed = 1) {
    FaultPlan plan;
    for (const auto& [name, text] : texts) {
      const auto added = plan.add(name, text);
      if (!added) ADD_FAILURE() << added.error().message;
    }
    faults_.emplace(plan, queue, Random{seed}, trace);
  }

  Faults& operator*() { return *faults_; }
  Faults* operator->() { return &*faults_; }
  // How often this fault has struck.
  std::uint64_t struck(Fault fault) { return faults_->point(fault)->struck(); }

 private:
  std::optional<Faults> faults_;
};

}  // namespace wizloop::test
