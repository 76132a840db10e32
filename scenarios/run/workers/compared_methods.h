// The methods of a comparison: the sources of their trainings, and the anchors that pilots find
// where volumes are equal in bytes.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/state.h"
#include "compress/policies/networks_policy.h"
#include "scenarios/run/workers/equal_bytes.h"
#include "scenarios/training/step_sources.h"
#include "trainer/processes/process_group.h"

namespace legacy {

// ComparedMethods are the methods of a scenario, which outlives them. A network is known by its
// scenario; the first is that of the run.
class ComparedMethods {
 public:
  using Networks = std::vector<const Scenario*>;

  // Throws Error where a method does not exist or cannot be trained, and where the trainings would
  // take more memory than they may.
  ComparedMethods(const Scenario& scenario, ProcessGroup& processes);
  // Does the same for steps that `sources` make.
  ComparedMethods(const Scenario& scenario, ProcessGroup& processes,
                  std::unique_ptr<StepSources> sources);

  const std::vector<Method>& All() const { return all_; }
  StepSources& sources() const { return *sources_; }
  // Returns a text about the memory of the largest training, where it is large; otherwise nothing.
  const std::string& MemoryText() const { return memory_text_; }
  bool DependsOnNetwork(const Method& method) const;
  // Returns the number of trainings of a seed that this number of networks needs.
  int64_t TrainingsOn(const Method& method, size_t networks) const {
    return DependsOnNetwork(method) ? static_cast<int64_t>(networks) : 1;
  }
  // Returns the number of a method's steps that differ on the network, as far as its policy knows
  // beforehand.
  int64_t DifferentSteps(const Method& method, const StepSource& training) const;

  // Makes a training's source. `log` receives the method's description; null: it is not written.
  std::unique_ptr<StepSource> MakeSource(const Method& method, uint64_t seed,
                                         std::FILE* log = nullptr);
  // Does the same with the policies of `others` further networks besides the method's; `policy`
  // becomes all of them. They live as long as the source.
  std::unique_ptr<StepSource> MakeSharedSource(const Method& method, uint64_t seed, size_t others,
                                               NetworksPolicy** policy);

  // Returns the method as it is trained with that seed on the network of `here`. Where volumes are
  // equal in bytes and the method needs pilots, it has the anchor that they found.
  const Method& Chosen(const Method& method, uint64_t seed, const Scenario& here);
  // Runs the pilots on a further network, and prints what they found. The requested bytes are the
  // same on all networks; the anchor is not, where the policy reads the clock.
  void PilotOn(const Scenario& here, const std::string& network, std::FILE* log);
  // Prints the requested bytes and those of the best pilot on that network, where there were
  // pilots.
  void SayVolume(const Method& method, const Scenario& here, std::FILE* log) const;

  // Adds the decisions to expect, the requested bytes with reasons why a method may send others, by
  // method, and remarks about methods.
  void Describe(nlohmann::json& manifest) const;
  const std::vector<std::string>& Remarks() const { return remarks_; }
  // Write and read what pilots found. Load throws Error where it is of another run.
  void Save(const Networks& networks, StateWriter& out) const;
  void Load(const Networks& networks, StateReader& in);

 private:
  std::vector<Unit> UnitsOf(const Method& method) const;
  BuiltMethod Build(const Method& method) const;
  // Returns the bytes that the method has to send; nothing where it is not asked for any.
  std::optional<double> Requested(const Method& method, uint64_t seed, std::span<const Unit> units);
  std::unique_ptr<StepSource> SourceWith(BuiltMethod built, const Method& method, uint64_t seed);
  void CheckMemory();

  const Scenario& scenario_;
  ProcessGroup& processes_;
  std::vector<Method> all_;
  std::unique_ptr<StepSources> sources_;
  // Methods by name, seed and network.
  std::map<std::tuple<std::string, uint64_t, const Scenario*>, EqualBytes> chosen_;
  // Measured bytes of schemes that read the network, by method and seed.
  std::map<std::pair<std::string, uint64_t>, double> anchors_;
  // Requested bytes of a step by method, where volumes are equal.
  std::map<std::string, double> requested_;
  std::map<std::string, int64_t> forecasts_;  // decisions by method, for policies that decide
  std::vector<std::string> remarks_;  // about methods that do not do what their names promise
  std::string memory_text_;
};

}  // namespace legacy
