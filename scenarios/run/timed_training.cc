#include "scenarios/run/timed_training.h"

#include <algorithm>
#include <numeric>

#include "ns3-module/fabric/step/build-sharded.h"
#include "ns3-module/fabric/step/last-collective.h"
#include "scenarios/checkpoint/fields.h"
#include "scenarios/network/roce/figures.h"

namespace legacy {
namespace {

// Returns the payload bytes that leave one worker's NIC in a step, as a mean over the workers.
double StepNicBytes(const fabric::StepTraffic& traffic) {
  double bytes = 0;
  fabric::LastCollective<double> last;
  fabric::ForEachCollective(traffic, [&](const fabric::CollectiveSpec& spec, int64_t times) {
    // The collective of a group counts for its part of the workers.
    const auto members = static_cast<double>(spec.bytes.size());
    bytes += static_cast<double>(times) * last.Of(spec, NicBytes) * (members / traffic.workers);
  });
  return bytes;
}

constexpr double kBytesPerGb = 1e9;  // bytes of a GB in prices

// Returns, for each bucket, the seconds in which the device is idle or decodes only for this
// bucket, after all computing and after the buckets that ended before it, as a mean over the
// workers. A sharded step has no buckets.
std::vector<double> ExposedSeconds(const fabric::StepTraffic& traffic,
                                   const fabric::StepTiming& timing) {
  const size_t buckets = timing.buckets.size();
  std::vector<double> exposed(buckets);
  if (buckets == 0) return exposed;
  std::vector<size_t> order(buckets);
  std::iota(order.begin(), order.end(), size_t{0});
  for (int w = 0; w < traffic.workers; ++w) {
    const auto done = [&](size_t b) { return timing.buckets[b].done[w]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return done(a) < done(b); });
    TimeNs busy = traffic.deviceFree[w];
    for (const size_t b : order) {
      exposed[b] += InSeconds(std::max<TimeNs>(0, done(b) - busy)) / traffic.workers;
      busy = std::max(busy, done(b));
    }
  }
  return exposed;
}

}  // namespace

double MeanMessageBytes(const StepWork& work) {
  double bytes = 0;
  for (int w = 0; w < work.workers; ++w) {
    bytes += static_cast<double>(work.MessageBytes(w)) / work.workers;
  }
  return bytes;
}

TimedTraining::TimedTraining(ScenarioTiming& timing, RunSink& sink, Progress* progress,
                             const std::string& policy, uint64_t seed, StepClocks clocks,
                             std::span<const Unit> layers)
    : timing_(timing),
      sink_(sink),
      progress_(progress),
      clocks_(std::move(clocks)),
      before_(timing.Simulations()) {
  if (StepListener* listener = sink_.Listener()) listener->Begin(policy, seed);
  row_.policy = evaluation_.policy = state_.policy = policy;
  row_.seed = evaluation_.seed = state_.seed = seed;
  const int64_t elements =
      std::accumulate(layers.begin(), layers.end(), int64_t{0},
                      [](int64_t sum, const Unit& layer) { return sum + layer.numel; });
  // Each stage of a pipeline has a part of the layers.
  row_.dense_nic_bytes = DenseNicBytes(DataWorkers(timing.scenario()),
                                       elements / timing.scenario().parallel->pipeline);
  state_.steps = timing.scenario().steps;
}

