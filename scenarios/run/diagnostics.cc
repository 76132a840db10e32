#include "scenarios/run/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "ns3-module/fabric/step/build-sharded.h"
#include "scenarios/checkpoint/fields.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/step_doctor.h"

namespace legacy {
namespace {

nlohmann::ordered_json DiagnosisDocument(const StepDiagnosis& diagnosis,
                                         nlohmann::ordered_json document) {
  document["step_seconds"] = InSeconds(diagnosis.as_it_is.total);
  document["bound"] = ToString(diagnosis.Verdict().bound);
  document["verdict"] = VerdictText(diagnosis);
  document["busiest_link"] = diagnosis.busiest_link;
  document["busiest_utilisation"] = diagnosis.busiest_utilisation;
  document["slowest_worker"] = diagnosis.slowest_worker;
  document["slowest_device_seconds"] = InSeconds(diagnosis.slowest_time);
  document["median_device_seconds"] = InSeconds(diagnosis.median_time);
  const Congestion& congestion = diagnosis.congestion;
  if (congestion.waiting > 0) {
    document["congestion"] = {{"flows", congestion.flows},     {"waiting", congestion.waiting},
                              {"victims", congestion.victims}, {"root", congestion.root},
                              {"behind", congestion.behind},   {"host", congestion.host}};
  }
  document["remedies"] = DoctorRows(diagnosis, {});
  return document;
}

// Returns the rank of a plan that each worker is: its own, or that of its stage.
std::vector<int> RanksOf(const fabric::StepTraffic& traffic, const fabric::StepPlan& plan) {
  std::vector<int> ranks(traffic.workers);
  std::iota(ranks.begin(), ranks.end(), 0);
  if (plan.ranks == traffic.workers) return ranks;
  for (int s = 0; s < plan.ranks; ++s) {
    for (const int worker : fabric::WorkersOf(traffic, s)) ranks[worker] = s;
  }
  return ranks;
}

}  // namespace

std::set<int> ParseSteps(const std::string& text, const Scenario& scenario,
                         const std::string& option) {
  const int64_t limit = std::numeric_limits<int>::max();
  return ParseEndpoints(text, static_cast<int>(std::min<int64_t>(scenario.steps, limit)), option);
}

// The user may choose the names of policies, so a file's name takes only their plain characters.
std::string PlainFileName(std::string policy) {
  std::replace_if(
      policy.begin(), policy.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '_' && c != '.'; }, '_');
  return policy;
}

Scenario WithoutDiagnostics(Scenario scenario) {
  const Scenario defaults;
  scenario.doctor = defaults.doctor;
  scenario.trace_steps = defaults.trace_steps;
  scenario.pcap = defaults.pcap;
  scenario.flow_monitor = defaults.flow_monitor;
  scenario.netanim = defaults.netanim;
  return scenario;
}

Diagnostics ParseDiagnostics(const Scenario& scenario, const ScenarioNetwork& network) {
  Diagnostics diagnostics;
  diagnostics.doctor = scenario.doctor != "off";
  if (diagnostics.doctor) {
    if (scenario.doctor != "on") {
      diagnostics.doctor_steps = ParseSteps(scenario.doctor, scenario, "network.doctor");
    }
    diagnostics.doctor_engine = FactoryOf(*scenario.doctor_fidelity, "network.doctor_fidelity");
    TryEngine(diagnostics.doctor_engine, *network.network);
  }
  if (!scenario.trace_steps.empty()) {
    diagnostics.trace_steps = ParseSteps(scenario.trace_steps, scenario, "network.trace_steps");
    diagnostics.trace_workers = ParseEndpoints(
        scenario.trace_workers, network.network->placement.Endpoints(), "network.trace_workers");
    diagnostics.trace_engine = network.factory;
  }
  return diagnostics;
}

StepListener::StepListener(const Diagnostics& diagnostics, const Scenario& scenario,
                           const Network& network, const std::filesystem::path& directory,
                           bool goes_on)
    : diagnostics_(diagnostics), scenario_(scenario), network_(network), directory_(directory) {
  if (!goes_on) {
    for (const char* older : {"doctor.csv", "doctor.json"})
      std::filesystem::remove(directory / older);
  }
  if (diagnostics_.doctor) rows_.emplace(directory, std::span<const Metric>(), goes_on);
}

void StepListener::Begin(const std::string& policy, uint64_t seed) {
  policy_ = policy;
  seed_ = seed;
  kept_.clear();
  trace_.reset();
  if (!diagnostics_.trace_steps.empty()) {
    trace_.emplace(EndpointNames(network_.topology, network_.placement),
                   diagnostics_.trace_workers);
  }
}

