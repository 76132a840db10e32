#include "scenarios/comparison.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <set>
#include <thread>

#include "analysis/run_directory.h"
#include "compress/error.h"
#include "ns3-module/fabric/error.h"
#include "ns3-module/fabric/step.h"
#include "ns3-module/fabric/straggler.h"
#include "ns3-module/fabric/synchronisation.h"
#include "scenarios/manifest.h"
#include "scenarios/methods.h"
#include "scenarios/network.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/progress.h"
#include "trainer/clock.h"
#include "trainer/dataset.h"
#include "trainer/model.h"
#include "trainer/traffic_record.h"
#include "trainer/training.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

int ThreadsOf(const Scenario& scenario) {
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  return std::min(scenario.threads > 0 ? scenario.threads : cores, scenario.workers);
}

TrainingOptions OptionsOf(const Scenario& s, const Method& method, uint64_t seed) {
  TrainingOptions options;
  options.workers = s.workers;
  options.batch_size = s.batch;
  options.total_steps = s.steps;
  options.seed = seed;
  options.threads = ThreadsOf(s);
  options.sgd.momentum = s.momentum;
  options.sgd.nesterov = s.nesterov;
  options.sgd.weight_decay = s.weight_decay;
  options.schedule.learning_rate = s.learning_rate;
  options.schedule.decay = ParseDecay(s.schedule);
  options.schedule.warmup_steps = s.warmup_steps;
  options.schedule.milestones = s.decay_steps;
  options.schedule.gamma = s.decay_factor;
  options.scope = ParseScope(method.scope);
  options.buckets.bucket_bytes = fabric::ParseBytes(s.bucket, "clock.bucket");
  options.rescale_residuals = s.rescale_residuals;
  return options;
}

ModelRequest ModelOf(const Scenario& s, const Dataset& data, uint64_t seed) {
  return {s.model, data.channels(), data.height(), data.width(), data.classes, seed};
}

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

double DenseNicBytes(int workers, int64_t elements) {
  fabric::CollectiveSpec ring;
  ring.bytes.assign(workers, 4 * elements);
  return Mean(fabric::BytesSent(ring));
}

double Seconds(fabric::TimeNs time) { return static_cast<double>(time) * 1e-9; }

// What the run directory takes, one writer a file.
struct Writers {
  explicit Writers(const fs::path& directory)
      : steps(directory),
        evaluations(directory),
        layers(directory),
        links(directory),
        network(directory) {}
  analysis::StepWriter steps;
  analysis::EvaluationWriter evaluations;
  analysis::LayerWriter layers;
  analysis::LinkWriter links;
  analysis::NetworkWriter network;
};

// One training: what all its rows share, and sums over it for layers.csv and links.csv.
struct Sums {
  explicit Sums(size_t units) : parameter(units), elements(units), bytes(units) {}

  // `share`: of the workers, that take part.
  void Add(const std::vector<UnitOutcome>& units, double share) {
    for (size_t u = 0; u < units.size(); ++u) {
      parameter[u] += units[u].parameter;
      elements[u] += static_cast<double>(units[u].elements) * share;
    }
  }

  void Add(const std::vector<fabric::LinkCounters>& step) {
    links.resize(step.size());
    for (size_t i = 0; i < step.size(); ++i) {
      links[i].bytes += step[i].bytes;
      links[i].packets += step[i].packets;
      links[i].drops += step[i].drops;
      links[i].marks += step[i].marks;
      links[i].busy += step[i].busy;
      links[i].maxQueueBytes = std::max(links[i].maxQueueBytes, step[i].maxQueueBytes);
    }
  }

  analysis::StepRow row;                           // policy, seed, dense_nic_bytes
  std::vector<double> parameter, elements, bytes;  // by unit
  std::vector<fabric::LinkCounters> links;         // by directed link
};

