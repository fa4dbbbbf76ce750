// What a scenario in catalogue/ is made of. A new scenario is one file there:
//
//   class TcpXmit final : public Experiment { ... };
//   const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<TcpXmit>(); }};
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/scenario/parameters.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/scenario/world.hpp"

namespace wizloop::scenario {

// What an experiment found. With a failure the run is void and its figures mean nothing.
struct Outcome {
  std::vector<Figure> figures;
  Measurement measurement;
  std::string failure;

  static Outcome failed(std::string why) { return {{}, {}, std::move(why)}; }
};

// Where an experiment gets its worlds from: as many as it needs, each as fresh as the first. The last one is the run.
class Worlds {
 public:
  virtual World& make() = 0;

 protected:
  ~Worlds() = default;
};

class Experiment {
 public:
  virtual ~Experiment() = default;

  // With the parameters of its own; every scenario also has buffer_kib and wait.
  virtual ScenarioInfo info() const = 0;
  virtual Outcome run(Worlds& worlds, const Parameters& parameters) = 0;
};

using ExperimentMaker = std::unique_ptr<Experiment> (*)();

class Registration {
 public:
  explicit Registration(ExperimentMaker maker) { all().push_back(maker); }
  static std::vector<ExperimentMaker>& all();
};

}  // namespace wizloop::scenario
