#include "scenarios/network/step_doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "ns3-module/fabric/roce/controls.h"
#include "ns3-module/fabric/roce/roce-settings.h"
#include "ns3-module/fabric/topology/graph.h"
#include "scenarios/network/flow_recorder.h"
#include "scenarios/network/measure.h"

namespace legacy {
namespace {

TimeNs LowerMedian(std::vector<TimeNs> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// The hops from a link's two ends to the nearest host. They are equal for all links of a tier.
using TierKey = std::pair<int, int>;

std::string TierName(const TierKey& tier) {
  if (tier.first == 0) return "host links";
  if (tier.first == tier.second) return fmt::format("links within tier {}", tier.first);
  return fmt::format("links between tiers {} and {}", tier.first, tier.second);
}

// Returns the mean time from a flow's start to its end.
TimeNs MeanTime(const std::vector<RecordedFlow>& flows) {
  double sum = 0;
  for (const RecordedFlow& flow : flows) sum += static_cast<double>(flow.end - flow.start);
  return flows.empty() ? 0 : std::llround(sum / static_cast<double>(flows.size()));
}

// Returns a sentence without its end; empty if no flow waited.
std::string CongestionText(const Congestion& congestion, bool of_flows) {
  if (congestion.waiting == 0) return "";
  const auto share = [&](int64_t flows) {
    const double percent = 100 * static_cast<double>(flows) / static_cast<double>(congestion.flows);
    return percent < 10 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
  };
  std::string text =
      fmt::format("{} of the {}flows waited behind pauses that began at {}",
                  share(congestion.behind), of_flows ? "" : "step ", congestion.root);
  if (!congestion.host.empty()) text += fmt::format(" (incast to {})", congestion.host);
  if (congestion.waiting > congestion.behind) {
    text += fmt::format(", {} behind any", share(congestion.waiting));
  }
  if (congestion.victims > 0) {
    text += fmt::format("; {} of {} {}, with no full link on the way beyond the pause",
                        congestion.victims, congestion.waiting,
                        congestion.victims == 1 ? "is a victim" : "are victims");
  }
  return text;
}

class Doctor {
 public:
  Doctor(const DoctorCase& step, const fabric::EngineRequest& network,
         const fabric::EngineFactory& factory)
      : step_(step), network_(network), factory_(factory) {}

  StepDiagnosis Run() {
    diagnosis_.of_flows = step_.flows != nullptr;
    if (diagnosis_.of_flows) {
      diagnosis_.time_of = "the flows' mean completion time";
      diagnosis_.time_key = "mean_flow_seconds";
    }
    const Outcome outcome = SimulateAsItIs();
    diagnosis_.as_it_is.total = outcome.time;
    if (!diagnosis_.of_flows) {
      FindSlowest();
      TryWorkers();
      TryCodec();
      if (step_.traffic->sharded) TryStreams(outcome.timing);
    }
    TryCongestion(outcome.timing);
    TryLinks(outcome.timing);
    if (!diagnosis_.of_flows) {
      TryScale({Bound::kCompute, "compute", "compute twice as fast"}, {.compute = .5});
    }
    diagnosis_.Decide();
    return std::move(diagnosis_);
  }

 private:
  struct Outcome {
    TimeNs time = 0;  // time by which remedies are judged
    fabric::StepTiming timing;
  };

  Outcome SimulateStep(const fabric::StepTraffic& traffic, const fabric::EngineRequest& request,
                       const fabric::EngineFactory& factory) const {
    Outcome outcome;
    outcome.timing =
        fabric::StepSimulator(factory, request, false).Simulate(traffic, step_.step, step_.start);
    outcome.time = outcome.timing.total;
    return outcome;
  }
  // Simulates what is being diagnosed on a network.
  Outcome Simulate(const fabric::EngineRequest& request,
                   const fabric::EngineFactory& factory) const {
    if (!diagnosis_.of_flows) return SimulateStep(*step_.traffic, request, factory);
    FlowListTiming result = SimulateFlows(*step_.flows, request, factory);
    return {MeanTime(result.flows), std::move(result.timing)};
  }
  Outcome SimulateAsItIs();

  void TryDevices(Remedy remedy, const std::vector<DeviceScale>& scales) {
    TryTraffic(std::move(remedy), ScaleDevices(*step_.traffic, step_.encode, scales));
  }

  void TryScale(Remedy remedy, const DeviceScale& scale) {
    TryDevices(std::move(remedy), std::vector<DeviceScale>(step_.traffic->workers, scale));
  }

  void TryNetwork(Remedy remedy, const fabric::EngineRequest& request) {
    remedy.total = Simulate(request, factory_).time;
    diagnosis_.Add(std::move(remedy));
  }

  void TryFabric(Remedy remedy, const std::function<void(int, fabric::Link&)>& edit) {
    const fabric::Topology topology = network_.topology->WithLinks(edit);
    if (topology.Fingerprint() == network_.topology->Fingerprint()) return;
    fabric::EngineRequest request = network_;
    request.topology = &topology;
    TryNetwork(std::move(remedy), request);
  }

  void TryRoce(Remedy remedy, const std::function<void(fabric::RoceSettings&)>& edit) {
    fabric::RoceSettings settings = *network_.transport.roce;
    edit(settings);
    fabric::EngineRequest request = network_;
    request.transport.roce = std::make_shared<const fabric::RoceSettings>(settings);
    TryNetwork(std::move(remedy), request);
  }

  void FindSlowest();
  void TryWorkers();
  void TryCodec();
  void TryStreams(const fabric::StepTiming& timing);
  void TryGathers();
  void TryTraffic(Remedy remedy, const fabric::StepTraffic& changed);
  void TryCongestion(const fabric::StepTiming& timing);
  void FindCongestion(const std::vector<RecordedFlow>& flows);
  void TryLinks(const fabric::StepTiming& timing);
  void TryRates(int busiest);

  const DoctorCase& step_;
  const fabric::EngineRequest& network_;
  const fabric::EngineFactory& factory_;
  std::vector<TimeNs> device_;  // device times by worker
  StepDiagnosis diagnosis_;
};

void Doctor::FindSlowest() {
  const fabric::StepTraffic& traffic = *step_.traffic;
  for (int w = 0; w < traffic.workers; ++w) device_.push_back(DeviceTime(traffic, w));
  const auto slowest = std::max_element(device_.begin(), device_.end());
  diagnosis_.slowest_worker = static_cast<int>(slowest - device_.begin());
  diagnosis_.slowest_time = *slowest;
  diagnosis_.median_time = LowerMedian(device_);
}

void Doctor::TryWorkers() {
  const TimeNs median = diagnosis_.median_time;
  int slow = 0;
  const int workers = step_.traffic->workers;
  std::vector<DeviceScale> all(workers);
  for (int w = 0; w < workers; ++w) {
    if (device_[w] <= median) continue;
    ++slow;
    const double ratio = InSeconds(median) / InSeconds(device_[w]);
    all[w] = {ratio, ratio, ratio};
  }
  if (slow == 0) return;
  std::vector<DeviceScale> one(workers);
  const int slowest = diagnosis_.slowest_worker;
  one[slowest] = all[slowest];
  TryDevices({Bound::kStraggler, "slowest-worker",
              fmt::format("worker {} at the median's speed", slowest)},
             one);
  if (slow > 1) {
    TryDevices({Bound::kStraggler, "slow-workers",
                fmt::format("{} slower workers at the median's speed", slow)},
               all);
  }
}

void Doctor::TryCodec() {
  const size_t before = diagnosis_.remedies.size();
  TryScale({Bound::kCodec, "encode", "encoding twice as fast"}, {.encode = .5});
  TryScale({Bound::kCodec, "decode", "decoding twice as fast"}, {.decode = .5});
  if (diagnosis_.remedies.size() < before + 2) return;  // one of the two equals the whole codec
  TryScale({Bound::kCodec, "codec", "encoding and decoding twice as fast"},
           {.encode = .5, .decode = .5});
}

// Simulates another step, unless it is the same.
void Doctor::TryTraffic(Remedy remedy, const fabric::StepTraffic& changed) {
  if (changed.Canonical() == step_.traffic->Canonical()) return;
  remedy.total = SimulateStep(changed, network_, factory_).time;
  diagnosis_.Add(std::move(remedy));
}

// Simulates each stream of a divided model as infinitely fast, and says for which part of the step
// the devices waited for it.
void Doctor::TryStreams(const fabric::StepTiming& timing) {
  using fabric::ShardedStream;
  struct Stream {
    ShardedStream stream;
    Bound bound;
    const char* name;
    const char* words;
  };
  static constexpr Stream kStreams[] = {
      {ShardedStream::Gather, Bound::kGathers, "gathers", "gathers of weights"},
      {ShardedStream::Reduce, Bound::kReductions, "reductions", "reductions of gradients"},
      {ShardedStream::Replica, Bound::kCopies, "copies", "sums over copies of the model"},
      {ShardedStream::Tensor, Bound::kTensors, "tensors", "sums of activations"},
      {ShardedStream::Context, Bound::kContexts, "contexts", "keys and values of contexts"},
      {ShardedStream::Expert, Bound::kExperts, "experts", "tokens of experts"},
      {ShardedStream::Pipe, Bound::kStages, "stages", "messages between stages"}};
  const auto percent = [&](const auto& part_of) {
    double sum = 0;
    for (const fabric::StepParts& parts : timing.parts) sum += static_cast<double>(part_of(parts));
    return 100 * sum / static_cast<double>(timing.total) / static_cast<double>(timing.parts.size());
  };
  std::string exposed;
  const auto say = [&](const std::string& what, double share) {
    if (share >= 0.05)
      exposed += fmt::format("{}{} for {:.1f} %", exposed.empty() ? "" : ", ", what, share);
  };
  for (const Stream& one : kStreams) {
    say(one.words, percent([&](const fabric::StepParts& parts) {
          return parts.exposed[static_cast<size_t>(one.stream)];
        }));
    TryTraffic({one.bound, one.name, fmt::format("{} that take no time", one.words)},
               WithoutStream(*step_.traffic, one.stream));
  }
  say("the schedule of stages",
      percent([](const fabric::StepParts& parts) { return parts.scheduled; }));
  if (!exposed.empty()) {
    diagnosis_.by_streams = true;
    diagnosis_.waits +=
        (diagnosis_.waits.empty() ? "" : "; ") + ("devices wait for " + exposed) + " of the step";
  }
  TryGathers();
}

// Tries what an option of the sharding would change about gathers alone.
void Doctor::TryGathers() {
  const fabric::ShardedTraffic& step = *step_.traffic->sharded;
  if (step.gathers != fabric::GatherTime::EachUse) return;
  fabric::StepTraffic kept = *step_.traffic;
  bool gathers = false;
  for (fabric::ShardedStage& stage : kept.sharded->stages) {
    for (fabric::ShardedUnit& unit : stage.units) {
      gathers = gathers || !unit.gather.empty();
      unit.kept = true;
    }
  }
  if (!gathers) return;
  TryTraffic({Bound::kGathers, "reshard-off", "weights kept for the backward pass (--reshard=off)"},
             kept);
  fabric::StepTraffic ahead = *step_.traffic;
  const int units = ++ahead.sharded->prefetch;
  TryTraffic({Bound::kGathers, "prefetch",
              fmt::format("another unit gathered ahead (--prefetch={})", units)},
             ahead);
}

// Simulates the network without changes, and finds which flows waited because of pauses.
Doctor::Outcome Doctor::SimulateAsItIs() {
  if (!network_.transport.roce) return Simulate(network_, factory_);
  diagnosis_.knows_pauses = factory_(network_)->Name() == NameOf(Fidelity::kPacket);
  FlowRecorder recorder;
  Outcome outcome = Simulate(network_, recorder.Wrap(factory_));
  FindCongestion(recorder.Flows());
  diagnosis_.waits = CongestionText(diagnosis_.congestion, diagnosis_.of_flows);
  return outcome;
}

void Doctor::FindCongestion(const std::vector<RecordedFlow>& flows) {
  Congestion& congestion = diagnosis_.congestion;
  std::map<fabric::DirectedLink, std::pair<double, int64_t>> roots;  // time, number of flows
  for (const RecordedFlow& flow : flows) {
    if (!flow.roce) continue;
    ++congestion.flows;
    if (flow.roce->pauseRoot < 0) continue;
    ++congestion.waiting;
    congestion.victims += flow.roce->victim ? 1 : 0;
    auto& [time, count] = roots[flow.roce->pauseRoot];
    time += InSeconds(flow.roce->paused);
    ++count;
  }
  if (roots.empty()) return;
  const auto worst = std::max_element(
      roots.begin(), roots.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  congestion.root = network_.topology->LinkName(worst->first);
  congestion.behind = worst->second.second;
  // Flows that waited because of the root, but are not victims, go through it.
  std::map<int, std::set<int>> senders;
  std::map<int, int64_t> arriving;
  int64_t through = 0;
  for (const RecordedFlow& flow : flows) {
    if (!flow.roce || flow.roce->pauseRoot != worst->first || flow.roce->victim) continue;
    const int host = network_.placement->NodeOf(flow.flow.destination);
    senders[host].insert(network_.placement->NodeOf(flow.flow.source));
    ++arriving[host];
    ++through;
  }
  for (const auto& [host, sources] : senders) {
    if (sources.size() > 1 && 2 * arriving[host] > through) {
      congestion.host = network_.topology->NodeName(host);
    }
  }
}

void Doctor::TryCongestion(const fabric::StepTiming& timing) {
  if (!network_.transport.roce || !diagnosis_.knows_pauses) return;
  const bool paused = std::any_of(timing.links.begin(), timing.links.end(),
                                  [](const auto& link) { return link.pauses > 0; });
  if (paused) {
    TryRoce({Bound::kCongestion, "pauses", "buffers without end, which pause nobody"},
            [](fabric::RoceSettings& settings) {
              constexpr int64_t kUnbounded = int64_t{1} << 50;
              settings.bufferBytes = kUnbounded;
              settings.storm.reset();
            });
  }
  if (network_.transport.roce->control != fabric::NoControlRow().name) {
    TryRoce({Bound::kCongestion, "congestion-control",
             "no queue pair slower than its max-min fair share"},
            [](fabric::RoceSettings& settings) { settings.fairFloor = true; });
  }
}

void Doctor::TryLinks(const fabric::StepTiming& timing) {
  const auto busiest = std::max_element(
      timing.links.begin(), timing.links.end(),
      [](const fabric::LinkCounters& a, const fabric::LinkCounters& b) { return a.busy < b.busy; });
  if (busiest == timing.links.end() || busiest->busy == 0) return;
  TryFabric({Bound::kLatency, "delays", "delays of all links halved"},
            [](int, fabric::Link& link) { link.delay /= 2; });
  const fabric::Topology& topology = *network_.topology;
  const auto directed = static_cast<fabric::DirectedLink>(busiest - timing.links.begin());
  diagnosis_.busiest_link = topology.LinkName(directed);
  diagnosis_.busiest_rate = topology.PortOf(directed).rateBps;
  diagnosis_.busiest_utilisation = InSeconds(busiest->busy) / InSeconds(timing.total);
  TryRates(directed / 2);
}

void Doctor::TryRates(int busiest) {
  const fabric::Topology& topology = *network_.topology;
  const std::vector<int> tiers = fabric::TierOfNodes(topology);
  const auto tier_of = [&](const fabric::Link& link) {
    return TierKey(std::minmax(tiers[link.a], tiers[link.b]));
  };
  const std::vector<fabric::Link>& links = topology.Links();
  const TierKey tier = tier_of(links[busiest]);
  const auto size = static_cast<size_t>(std::count_if(
      links.begin(), links.end(), [&](const fabric::Link& link) { return tier_of(link) == tier; }));
  TryFabric({Bound::kBandwidth, "busiest-link",
             fmt::format("link {} twice as fast", diagnosis_.busiest_link)},
            [&](int index, fabric::Link& link) { link.SpeedUp(index == busiest ? 2 : 1); });
  if (size > 1 && size < links.size()) {
    TryFabric({Bound::kBandwidth, "tier", fmt::format("{} {} twice as fast", size, TierName(tier))},
              [&](int, fabric::Link& link) { link.SpeedUp(tier_of(link) == tier ? 2 : 1); });
  }
  if (links.size() > 1) {
    TryFabric(
        {Bound::kBandwidth, "all-links", fmt::format("all {} links twice as fast", links.size())},
        [](int, fabric::Link& link) { link.SpeedUp(2); });
  }
}

}  // namespace

StepDiagnosis Diagnose(const DoctorCase& step, const fabric::EngineRequest& network,
                       const fabric::EngineFactory& factory) {
  return Doctor(step, network, factory).Run();
}

std::string DoctorText(const StepDiagnosis& diagnosis) {
  std::string text = VerdictText(diagnosis) + "\n";
  std::string facts = "nothing is sent";
  if (!diagnosis.busiest_link.empty()) {
    facts = fmt::format("busiest link: {}, {}, sends for {:.1f} % of the {}",
                        diagnosis.busiest_link, FormatRate(diagnosis.busiest_rate),
                        100 * diagnosis.busiest_utilisation, diagnosis.of_flows ? "time" : "step");
  }
  if (!diagnosis.of_flows) {
    facts += fmt::format("; slowest device: worker {}, {} (median {})", diagnosis.slowest_worker,
                         FormatTime(diagnosis.slowest_time), FormatTime(diagnosis.median_time));
  }
  text += "  " + facts + "\n";
  if (!diagnosis.waits.empty() && diagnosis.Verdict().bound != Bound::kCongestion) {
    text += "  " + diagnosis.waits + "\n";
  }
  if (!diagnosis.knows_pauses) {
    text += "  without packets nothing is known of pauses and victims (--doctor-fidelity=packet)\n";
  }
  return text + RemedyLines(diagnosis);
}

}  // namespace legacy