class Comparison {
 public:
  Comparison(const Scenario& scenario, const volatile std::sig_atomic_t& stop)
      : scenario_(scenario),
        stop_(stop),
        network_(BuildNetwork(scenario, scenario.seed)),
        stragglers_(fabric::MakeStragglers(scenario.stragglers)),
        sync_(scenario.sync, "network.sync"),
        profile_(LoadProfile(scenario.device_profile)),
        simulator_(network_.factory, network_.network->request, scenario.memoise) {
    for (const std::string& name : scenario.policies)
      methods_.push_back(FindMethod(scenario, name));
    dataset_ = LoadDataset(
        {scenario.dataset, scenario.data_root, scenario.train_limit, scenario.test_limit});
    for (const Method& method : methods_) {
      const std::unique_ptr<Training> training = MakeTraining(method, scenario.seed);
      elements_ = 0;
      for (const Unit& layer : training->Layers()) elements_ += layer.numel;
    }
  }

  // Before anything is written: one step of each method, so that what is wrong with it is said now, and what packets
  // will cost.
  void Announce() {
    std::fprintf(stderr, "%s, %lld parameters, %d workers on %s (%s), %s, %s fidelity\n",
                 scenario_.model.c_str(), static_cast<long long>(elements_), scenario_.workers,
                 network_.network->topology.Name().c_str(),
                 network_.network->placement.description.c_str(), scenario_.bandwidth.c_str(),
                 scenario_.fidelity.c_str());
    CostEstimate estimate(*network_.network);
    for (const Method& method : methods_) {
      const std::unique_ptr<Training> training = MakeTraining(method, scenario_.seed, true);
      const Clock clock = MakeClock(*training);
      const Start start = StartOf(clock, scenario_.seed, 0);
      const StepOutcome first = training->Step(start.participation.workers);
      const PricedStep priced = clock.Price(first.work, start.factors, start.participation.decided);
      estimate.Add(priced.traffic, DifferentSteps(method, *training));
    }
    if (scenario_.fidelity == "packet") {
      std::fprintf(stderr, "packet simulation: %s\n", estimate.Text().c_str());
    }
  }

  bool Run(const fs::path& directory) {
    Writers writers(directory);
    const int64_t trainings = static_cast<int64_t>(methods_.size()) * scenario_.seeds;
    Progress progress(trainings * scenario_.steps, isatty(STDERR_FILENO) != 0);
    for (int s = 0; s < scenario_.seeds; ++s) {
      for (const Method& method : methods_) {
        if (!Train(method, scenario_.seed + s, directory, writers, progress)) {
          progress.Finish();
          return false;
        }
      }
    }
    progress.Finish();
    if (scenario_.fidelity == "packet" && scenario_.workers > 1 &&
        simulator_.Totals().packets == 0) {
      throw Error("packet fidelity was asked for, but no packet was simulated");
    }
    return true;
  }

  int64_t Elements() const { return elements_; }

 private:
  std::unique_ptr<Training> MakeTraining(const Method& method, uint64_t seed, bool say = false) {
    const TrainingOptions options = OptionsOf(scenario_, method, seed);
    const ModelRequest request = ModelOf(scenario_, dataset_, seed);
    const std::vector<Unit> layers = LayersOf(*MakeModel(request));
    const UnitPlan plan = PlanUnits(layers, options.scope, options.buckets);
    BuiltMethod built = BuildMethod(method, scenario_, plan.units);
    if (say) std::fprintf(stderr, "  %-22s %s\n", method.name.c_str(), built.description.c_str());
    return std::make_unique<Training>(options, dataset_, request, std::move(built.policy),
                                      std::move(built.scheme));
  }

  Clock MakeClock(const Training& training) const {
    return Clock(profile_, training.Costs(), training.LayerNumels(),
                 TransfersOf(scenario_, *network_.network));
  }

  // What is known of a step before it is trained.
  struct Start {
    std::vector<double> factors;  // of the stragglers
    fabric::Participation participation;
  };

  Start StartOf(const Clock& clock, uint64_t seed, int64_t step) const {
    Start start;
    start.factors = stragglers_->Factors(scenario_.workers, seed, static_cast<uint64_t>(step));
    start.participation = sync_.Decide(clock.ComputeTimes(scenario_.batch, start.factors));
    return start;
  }

