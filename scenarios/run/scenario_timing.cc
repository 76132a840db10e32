#include "scenarios/run/scenario_timing.h"

#include "base/error.h"
#include "ns3-module/fabric/collective/alpha-beta.h"
#include "ns3-module/fabric/step/last-collective.h"
#include "scenarios/checkpoint/fields.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/flow_recorder.h"
#include "trainer/clock/measured_clock.h"

namespace legacy {
namespace {

// Returns the scenario's engines, which write ns-3's own files if the scenario requests them.
fabric::EngineFactory FactoryWithFiles(const Scenario& scenario, const ScenarioNetwork& network,
                                       const PacketFiles& files,
                                       const std::function<void()>& on_flow) {
  fabric::EngineFactory factory =
      files.Any() ? FactoryOf(*scenario.fidelity, "network.fidelity", files) : network.factory;
  if (!on_flow) return factory;
  return TraceFlows(
      std::move(factory), {},
      [on_flow](const fabric::Flow&, TimeNs, bool, const fabric::RoceFlow*) { on_flow(); });
}

// Returns the scenario with the rate and the delay of an entry.
Scenario WithRatesOf(Scenario scenario, const NetworkScheduleEntry& entry) {
  if (entry.bandwidth) scenario.bandwidth = *entry.bandwidth;
  if (entry.delay) scenario.delay = *entry.delay;
  return scenario;
}

// Returns a network for each entry of the schedule, or a single one if there is no schedule.
std::vector<ScenarioNetwork> NetworksOf(const Scenario& scenario) {
  std::vector<ScenarioNetwork> networks;
  for (const NetworkScheduleEntry& entry : *scenario.network_schedule) {
    networks.push_back(BuildScenarioNetwork(WithRatesOf(scenario, entry), scenario.seed));
  }
  if (networks.empty()) networks.push_back(BuildScenarioNetwork(scenario, scenario.seed));
  return networks;
}

}  // namespace

ScenarioTiming::ScenarioTiming(const Scenario& scenario, const std::function<void()>& on_flow)
    : scenario_(scenario),
      networks_(NetworksOf(scenario)),
      pricing_(scenario),
      files_{scenario.pcap, scenario.flow_monitor, scenario.netanim},
      diagnostics_(ParseDiagnostics(scenario, networks_.front())) {
  for (const ScenarioNetwork& network : networks_) {
    const Network& built = *network.network;
    const fabric::UniformPath path =
        fabric::TypicalPath(built.topology, built.placement, built.request.transport);
    alpha_beta_.push_back(
        {fabric::NeighbourLatency(built.topology, built.placement, built.request.transport),
         static_cast<double>(path.rateBps) / 8});
    transfers_.push_back(TransfersOf(scenario, built));
    simulators_.emplace_back(FactoryWithFiles(scenario, network, files_, on_flow),
                             network.network->request, scenario.memoise);
  }
}

std::vector<Clock> ScenarioTiming::MakeClocks(std::span<const OperationCost> costs,
                                              std::span<const Unit> layers) const {
  std::vector<Clock> clocks;
  for (const ScenarioNetwork& network : networks_) {
    clocks.push_back(pricing_.MakeClock(costs, layers, *network.network));
  }
  return clocks;
}

StepClocks ScenarioTiming::MakeClocks(const TraceTraining& training, bool compressed) const {
  StepClocks clocks;
  for (const ScenarioNetwork& network : networks_) {
    const TransferOptions transfers = TransfersOf(scenario_, *network.network);
    const double speed = scenario_.device_speed;
    clocks.push_back(
        compressed
            ? std::make_unique<MeasuredClock>(training, speed, pricing_.profile(), transfers)
            : std::make_unique<MeasuredClock>(training, speed, scenario_.codec_speed, transfers));
  }
  return clocks;
}

ScenarioTiming::Simulated ScenarioTiming::Simulate(const fabric::StepTraffic& traffic, int64_t step,
                                                   TimeNs start) {
  fabric::StepSimulator& simulator = simulators_[EntryOf(step)];
  const int64_t fresh = simulator.FreshSteps();
  const fabric::StepTiming& timing =
      simulator.Simulate(traffic, static_cast<uint64_t>(step), start);
  return {timing, simulator.FreshSteps() > fresh};
}

double ScenarioTiming::AlphaBetaSeconds(const fabric::StepTraffic& traffic, int64_t step) const {
  const AlphaBeta& rule = alpha_beta_[EntryOf(step)];
  double seconds = 0;
  fabric::LastCollective<double> last;
  fabric::ForEachCollective(traffic, [&](const fabric::CollectiveSpec& spec, int64_t times) {
    seconds += static_cast<double>(times) * last.Of(spec, [&](const fabric::CollectiveSpec& one) {
      return fabric::AlphaBetaSeconds(one, rule.latency, rule.bytes_per_second);
    });
  });
  return seconds;
}

LinkEstimate ScenarioTiming::LinkAt(int64_t step) const {
  const size_t entry = EntryOf(step);
  const auto& [latency, bytes_per_second] = alpha_beta_[entry];
  return {
      latency, 1 / bytes_per_second,
      [this, entry](const CollectiveCall& call, int64_t elements, std::span<const int64_t> bytes) {
        const auto& [latency, bytes_per_second] = alpha_beta_[entry];
        return CallSeconds(transfers_[entry], call, elements, bytes, latency, bytes_per_second);
      },
      [this](const WorkList& work) {
        double seconds = 0;
        for (const Work& entry : work) seconds += pricing_.profile().WorkSeconds(entry);
        return seconds;
      }};
}

ScenarioTiming::Counts ScenarioTiming::Simulations() const {
  Counts counts;
  for (const fabric::StepSimulator& simulator : simulators_) {
    fabric::Add(counts.engine, simulator.Totals());
    counts.fresh += simulator.FreshSteps();
    counts.memoised += simulator.MemoisedSteps();
  }
  return counts;
}

std::string ScenarioTiming::Description() const {
  const Network& network = this->network();
  const std::string rate =
      networks_.size() > 1 ? std::to_string(networks_.size()) + "-entry network schedule"
      : scenario_.network_schedule->empty()
          ? scenario_.bandwidth.text()
          : WithRatesOf(scenario_, scenario_.network_schedule->front()).bandwidth.text();
  return std::to_string(scenario_.workers) + " workers on " + network.topology.Name() + " (" +
         network.placement.description + "), " + (HasOwnRates(scenario_) ? "its own rates" : rate) +
         ", " + scenario_.fidelity.text() + " fidelity";
}

std::string ScenarioTiming::Conditions() const {
  std::string text = "transport " + scenario_.transport.text() + "; ";
  text += scenario_.stragglers == "none" ? "no stragglers" : "stragglers " + scenario_.stragglers;
  if (scenario_.sync.text() != Scenario().sync.text()) text += "; sync " + scenario_.sync.text();
  return text;
}

std::string ScenarioTiming::Warning() const {
  for (const ScenarioNetwork& entry : networks_) {
    std::string warning = ClockWarning(*scenario_.fidelity, *entry.network);
    if (!warning.empty()) return warning;
  }
  return "";
}

void ScenarioTiming::RequirePackets() const {
  if (Packets() && scenario_.workers > 1 && Simulations().engine.packets == 0) {
    throw Error("packet fidelity was asked for, but no packet was simulated");
  }
  files_.RequireWhole();
}

void ScenarioTiming::SamplePackets(int64_t samples, int64_t different,
                                   const std::filesystem::path& directory, bool goes_on) {
  sampler_.emplace(network().request, FactoryOf(Fidelity::kPacket, "network.fidelity"), samples,
                   different);
  samples_.emplace(directory, std::span<const Metric>(), goes_on);
}

void ScenarioTiming::Save(StateWriter& out) const {
  for (const fabric::StepSimulator& simulator : simulators_) ToArchive(out, simulator.Save());
  if (sampler_) ToArchive(out, sampler_->Offered(), sampler_->Samples());
}

void ScenarioTiming::Load(StateReader& in) {
  for (fabric::StepSimulator& simulator : simulators_) {
    fabric::StepSimulator::State state;
    FromArchive(in, state);
    simulator.Load(std::move(state));
  }
  if (!sampler_) return;
  int64_t offered = 0;
  std::vector<PacketSampler::Sample> samples;
  FromArchive(in, offered, samples);
  sampler_->GoOn(offered, std::move(samples));
}

void ScenarioTiming::OfferSample(const std::string& policy, uint64_t seed, int64_t step,
                                 const fabric::StepTraffic& traffic, TimeNs start, TimeNs time) {
  if (!sampler_ || EntryOf(step) != 0) return;
  if (!sampler_->Offer(policy, static_cast<uint64_t>(step), traffic, start, time)) return;
  const PacketSampler::Sample& sample = sampler_->Samples().back();
  samples_->Write(
      {policy, seed, step, InSeconds(sample.flow), InSeconds(sample.packet), sample.Difference()});
}

}  // namespace legacy