void StepListener::Step(int64_t step, TimeNs start, const PricedStep& priced,
                        const fabric::StepTiming& timing) {
  const int number = static_cast<int>(step);
  if (Doctors()) {
    if (diagnostics_.doctor_steps.empty()) Keep(step, start, priced, timing.total);
    if (diagnostics_.doctor_steps.count(number) > 0) {
      Consult({step, start, 1, priced.traffic, priced.call_encode});
    }
  }
  if (diagnostics_.trace_steps.count(number) > 0) AddTrace(step, start, priced, timing.total);
}

void StepListener::Finish() {
  if (Doctors() && diagnostics_.doctor_steps.empty() && !kept_.empty()) Consult(Median());
  if (trace_) {
    const std::string name = "trace-" + PlainFileName(policy_) + "-seed" + std::to_string(seed_);
    ReplaceFile(directory_ / (name + ".json"), trace_->Finish());
    trace_.reset();
  }
}

void StepListener::Save(StateWriter& out) const {
  const std::string diagnoses = diagnoses_.dump();
  std::optional<Trace::Content> trace;
  if (trace_) trace = trace_->content();
  ToArchive(out, diagnoses, trace, kept_);
}

void StepListener::Load(StateReader& in) {
  std::string diagnoses;
  std::optional<Trace::Content> trace;
  FromArchive(in, diagnoses, trace, kept_);
  diagnoses_ = nlohmann::ordered_json::parse(diagnoses);
  if (trace.has_value() != trace_.has_value()) throw Error("state: a trace of another run");
  if (trace) trace_->SetContent(std::move(*trace));
}

void StepListener::Keep(int64_t step, TimeNs start, const PricedStep& priced, TimeNs total) {
  const auto [entry, added] = kept_.try_emplace(total);
  if (added) entry->second = {step, start, 0, priced.traffic, priced.call_encode};
  ++entry->second.count;
}

// Returns the step with the median duration; of two, the one with the lower duration.
const StepListener::Kept& StepListener::Median() const {
  int64_t steps = 0;
  for (const auto& [total, kept] : kept_) steps += kept.count;
  auto median = kept_.begin();
  for (int64_t before = (steps - 1) / 2; before >= median->second.count; ++median) {
    before -= median->second.count;
  }
  return median->second;
}

void StepListener::Consult(const Kept& kept) {
  const StepDiagnosis diagnosis =
      Diagnose({&kept.traffic, kept.encode, static_cast<uint64_t>(kept.step), kept.start},
               network_.request, diagnostics_.doctor_engine);
  for (const nlohmann::ordered_json& row : DoctorRows(diagnosis, {})) {
    rows_->Write({policy_, seed_, kept.step, scenario_.doctor_fidelity.text(), row["remedy"],
                  row["bound"], row["change"], row["step_seconds"], row["gain"],
                  row["verdict"] == 1});
  }
  diagnoses_.push_back(
      DiagnosisDocument(diagnosis, {{"policy", policy_},
                                    {"seed", seed_},
                                    {"step", kept.step},
                                    {"fidelity", scenario_.doctor_fidelity.text()}}));
  ReplaceFile(directory_ / "doctor.json", diagnoses_.dump(1) + "\n");
}

void StepListener::AddTrace(int64_t step, TimeNs start, const PricedStep& priced, TimeNs total) {
  FlowRecorder recorder;
  fabric::StepSimulator simulator(recorder.Wrap(diagnostics_.trace_engine), network_.request,
                                  false);
  std::optional<std::pair<fabric::StepPlan, fabric::PlanTiming>> ran;
  const fabric::StepTiming& timing =
      simulator.Simulate(priced.traffic, static_cast<uint64_t>(step), start,
                         [&](const fabric::StepPlan& plan, const fabric::PlanTiming& times) {
                           ran = {plan, times};
                         });
  if (timing.total != total) {
    throw Error("method " + policy_ + ", step " + std::to_string(step) + ": took " +
                std::to_string(total) + " ns, and for its trace " + std::to_string(timing.total));
  }
  TracedStep traced;
  traced.name = "step " + std::to_string(step);
  traced.start = start;
  if (ran) {
    traced.plan = &ran->first;
    traced.ran = &ran->second;
    traced.ranks = RanksOf(priced.traffic, ran->first);
    // Collectives that are timed alone have flows of their own simulations.
    if (!priced.traffic.sharded->alone) traced.flows = recorder.Take();
    return trace_->Add(traced);
  }
  traced.traffic = &priced.traffic;
  traced.timing = &timing;
  for (const std::vector<std::vector<TimeNs>>& bucket : priced.call_encode) {
    traced.encode.push_back(bucket.empty() ? std::vector<TimeNs>(priced.traffic.workers)
                                           : bucket.front());
  }
  traced.flows = recorder.Take();
  trace_->Add(traced);
}

}  // namespace legacy