  // How many of a method's steps differ on the network, as far as its policy tells beforehand.
  int64_t DifferentSteps(const Method& method, const Training& training) const {
    const std::span<const Unit> units = training.Units();
    if (!scenario_.memoise || stragglers_->Transient() || scenario_.index == "delta") {
      return scenario_.steps;
    }
    const BuiltMethod built = BuildMethod(method, scenario_, units);
    std::set<std::vector<double>> choices;
    std::vector<double> parameters(units.size());
    for (int64_t step = 0; step < scenario_.steps; ++step) {
      built.policy->Decide({step, scenario_.steps, 0}, units, parameters);
      choices.insert(parameters);
    }
    return static_cast<int64_t>(choices.size());
  }

  bool Train(const Method& method, uint64_t seed, const fs::path& directory, Writers& writers,
             Progress& progress);
  analysis::StepRow TimeStep(const StepOutcome& outcome, const Clock& clock, const Start& start,
                             Sums& sums, fabric::TimeNs& now);
  void WriteSums(const Training& training, const Sums& sums, double simulated,
                 Writers& writers) const;
  TrafficRecorder* Recorder(const fs::path& directory, const Training& training);

  const Scenario& scenario_;
  const volatile std::sig_atomic_t& stop_;
  ScenarioNetwork network_;
  std::unique_ptr<fabric::StragglerModel> stragglers_;
  fabric::Synchronisation sync_;
  Profile profile_;
  fabric::StepSimulator simulator_;
  std::vector<Method> methods_;
  Dataset dataset_;
  int64_t elements_ = 0;
  std::optional<TrafficRecorder> recorder_;
};

TrafficRecorder* Comparison::Recorder(const fs::path& directory, const Training& training) {
  if (!scenario_.record) return nullptr;
  if (!recorder_) {
    recorder_.emplace(directory / "traffic.jsonl", TrainingDocument(scenario_),
                      ReplayRefusals(scenario_), training.Costs(), training.Layers());
  }
  return &*recorder_;
}

analysis::StepRow Comparison::TimeStep(const StepOutcome& outcome, const Clock& clock,
                                       const Start& start, Sums& sums, fabric::TimeNs& now) {
  const PricedStep priced = clock.Price(outcome.work, start.factors, start.participation.decided);
  const int64_t fresh = simulator_.FreshSteps();
  const fabric::StepTiming& timing =
      simulator_.Simulate(priced.traffic, static_cast<uint64_t>(outcome.step));
  const StepSplit split = SplitStep(priced, timing).mean;
  now += timing.total;
  const int64_t participants = outcome.work.Participants();
  const double share = static_cast<double>(participants) / scenario_.workers;
  sums.Add(outcome.units, share);
  sums.Add(timing.links);

  analysis::StepRow row = sums.row;
  row.step = outcome.step;
  row.learning_rate = outcome.learning_rate;
  row.training_loss = outcome.loss;
  for (const UnitOutcome& unit : outcome.units) {
    row.elements_sent += static_cast<double>(unit.elements) * share;
  }
  for (int w = 0; w < scenario_.workers; ++w) {
    row.message_bytes += static_cast<double>(outcome.work.MessageBytes(w)) / scenario_.workers;
  }
  row.nic_bytes = NicBytes(priced.traffic);
  row.step_seconds = Seconds(timing.total);
  row.compute_seconds = Seconds(split.compute);
  row.encode_seconds = Seconds(split.encode);
  row.communication_seconds = Seconds(split.communication);
  row.decode_seconds = Seconds(split.decode);
  row.wait_seconds = Seconds(split.wait);
  row.participants = participants;
  row.simulated_seconds = Seconds(now);
  row.fresh = simulator_.FreshSteps() > fresh;
  return row;
}

