#include "scenarios/run/timing.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ns3-module/fabric/collective/alpha-beta.h"
#include "ns3-module/fabric/topology/file.h"
#include "scenarios/network/engines.h"
#include "trainer/clock/measured_clock.h"

namespace legacy {
namespace {

// Returns the payload bytes that leave one worker's NIC in a step, in the mean over the workers.
double StepNicBytes(const fabric::StepTraffic& traffic) {
  double bytes = 0;
  for (const fabric::BucketTraffic& bucket : traffic.buckets) {
    for (const fabric::CallTraffic& call : bucket.calls) {
      bytes += NicBytes(call.collective);
    }
  }
  return bytes;
}

// Returns the scenario's engines, which write ns-3's own files where the scenario asks for them.
fabric::EngineFactory FactoryWithFiles(const Scenario& scenario, const ScenarioNetwork& network) {
  const PacketFiles files{scenario.pcap, scenario.flow_monitor, scenario.netanim};
  return files.Any() ? FactoryOf(*scenario.fidelity, "network.fidelity", files) : network.factory;
}

// Returns the scenario with the rate and delay of an entry.
Scenario WithRatesOf(Scenario scenario, const NetworkScheduleEntry& entry) {
  if (entry.bandwidth) scenario.bandwidth = *entry.bandwidth;
  if (entry.delay) scenario.delay = *entry.delay;
  return scenario;
}

// Returns a network for each entry of the schedule, or one where there is no schedule.
std::vector<ScenarioNetwork> NetworksOf(const Scenario& scenario) {
  std::vector<ScenarioNetwork> networks;
  for (const NetworkScheduleEntry& entry : *scenario.network_schedule) {
    networks.push_back(BuildNetwork(WithRatesOf(scenario, entry), scenario.seed));
  }
  if (networks.empty()) networks.push_back(BuildNetwork(scenario, scenario.seed));
  return networks;
}

constexpr double kBytesPerGb = 1e9;  // bytes of a GB in prices

// Returns each bucket's seconds in which the device is idle or decodes for this bucket alone, after
// all computing and after the buckets that ended before it, in the mean over the workers.
std::vector<double> ExposedSeconds(const fabric::StepTraffic& traffic,
                                   const fabric::StepTiming& timing) {
  const size_t buckets = timing.buckets.size();
  std::vector<double> exposed(buckets);
  std::vector<size_t> order(buckets);
  std::iota(order.begin(), order.end(), size_t{0});
  for (int w = 0; w < traffic.workers; ++w) {
    const auto done = [&](size_t b) { return timing.buckets[b].done[w]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return done(a) < done(b); });
    fabric::TimeNs busy = traffic.deviceFree[w];
    for (const size_t b : order) {
      exposed[b] +=
          1e-9 * static_cast<double>(std::max<fabric::TimeNs>(0, done(b) - busy)) / traffic.workers;
      busy = std::max(busy, done(b));
    }
  }
  return exposed;
}

double Seconds(fabric::TimeNs time) { return static_cast<double>(time) * 1e-9; }

Profile ProfileOf(const Scenario& scenario) {
  Profile profile =
      Faster(LoadProfile(scenario.device_profile), scenario.device_speed, scenario.codec_speed);
  profile.launches = scenario.launches->value_or(profile.launches);
  return profile;
}

}  // namespace

double MeanMessageBytes(const StepWork& work) {
  double bytes = 0;
  for (int w = 0; w < work.workers; ++w) {
    bytes += static_cast<double>(work.MessageBytes(w)) / work.workers;
  }
  return bytes;
}

ScenarioTiming::ScenarioTiming(const Scenario& scenario)
    : scenario_(scenario),
      networks_(NetworksOf(scenario)),
      stragglers_(fabric::MakeStragglers(scenario.stragglers)),
      profile_(ProfileOf(scenario)),
      diagnostics_(ParseDiagnostics(scenario, networks_.front())) {
  for (const ScenarioNetwork& network : networks_) {
    const Network& built = *network.network;
    const fabric::UniformPath path = fabric::TypicalPath(built.topology, built.placement);
    alpha_beta_.push_back({fabric::NeighbourLatency(built.topology, built.placement),
                           static_cast<double>(path.rateBps) / 8});
    transfers_.push_back(TransfersOf(scenario, built));
    simulators_.emplace_back(FactoryWithFiles(scenario, network), network.network->request,
                             scenario.memoise);
  }
}