const analysis::StepRow& TimedTraining::Step(const StepWork& work, const StepStart& start,
                                             const StepFacts& facts) {
  const PricedStep priced = timing_.Price(*clocks_[timing_.EntryOf(done_)], work, start);
  const auto [timing, fresh] = timing_.Simulate(priced.traffic, done_, now_);
  if (StepListener* listener = sink_.Listener()) listener->Step(done_, now_, priced, timing);
  now_ += timing.total;
  fabric::Add(links_, timing.links);
  fabric::Add(counters_, timing.counters);
  row_.step = done_++;
  row_.learning_rate = facts.learning_rate;
  row_.training_loss = facts.loss;
  row_.elements_sent = facts.elements_sent;
  row_.fresh = fresh;
  if (row_.fresh) {
    timing_.OfferSample(row_.policy, row_.seed, row_.step, priced.traffic, now_ - timing.total,
                        timing.total);
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
  row_.step_seconds = InSeconds(timing.total);
  row_.compute_seconds = InSeconds(split.compute);
  row_.encode_seconds = InSeconds(split.encode);
  row_.communication_seconds = InSeconds(split.communication);
  row_.decode_seconds = InSeconds(split.decode);
  row_.wait_seconds = InSeconds(split.wait);
  row_.hidden_seconds = InSeconds(split.hidden);
  const auto exposed = [&](fabric::ShardedStream stream) -> std::optional<double> {
    if (timing.parts.empty()) return std::nullopt;
    TimeNs sum = 0;
    for (const fabric::StepParts& parts : timing.parts) {
      sum += parts.exposed[static_cast<size_t>(stream)];
    }
    return InSeconds(sum / std::ssize(timing.parts));
  };
  row_.gather_seconds = exposed(fabric::ShardedStream::Gather);
  row_.reduce_seconds = exposed(fabric::ShardedStream::Reduce);
  row_.replica_seconds = exposed(fabric::ShardedStream::Replica);
  row_.tensor_seconds = exposed(fabric::ShardedStream::Tensor);
  row_.pipe_seconds = exposed(fabric::ShardedStream::Pipe);
  row_.context_seconds = exposed(fabric::ShardedStream::Context);
  row_.expert_seconds = exposed(fabric::ShardedStream::Expert);
  row_.alpha_beta_seconds = row_.compute_seconds + row_.encode_seconds + row_.decode_seconds +
                            timing_.AlphaBetaSeconds(priced.traffic, row_.step);
  times_ = {.simulated_seconds = row_.step_seconds,
            .compute_seconds = row_.compute_seconds,
            .codec_seconds = row_.encode_seconds + row_.decode_seconds,
            .communication_seconds = row_.communication_seconds,
            .bucket_exposed_seconds = ExposedSeconds(priced.traffic, timing)};
  row_.participants = work.ActiveWorkers();
  row_.simulated_seconds = InSeconds(now_);
}

void TimedTraining::Evaluated(double loss, const std::vector<double>& metrics) {
  evaluation_.step = done_;
  evaluation_.simulated_seconds = row_.simulated_seconds;
  evaluation_.test_loss = loss;
  evaluation_.metrics = metrics;
  sink_.Write(evaluation_);
  state_.metrics = metrics;
  if (progress_ != nullptr) progress_->Evaluated(state_);
}

void TimedTraining::Finish() {
  WriteLinks();
  if (StepListener* listener = sink_.Listener()) listener->Finish();
  const ScenarioTiming::Counts after = timing_.Simulations();
  const fabric::EngineCounters engine = fabric::Difference(after.engine, before_.engine);
  sink_.Write(analysis::NetworkRow{
      row_.policy, row_.seed, timing_.scenario().fidelity.text(),
      static_cast<int64_t>(engine.events), static_cast<int64_t>(engine.packets),
      after.fresh - before_.fresh, after.memoised - before_.memoised,
      static_cast<int64_t>(engine.retransmitTimeouts), RoceFiguresOf(counters_, links_, now_)});
}

void TimedTraining::Save(StateWriter& out) const {
  ToArchive(out, done_, now_, row_.simulated_seconds, evaluation_.message_bytes,
            evaluation_.nic_bytes, state_.metrics, links_, counters_, before_);
}

void TimedTraining::Load(StateReader& in) {
  FromArchive(in, done_, now_, row_.simulated_seconds, evaluation_.message_bytes,
              evaluation_.nic_bytes, state_.metrics, links_, counters_, before_);
}

void TimedTraining::WriteLinks() const {
  const fabric::Topology& topology = timing_.network().topology;
  const double simulated = InSeconds(now_);
  for (size_t i = 0; i < links_.size(); ++i) {
    const auto link = static_cast<fabric::DirectedLink>(i);
    const fabric::LinkCounters& counters = links_[i];
    const std::string from = topology.NodeName(topology.From(link));
    const std::string to = topology.NodeName(topology.To(link));
    const double rate = static_cast<double>(topology.MeanRate(link));
    const double busy = InSeconds(counters.busy);
    const double price = topology.PortOf(link).usdPerGb;
    sink_.Write(analysis::LinkRow{row_.policy, row_.seed, topology.LinkName(link), from, to, rate,
                                  counters.bytes, counters.packets, counters.drops, counters.marks,
                                  counters.maxQueueBytes, busy,
                                  simulated > 0 ? busy / simulated : 0, counters.peak, price,
                                  price * static_cast<double>(counters.bytes) / kBytesPerGb,
                                  PauseFiguresOf(topology, counters)});
  }
}

}  // namespace legacy
