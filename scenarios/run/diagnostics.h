// A closer look at chosen steps of a run's trainings: traces of them, and what they are bound by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "analysis/run_directory.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/device_times.h"
#include "scenarios/network/trace.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/scenario_network.h"
#include "trainer/clock/clock.h"

namespace legacy {

// What to look at, read from a scenario's options once.
struct Diagnostics {
  bool doctor = false;
  std::set<int> doctor_steps;  // empty: the one of the median time
  fabric::EngineFactory doctor_engine;
  std::set<int> trace_steps;
  std::set<int> trace_workers;
  fabric::EngineFactory trace_engine;  // the one that steps are timed with
};

// Throws Error on steps and endpoints that there are not, and on fidelities that this build lacks.
Diagnostics ParseDiagnostics(const Scenario& scenario, const ScenarioNetwork& network);

// The scenario without the doctor, traces and ns-3's own files.
Scenario WithoutDiagnostics(Scenario scenario);

// "0,10-12" of the scenario's steps. Throws Error naming `option`.
std::set<int> ParseSteps(const std::string& text, const Scenario& scenario,
                         const std::string& option);

// Names of policies are the user's: a file's name takes what is plain of them.
std::string PlainFileName(std::string policy);

// Told of every step of every training; writes trace-POLICY-seedN.json of each, and of the first
// seed's doctor.csv and doctor.json. Until a training ends it keeps the traffic of one step of each
// duration, where the median is looked for.
class StepListener {
 public:
  // What is given as references outlives this.
  StepListener(const Diagnostics& diagnostics, const Scenario& scenario, const Network& network,
               const std::filesystem::path& directory);

  void Begin(const std::string& policy, uint64_t seed);
  // `start`: of the step, from the training's start. Throws Error where a traced step takes another
  // time when it is simulated again.
  void Step(int64_t step, fabric::TimeNs start, const PricedStep& priced,
            const fabric::StepTiming& timing);
  // The training is complete.
  void Finish();

 private:
  struct Kept {
    int64_t step = 0;   // the first that takes so long
    int64_t count = 0;  // of steps that do
    fabric::StepTraffic traffic;
    EncodeTimes encode;
  };

  bool Doctors() const { return diagnostics_.doctor && seed_ == scenario_.seed; }
  void Keep(int64_t step, const PricedStep& priced, fabric::TimeNs total);
  const Kept& Median() const;
  void Consult(const Kept& kept);
  void AddTrace(int64_t step, fabric::TimeNs start, const PricedStep& priced, fabric::TimeNs total);

  const Diagnostics& diagnostics_;
  const Scenario& scenario_;
  const Network& network_;
  const std::filesystem::path directory_;
  std::optional<analysis::DoctorWriter> rows_;
  nlohmann::ordered_json diagnoses_ = nlohmann::ordered_json::array();

  // of the training
  std::string policy_;
  uint64_t seed_ = 0;
  std::optional<Trace> trace_;
  std::map<fabric::TimeNs, Kept> kept_;  // by the step's time
};

}  // namespace legacy