std::vector<Clock> ScenarioTiming::MakeClocks(std::span<const OperationCost> costs,
                                              std::span<const int64_t> layer_numels) const {
  std::vector<Clock> clocks;
  for (const ScenarioNetwork& network : networks_) {
    clocks.emplace_back(profile_, costs, layer_numels, TransfersOf(scenario_, *network.network));
  }
  return clocks;
}

StepClocks ScenarioTiming::MakeClocks(const TraceTraining& training) const {
  StepClocks clocks;
  for (const ScenarioNetwork& network : networks_) {
    clocks.push_back(std::make_unique<MeasuredClock>(training, scenario_.device_speed,
                                                     scenario_.codec_speed,
                                                     TransfersOf(scenario_, *network.network)));
  }
  return clocks;
}

ScenarioTiming::Simulated ScenarioTiming::Simulate(const fabric::StepTraffic& traffic,
                                                   int64_t step) {
  fabric::StepSimulator& simulator = simulators_[EntryOf(step)];
  const int64_t fresh = simulator.FreshSteps();
  const fabric::StepTiming& timing = simulator.Simulate(traffic, static_cast<uint64_t>(step));
  return {timing, simulator.FreshSteps() > fresh};
}

double ScenarioTiming::AlphaBetaSeconds(const fabric::StepTraffic& traffic, int64_t step) const {
  const auto& [latency, bytes_per_second] = alpha_beta_[EntryOf(step)];
  double seconds = 0;
  for (const fabric::BucketTraffic& bucket : traffic.buckets) {
    for (const fabric::CallTraffic& call : bucket.calls) {
      seconds += fabric::AlphaBetaSeconds(call.collective, latency, bytes_per_second);
    }
  }
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
        for (const Work& entry : work) seconds += profile_.WorkSeconds(entry);
        return seconds;
      }};
}

ScenarioTiming::Counts ScenarioTiming::Simulations() const {
  Counts counts;
  for (const fabric::StepSimulator& simulator : simulators_) {
    const fabric::EngineCounters& totals = simulator.Totals();
    counts.engine.events += totals.events;
    counts.engine.packets += totals.packets;
    counts.engine.flows += totals.flows;
    counts.engine.retransmitTimeouts += totals.retransmitTimeouts;
    counts.fresh += simulator.FreshSteps();
    counts.memoised += simulator.MemoisedSteps();
  }
  return counts;
}

StepStart ScenarioTiming::StartOf(const StepClock& clock, uint64_t seed, int64_t step) const {
  StepStart start;
  start.factors = stragglers_->Factors(scenario_.workers, seed, static_cast<uint64_t>(step));
  start.participation =
      scenario_.sync->Decide(clock.ComputeTimes(step, scenario_.batch, start.factors));
  return start;
}

PricedStep ScenarioTiming::Price(const StepClock& clock, const StepWork& work,
                                 const StepStart& start) const {
  return clock.Price(work, start.factors, start.participation.decided);
}

std::string ScenarioTiming::Description() const {
  const Network& network = this->network();
  const std::string rate =
      networks_.size() > 1 ? std::to_string(networks_.size()) + " phases"
      : scenario_.network_schedule->empty()
          ? scenario_.bandwidth.text()
          : WithRatesOf(scenario_, scenario_.network_schedule->front()).bandwidth.text();
  const bool own_rates = fabric::NamesTopologyFile(scenario_.topology) &&
                         !ReadsLinkOption(scenario_, "network.bandwidth");
  return std::to_string(scenario_.workers) + " workers on " + network.topology.Name() + " (" +
         network.placement.description + "), " + (own_rates ? "its own rates" : rate) + ", " +
         scenario_.fidelity.text() + " fidelity";
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
}