bool Comparison::Train(const Method& method, uint64_t seed, const fs::path& directory,
                       Writers& writers, Progress& progress) {
  const std::unique_ptr<Training> training = MakeTraining(method, seed);
  const Clock clock = MakeClock(*training);
  TrafficRecorder* recorder = Recorder(directory, *training);
  Sums sums(training->Units().size());
  sums.row.policy = method.name;
  sums.row.seed = seed;
  sums.row.dense_nic_bytes = DenseNicBytes(scenario_.workers, elements_);
  training->SetMessageHook([&](const MessageInfo& info, Bytes& message) {
    sums.bytes[info.unit] += static_cast<double>(message.size()) / scenario_.workers;
  });
  const fabric::EngineCounters before = simulator_.Totals();
  const int64_t fresh_before = simulator_.FreshSteps();
  const int64_t memoised_before = simulator_.MemoisedSteps();

  ProgressState state{method.name, seed, 0, scenario_.steps, 0, -1, 0};
  analysis::EvaluationRow evaluation{method.name, seed, 0, 0, 0, 0, 0, 0};
  fabric::TimeNs now = 0;
  for (int64_t done = 1; done <= scenario_.steps; ++done) {
    const Start start = StartOf(clock, seed, training->step());
    const StepOutcome outcome = training->Step(start.participation.workers);
    const analysis::StepRow row = TimeStep(outcome, clock, start, sums, now);
    writers.steps.Write(row);
    training->Observe(row.step_seconds);
    if (recorder) recorder->Write(method.name, seed, outcome.work);

    evaluation.message_bytes += row.message_bytes;
    evaluation.nic_bytes += row.nic_bytes;
    state.step = done;
    state.loss = outcome.loss;
    state.simulated_seconds = row.simulated_seconds;
    progress.Step(state);
    if (done % scenario_.evaluate_every == 0 || done == scenario_.steps) {
      const Evaluation result = training->Evaluate();
      evaluation.step = done;
      evaluation.simulated_seconds = row.simulated_seconds;
      evaluation.test_loss = result.loss;
      evaluation.test_accuracy = result.accuracy;
      writers.evaluations.Write(evaluation);
      state.accuracy = result.accuracy;
      progress.Evaluated(state);
    }
    if (stop_) return false;
  }
  WriteSums(*training, sums, Seconds(now), writers);
  const fabric::EngineCounters& after = simulator_.Totals();
  writers.network.Write(
      {method.name, seed, scenario_.fidelity, static_cast<int64_t>(after.events - before.events),
       static_cast<int64_t>(after.packets - before.packets), simulator_.FreshSteps() - fresh_before,
       simulator_.MemoisedSteps() - memoised_before,
       static_cast<int64_t>(after.retransmitTimeouts - before.retransmitTimeouts)});
  return true;
}

void Comparison::WriteSums(const Training& training, const Sums& sums, double simulated,
                           Writers& writers) const {
  const std::string& policy = sums.row.policy;
  const uint64_t seed = sums.row.seed;
  const std::span<const Unit> units = training.Units();
  for (size_t u = 0; u < units.size(); ++u) {
    writers.layers.Write({policy, seed, units[u].name, units[u].numel,
                          sums.parameter[u] / static_cast<double>(scenario_.steps),
                          sums.elements[u], sums.bytes[u]});
  }
  const fabric::Topology& topology = network_.network->topology;
  for (size_t i = 0; i < sums.links.size(); ++i) {
    const auto link = static_cast<fabric::DirectedLink>(i);
    const fabric::LinkCounters& counters = sums.links[i];
    const std::string from = topology.NodeName(topology.From(link));
    const std::string to = topology.NodeName(topology.To(link));
    const double rate = static_cast<double>(topology.LinkOf(link).rateBps);
    const double busy = Seconds(counters.busy);
    writers.links.Write({policy, seed, from + ">" + to, from, to, rate, counters.bytes,
                         counters.packets, counters.drops, counters.marks, counters.maxQueueBytes,
                         busy, simulated > 0 ? busy / simulated : 0});
  }
}

}  // namespace

ComparisonResult RunComparison(const Scenario& scenario, const std::string& program,
                               const std::string& command_line,
                               const volatile std::sig_atomic_t& stop) {
  Comparison comparison(scenario, stop);
  comparison.Announce();
  ComparisonResult result;
  result.directory = MakeRunDirectory(scenario, program);
  analysis::WriteManifest(result.directory,
                          ManifestDocument(scenario, program, command_line, comparison.Elements()));
  result.interrupted = !comparison.Run(result.directory);
  return result;
}

}  // namespace legacy
