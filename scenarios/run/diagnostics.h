// Diagnostics examine chosen steps of a run's trainings: they write traces of them, and find what
// bounds them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "analysis/run_directory.h"
#include "base/state.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/device_times.h"
#include "scenarios/network/trace.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/scenario_network.h"
#include "trainer/clock/clock.h"

namespace legacy {

// Diagnostics say which steps to examine, read from a scenario's options once.
struct Diagnostics {
  bool doctor = false;
  std::set<int> doctor_steps;  // steps to diagnose; empty: the one of the median time
  fabric::EngineFactory doctor_engine;
  std::set<int> trace_steps;
  std::set<int> trace_workers;
  fabric::EngineFactory trace_engine;  // engine with which steps are timed
};

// Reads the scenario's options. Throws Error on steps and endpoints that do not exist, and on
// fidelities that this build lacks.
Diagnostics ParseDiagnostics(const Scenario& scenario, const ScenarioNetwork& network);

// Returns the scenario without the doctor, traces and ns-3's own files.
Scenario WithoutDiagnostics(Scenario scenario);

// Reads steps of the scenario such as "0,10-12". Throws Error naming `option`.
std::set<int> ParseSteps(const std::string& text, const Scenario& scenario,
                         const std::string& option);

// Returns the characters of the user's policy name that are safe in a file name.
std::string PlainFileName(std::string policy);

// A StepListener is called for every step of every training. It writes trace-POLICY-seedN.json for
// each training, and doctor.csv and doctor.json for those of the first seed. Where it looks for the
// median, it keeps the traffic of one step of each duration until the training ends.
class StepListener {
 public:
  // What is given as references outlives this.
  // `goes_on`: rows are appended to the files that are there, and Load follows.
  StepListener(const Diagnostics& diagnostics, const Scenario& scenario, const Network& network,
               const std::filesystem::path& directory, bool goes_on = false);

  // Begins a training.
  void Begin(const std::string& policy, uint64_t seed);
  // Receives a step that began at `start`, counted from the training's start. Throws Error where a
  // traced step takes another time when it is simulated again.
  void Step(int64_t step, TimeNs start, const PricedStep& priced, const fabric::StepTiming& timing);
  // Ends the training and writes its files.
  void Finish();

  // True where doctor.csv is written.
  bool HasRows() const { return rows_.has_value(); }
  // Save and load what later steps and the end of the training depend on. Begin comes before Load.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  // A Kept is one of the steps with the same duration.
  struct Kept {
    int64_t step = 0;   // the first step of that duration
    TimeNs start = 0;   // its start in the training
    int64_t count = 0;  // number of steps of that duration
    fabric::StepTraffic traffic;
    EncodeTimes encode;
    template <class Archive>
    friend void Fields(Archive& archive, Kept& kept) {
      archive(kept.step, kept.start, kept.count, kept.traffic, kept.encode);
    }
  };

  bool Doctors() const { return diagnostics_.doctor && seed_ == scenario_.seed; }
  void Keep(int64_t step, TimeNs start, const PricedStep& priced, TimeNs total);
  const Kept& Median() const;
  void Consult(const Kept& kept);
  void AddTrace(int64_t step, TimeNs start, const PricedStep& priced, TimeNs total);

  const Diagnostics& diagnostics_;
  const Scenario& scenario_;
  const Network& network_;
  const std::filesystem::path directory_;
  std::optional<analysis::DoctorWriter> rows_;
  nlohmann::ordered_json diagnoses_ = nlohmann::ordered_json::array();

  // State of the training in progress.
  std::string policy_;
  uint64_t seed_ = 0;
  std::optional<Trace> trace_;
  std::map<TimeNs, Kept> kept_;  // steps by duration
};

}  // namespace legacy