void ScenarioTiming::SamplePackets(int64_t samples, int64_t different,
                                   const std::filesystem::path& directory) {
  sampler_.emplace(network().request, FactoryOf(Fidelity::kPacket, "network.fidelity"), samples,
                   different);
  samples_.emplace(directory);
}

void ScenarioTiming::OfferSample(const std::string& policy, uint64_t seed, int64_t step,
                                 const fabric::StepTraffic& traffic, fabric::TimeNs time) {
  if (!sampler_ || EntryOf(step) != 0) return;
  if (!sampler_->Offer(policy, static_cast<uint64_t>(step), traffic, time)) return;
  const PacketSampler::Sample& sample = sampler_->Samples().back();
  samples_->Write(
      {policy, seed, step, Seconds(sample.flow), Seconds(sample.packet), sample.Difference()});
}

ChosenFidelity ResolveFidelity(const Scenario& scenario,
                               const std::function<PacketCost(const Scenario&)>& estimate) {
  if (*scenario.fidelity != Fidelity::kAuto) return {scenario, 0, 0, ""};
  ChosenFidelity chosen{scenario, 0, 0, ""};
  chosen.scenario.fidelity = "flow";
  const PacketCost cost = estimate(chosen.scenario);
  const double budget = Seconds(*scenario.packet_budget);
  const FidelityChoice choice = ChooseFidelity(cost.seconds, cost.steps, budget);
  SetOption(chosen.scenario, "network.fidelity", NameOf(choice.fidelity));
  chosen.samples = choice.samples;
  chosen.different = cost.steps;
  chosen.reason = "auto: " + NameOf(choice.fidelity) + " fidelity; " + choice.reason;
  return chosen;
}

DirectorySink::DirectorySink(const ScenarioTiming& timing, const std::filesystem::path& directory,
                             int64_t parameters)
    : steps_(directory),
      evaluations_(directory),
      layers_(directory),
      decisions_(directory),
      links_(directory),
      network_(directory),
      listener_(timing.diagnostics(), timing.scenario(), timing.network(), directory) {
  if (timing.scenario().tensorboard) tensorboard_.emplace(directory, parameters);
}

TimedTraining::TimedTraining(ScenarioTiming& timing, RunSink& sink, Progress* progress,
                             const std::string& policy, uint64_t seed, StepClocks clocks,
                             std::span<const int64_t> layer_numels)
    : timing_(timing),
      sink_(sink),
      progress_(progress),
      clocks_(std::move(clocks)),
      before_(timing.Simulations()) {
  if (StepListener* listener = sink_.Listener()) listener->Begin(policy, seed);
  row_.policy = evaluation_.policy = state_.policy = policy;
  row_.seed = evaluation_.seed = state_.seed = seed;
  row_.dense_nic_bytes =
      DenseNicBytes(timing.scenario().workers,
                    std::accumulate(layer_numels.begin(), layer_numels.end(), int64_t{0}));
  state_.steps = timing.scenario().steps;
}

const analysis::StepRow& TimedTraining::Step(const StepWork& work, const StepStart& start,
                                             const StepFacts& facts) {
  const PricedStep priced = timing_.Price(*clocks_[timing_.EntryOf(done_)], work, start);
  const auto [timing, fresh] = timing_.Simulate(priced.traffic, done_);
  if (StepListener* listener = sink_.Listener()) listener->Step(done_, now_, priced, timing);
  now_ += timing.total;
  AddLinks(timing.links);
  row_.step = done_++;
  row_.learning_rate = facts.learning_rate;
  row_.training_loss = facts.loss;
  row_.elements_sent = facts.elements_sent;
  row_.fresh = fresh;
  if (row_.fresh) {
    timing_.OfferSample(row_.policy, row_.seed, row_.step, priced.traffic, timing.total);
  }
  FillTimes(work, priced, timing);
  sink_.Write(row_);

  evaluation_.message_bytes += row_.message_bytes;
  evaluation_.nic_bytes += row_.nic_bytes;
  state_.step = done_;
  state_.loss = facts.loss;
  state_.simulated_seconds = row_.simulated_seconds;
  if (progress_ != nullptr) progress_->Step(state_);
  return row_;
}

