#include "scenarios/timing.h"

#include <algorithm>
#include <numeric>

#include "compress/error.h"
#include "scenarios/network/engines.h"

namespace legacy {
namespace {

double Mean(const std::vector<int64_t>& values) {
  double sum = 0;
  for (const int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

// Payload that leaves one worker's network card in a step, mean over the workers.
double NicBytes(const fabric::StepTraffic& traffic) {
  double bytes = 0;
  for (const fabric::BucketTraffic& bucket : traffic.buckets) {
    for (const fabric::RoundTraffic& round : bucket.rounds) {
      bytes += Mean(fabric::BytesSent(round.collective));
    }
  }
  return bytes;
}

double DenseNicBytes(int workers, std::span<const int64_t> layer_numels) {
  const int64_t elements = std::accumulate(layer_numels.begin(), layer_numels.end(), int64_t{0});
  fabric::CollectiveSpec ring;
  ring.bytes.assign(workers, 4 * elements);
  return Mean(fabric::BytesSent(ring));
}

// The scenario's engines, which leave ns-3's own files where they are asked for.
fabric::EngineFactory FactoryWithFiles(const Scenario& scenario, const ScenarioNetwork& network) {
  const PacketFiles files{scenario.pcap, scenario.flow_monitor, scenario.netanim};
  return files.Any() ? FactoryOf(scenario.fidelity, "network.fidelity", files) : network.factory;
}

double Seconds(fabric::TimeNs time) { return static_cast<double>(time) * 1e-9; }

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
      network_(BuildNetwork(scenario, scenario.seed)),
      stragglers_(fabric::MakeStragglers(scenario.stragglers)),
      sync_(scenario.sync, "network.sync"),
      profile_(LoadProfile(scenario.device_profile)),
      observation_(ParseObservation(scenario, network_)),
      simulator_(FactoryWithFiles(scenario, network_), network_.network->request,
                 scenario.memoise) {}

Clock ScenarioTiming::MakeClock(std::span<const OperationCost> costs,
                                std::span<const int64_t> layer_numels) const {
  return Clock(profile_, costs, layer_numels, TransfersOf(scenario_, *network_.network));
}

StepStart ScenarioTiming::StartOf(const Clock& clock, uint64_t seed, int64_t step) const {
  StepStart start;
  start.factors = stragglers_->Factors(scenario_.workers, seed, static_cast<uint64_t>(step));
  start.participation = sync_.Decide(clock.ComputeTimes(scenario_.batch, start.factors));
  return start;
}

PricedStep ScenarioTiming::Price(const Clock& clock, const StepWork& work,
                                 const StepStart& start) const {
  return clock.Price(work, start.factors, start.participation.decided);
}

std::string ScenarioTiming::Description() const {
  const Network& network = *network_.network;
  return std::to_string(scenario_.workers) + " workers on " + network.topology.Name() + " (" +
         network.placement.description + "), " + scenario_.bandwidth + ", " + scenario_.fidelity +
         " fidelity";
}

void ScenarioTiming::RequirePackets() const {
  if (Packets() && scenario_.workers > 1 && simulator_.Totals().packets == 0) {
    throw Error("packet fidelity was asked for, but no packet was simulated");
  }
}

void ScenarioTiming::SamplePackets(int64_t samples, int64_t different,
                                   const std::filesystem::path& directory) {
  sampler_.emplace(network_.network->request, FactoryOf("packet", "network.fidelity"), samples,
                   different);
  samples_.emplace(directory);
}

void ScenarioTiming::OfferSample(const std::string& policy, uint64_t seed, int64_t step,
                                 const fabric::StepTraffic& traffic, fabric::TimeNs time) {
  if (!sampler_ || !sampler_->Offer(policy, static_cast<uint64_t>(step), traffic, time)) return;
  const PacketSampler::Sample& sample = sampler_->Samples().back();
  samples_->Write(
      {policy, seed, step, Seconds(sample.flow), Seconds(sample.packet), sample.Difference()});
}

ChosenFidelity ResolveFidelity(const Scenario& scenario,
                               const std::function<PacketCost(const Scenario&)>& estimate) {
  if (scenario.fidelity != "auto") return {scenario, 0, 0, ""};
  ChosenFidelity chosen{scenario, 0, 0, ""};
  chosen.scenario.fidelity = "flow";
  const PacketCost cost = estimate(chosen.scenario);
  const double budget = Seconds(fabric::ParseTime(scenario.packet_budget, "network.packet_budget"));
  const FidelityChoice choice = ChooseFidelity(cost.seconds, cost.steps, budget);
  chosen.scenario.fidelity = choice.fidelity;
  chosen.samples = choice.samples;
  chosen.different = cost.steps;
  chosen.reason = "auto: " + choice.fidelity + " fidelity; " + choice.reason;
  return chosen;
}

TimedTraining::TimedTraining(ScenarioTiming& timing, RunWriters& writers, Progress& progress,
                             const std::string& policy, uint64_t seed,
                             std::span<const OperationCost> costs,
                             std::span<const int64_t> layer_numels)
    : timing_(timing),
      writers_(writers),
      progress_(progress),
      clock_(timing.MakeClock(costs, layer_numels)),
      before_(timing.simulator().Totals()),
      fresh_before_(timing.simulator().FreshSteps()),
      memoised_before_(timing.simulator().MemoisedSteps()) {
  writers.observer.Begin(policy, seed);
  row_.policy = evaluation_.policy = state_.policy = policy;
  row_.seed = evaluation_.seed = state_.seed = seed;
  row_.dense_nic_bytes = DenseNicBytes(timing.scenario().workers, layer_numels);
  state_.steps = timing.scenario().steps;
}

const analysis::StepRow& TimedTraining::Step(const StepWork& work, const StepStart& start,
                                             const StepFacts& facts) {
  fabric::StepSimulator& simulator = timing_.simulator();
  const PricedStep priced = timing_.Price(clock_, work, start);
  const int64_t fresh = simulator.FreshSteps();
  const fabric::StepTiming& timing =
      simulator.Simulate(priced.traffic, static_cast<uint64_t>(done_));
  writers_.observer.Step(done_, now_, priced, timing);
  now_ += timing.total;
  AddLinks(timing.links);
  row_.step = done_++;
  row_.learning_rate = facts.learning_rate;
  row_.training_loss = facts.loss;
  row_.elements_sent = facts.elements_sent;
  row_.fresh = simulator.FreshSteps() > fresh;
  if (row_.fresh) {
    timing_.OfferSample(row_.policy, row_.seed, row_.step, priced.traffic, timing.total);
  }
  FillTimes(work, priced, timing);
  writers_.steps.Write(row_);

  evaluation_.message_bytes += row_.message_bytes;
  evaluation_.nic_bytes += row_.nic_bytes;
  state_.step = done_;
  state_.loss = facts.loss;
  state_.simulated_seconds = row_.simulated_seconds;
  progress_.Step(state_);
  return row_;
}

void TimedTraining::FillTimes(const StepWork& work, const PricedStep& priced,
                              const fabric::StepTiming& timing) {
  const StepSplit split = SplitStep(priced, timing).mean;
  row_.message_bytes = MeanMessageBytes(work);
  row_.nic_bytes = NicBytes(priced.traffic);
  row_.step_seconds = Seconds(timing.total);
  row_.compute_seconds = Seconds(split.compute);
  row_.encode_seconds = Seconds(split.encode);
  row_.communication_seconds = Seconds(split.communication);
  row_.decode_seconds = Seconds(split.decode);
  row_.wait_seconds = Seconds(split.wait);
  row_.participants = work.Participants();
  row_.simulated_seconds = Seconds(now_);
}

void TimedTraining::Evaluated(double loss, double accuracy) {
  evaluation_.step = done_;
  evaluation_.simulated_seconds = row_.simulated_seconds;
  evaluation_.test_loss = loss;
  evaluation_.test_accuracy = accuracy;
  writers_.evaluations.Write(evaluation_);
  state_.accuracy = accuracy;
  progress_.Evaluated(state_);
}

void TimedTraining::Finish() {
  WriteLinks();
  writers_.observer.Finish();
  const fabric::StepSimulator& simulator = timing_.simulator();
  const fabric::EngineCounters& after = simulator.Totals();
  writers_.network.Write(
      {row_.policy, row_.seed, timing_.scenario().fidelity,
       static_cast<int64_t>(after.events - before_.events),
       static_cast<int64_t>(after.packets - before_.packets),
       simulator.FreshSteps() - fresh_before_, simulator.MemoisedSteps() - memoised_before_,
       static_cast<int64_t>(after.retransmitTimeouts - before_.retransmitTimeouts)});
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
    writers_.links.Write({row_.policy, row_.seed, from + ">" + to, from, to, rate, counters.bytes,
                          counters.packets, counters.drops, counters.marks, counters.maxQueueBytes,
                          busy, simulated > 0 ? busy / simulated : 0, counters.peak});
  }
}

}  // namespace legacy