void TimedTraining::FillTimes(const StepWork& work, const PricedStep& priced,
                              const fabric::StepTiming& timing) {
  const StepSplit split = SplitStep(priced, timing).mean;
  row_.message_bytes = MeanMessageBytes(work);
  row_.nic_bytes = StepNicBytes(priced.traffic);
  row_.step_seconds = Seconds(timing.total);
  row_.compute_seconds = Seconds(split.compute);
  row_.encode_seconds = Seconds(split.encode);
  row_.communication_seconds = Seconds(split.communication);
  row_.decode_seconds = Seconds(split.decode);
  row_.wait_seconds = Seconds(split.wait);
  row_.alpha_beta_seconds = row_.compute_seconds + row_.encode_seconds + row_.decode_seconds +
                            timing_.AlphaBetaSeconds(priced.traffic, row_.step);
  times_ = {.simulated_seconds = row_.step_seconds,
            .compute_seconds = row_.compute_seconds,
            .codec_seconds = row_.encode_seconds + row_.decode_seconds,
            .communication_seconds = row_.communication_seconds,
            .bucket_exposed_seconds = ExposedSeconds(priced.traffic, timing)};
  row_.participants = work.ActiveWorkers();
  row_.simulated_seconds = Seconds(now_);
}

void TimedTraining::Evaluated(double loss, double accuracy) {
  evaluation_.step = done_;
  evaluation_.simulated_seconds = row_.simulated_seconds;
  evaluation_.test_loss = loss;
  evaluation_.test_accuracy = accuracy;
  sink_.Write(evaluation_);
  state_.accuracy = accuracy;
  if (progress_ != nullptr) progress_->Evaluated(state_);
}

void TimedTraining::Finish() {
  WriteLinks();
  if (StepListener* listener = sink_.Listener()) listener->Finish();
  const ScenarioTiming::Counts after = timing_.Simulations();
  const fabric::EngineCounters engine = fabric::Difference(after.engine, before_.engine);
  sink_.Write(analysis::NetworkRow{row_.policy, row_.seed, timing_.scenario().fidelity.text(),
                                   static_cast<int64_t>(engine.events),
                                   static_cast<int64_t>(engine.packets),
                                   after.fresh - before_.fresh, after.memoised - before_.memoised,
                                   static_cast<int64_t>(engine.retransmitTimeouts)});
}

void TimedTraining::AddLinks(const std::vector<fabric::LinkCounters>& step) {
  links_.resize(step.size());
  for (size_t i = 0; i < step.size(); ++i) {
    links_[i].bytes += step[i].bytes;
    links_[i].packets += step[i].packets;
    links_[i].drops += step[i].drops;
    links_[i].marks += step[i].marks;
    links_[i].busy += step[i].busy;
    links_[i].maxQueueBytes = std::max(links_[i].maxQueueBytes, step[i].maxQueueBytes);
    links_[i].peak = std::max(links_[i].peak, step[i].peak);
  }
}

void TimedTraining::WriteLinks() const {
  const fabric::Topology& topology = timing_.network().topology;
  const double simulated = Seconds(now_);
  for (size_t i = 0; i < links_.size(); ++i) {
    const auto link = static_cast<fabric::DirectedLink>(i);
    const fabric::LinkCounters& counters = links_[i];
    const std::string from = topology.NodeName(topology.From(link));
    const std::string to = topology.NodeName(topology.To(link));
    const double rate = static_cast<double>(topology.LinkOf(link).rateBps);
    const double busy = Seconds(counters.busy);
    const double price = topology.UsdPerGb(link);
    sink_.Write(analysis::LinkRow{row_.policy, row_.seed, from + ">" + to, from, to, rate,
                                  counters.bytes, counters.packets, counters.drops, counters.marks,
                                  counters.maxQueueBytes, busy,
                                  simulated > 0 ? busy / simulated : 0, counters.peak, price,
                                  price * static_cast<double>(counters.bytes) / kBytesPerGb});
  }
}

}  // namespace legacy
