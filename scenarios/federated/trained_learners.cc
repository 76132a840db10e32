// Learners that train with LibTorch. They are in the module that is loaded when the first training
// begins (training/training_module.cc).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/archive.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/units.h"
#include "scenarios/checkpoint/fields.h"
#include "scenarios/federated/client_clock.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/trained_exchange.h"
#include "scenarios/options/methods.h"
#include "scenarios/training/scenario_task.h"
#include "trainer/federated/local_work.h"
#include "trainer/federated/partition_view.h"
#include "trainer/torch/federated/federated_training.h"
#include "trainer/torch/host_kernels.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/tasks/task.h"

namespace legacy {

template <class Archive>
void Fields(Archive& archive, ClientSeconds& s) {
  auto& [decode, local, encode] = s;
  archive(decode, local, encode);
}
template <class Archive>
void Fields(Archive& archive, DeltaSize& s) {
  auto& [whole, sent] = s;
  archive(whole, sent);
}

namespace {

using fabric::kUnknownBytes;
using fabric::TaskFate;

ScheduleOptions ScheduleOf(const Scenario& s) {
  ScheduleOptions schedule;
  schedule.learning_rate = s.learning_rate;
  schedule.decay = *s.schedule;
  schedule.warmup_steps = s.warmup_steps;
  schedule.warmup_from = s.warmup_from;
  schedule.milestones.assign(s.decay_steps.begin(), s.decay_steps.end());
  schedule.gamma = s.decay_factor;
  schedule.final_learning_rate = s.final_learning_rate;
  return schedule;
}

// Returns the factor by which masks increase the uploaded bytes (Bonawitz et al., CCS 2017:
// abstract).
double MaskedBytesOf(const PlanRequest& request) {
  constexpr double kThousand = 1.73, kMost = 1.98;
  constexpr int64_t kClientsOfThousand = int64_t{1} << 10, kMostClients = int64_t{1} << 14;
  const auto* sync = std::get_if<fabric::SyncOptions>(&request.server);
  const auto cohort = sync == nullptr
                          ? int64_t{1}
                          : static_cast<int64_t>(std::ceil(
                                sync->overSelect * static_cast<double>(sync->perRound) - 1e-9));
  if (cohort > kMostClients) {
    throw Error("federated.secure_aggregation", "on",
                "off with " + std::to_string(cohort) +
                    " clients a round: no figure is known "
                    "beyond " +
                    std::to_string(kMostClients));
  }
  return cohort <= kClientsOfThousand ? kThousand : kMost;
}

FederatedOptions OptionsOf(const Scenario& s, const PlanRequest& request, uint64_t seed) {
  const FederatedSection& asked = *s.federated;
  FederatedOptions options;
  options.versions = request.Versions();
  options.local.batch_size = s.batch;
  options.local.seed = seed;
  options.local.sgd = {.momentum = s.momentum,
                       .weight_decay = s.weight_decay,
                       .nesterov = s.nesterov,
                       .decay_vectors = s.decay_vectors};
  options.local.optimizer = *s.optimizer;
  options.local.clip = s.clip_worker;
  options.local.label_smoothing = s.label_smoothing;
  options.local.squares =
      fabric::MakeSelection(request.selection, seed, "--selection")->ReadsSquares();
  options.epochs = asked.local->epochs;
  options.most_epochs = asked.local->most_epochs;
  options.steps = asked.local->steps;
  options.schedule = ScheduleOf(s);
  options.rate_over_steps = *asked.rate_over_steps;
  if (asked.secure_aggregation) options.masked_bytes = MaskedBytesOf(request);
  options.weighting = *asked.weighting;
  options.keep_optimizer = *asked.client_state;
  options.memory = *asked.uplink_memory;
  options.residual_decay = asked.residual_decay;
  options.residual_age = asked.residual_age;
  options.buckets.bucket_bytes = *s.bucket;
  options.batch_norm = *asked.batch_norm;
  options.drop_diverged = *asked.drop_diverged;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  options.threads = std::max(1, s.threads > 0 ? s.threads : cores);
  return options;
}

class TrainedLearner : public FederatedLearner {
 public:
  struct Parts {
    const Scenario& scenario;
    const Task& task;
    const SampleLabels& labels;
    PlanRequest& request;
    FederatedOptions options;
    ModelRequest model;
    std::vector<OperationCost> costs;
    BuiltMethod built;
    std::string folder;
    std::string name;
    Recorder* recorder;
  };

  explicit TrainedLearner(Parts parts)
      : request_(parts.request),
        labels_(parts.labels),
        options_(parts.options),
        description_(parts.built.description),
        scheme_(std::move(parts.built.scheme)),
        recorder_(parts.recorder),
        partition_(MakePartition(parts.scenario.federated->partition, parts.labels,
                                 parts.request.population.Clients(), parts.options.local.seed)),
        store_(parts.folder, *parts.scenario.federated->state_memory),
        training_(parts.options, parts.task, parts.model, *partition_,
                  std::move(parts.built.policy), store_) {
    CheckServer();
    const Unit& last = training_.layers().back();
    const LocalStepWork work = LocalStepWorkOf(options_.local.optimizer.kind, options_.local.clip,
                                               training_.traits().client, last.offset + last.numel);
    begin_ = [this, name = parts.name, work] { recorder_->Begin(name, options_.local.seed, work); };
    clock_.emplace(parts.scenario, request_.population, std::move(parts.costs), training_.layers(),
                   work);
    sums_.resize(training_.uplink().units().size());
    gathered_units_.resize(sums_.size());
  }

  fabric::TaskWork WorkOf(const fabric::TaskStart& start) override {
    const FederatedKey key = {start.version, start.client, static_cast<int64_t>(start.key)};
    Started started = {.key = key, .times = start.times};
    started.local_steps = training_.LocalStepsOf(key);
    const fabric::TaskWork work = Figure(start.client, started);
    training_.Start(key);
    started_.emplace(start.id, std::move(started));
    return work;
  }
  int64_t UpBytesOf(uint64_t task) override {
    Started& started = started_.at(task);
    started.up_bytes = training_.Finish(started.key).up_bytes;
    return *started.up_bytes;
  }
  fabric::TaskWork Expected(int client) override {
    Started started = {.local_steps = ExpectedSteps(client, training_.version())};
    fabric::TaskWork work = Figure(client, started);
    work.upBytes = started.base->AboutUp();
    return work;
  }
  int64_t ExpectedSteps(int client, int64_t version) const override {
    return training_.LocalStepsOf({version, client});
  }
  std::optional<int64_t> SamplesOf(int client) override { return partition_->SizeOf(client); }
  TaskFigures FiguresOf(const fabric::TaskRow& row) override {
    return {.local_steps = started_.at(row.id).local_steps,
            .samples = partition_->SizeOf(row.client)};
  }
  std::optional<TaskLoss> Ended(const fabric::TaskRow& row) override {
    const auto found = started_.find(row.id);
    const Started started = std::move(found->second);
    started_.erase(found);
    RecordedTask record = {.key = static_cast<uint64_t>(started.key.draws),
                           .client = row.client,
                           .local_steps = started.local_steps,
                           .up_bytes = started.up_bytes,
                           .loss = std::nullopt,
                           .squares = std::nullopt};
    std::optional<TaskLoss> loss;
    if (row.fate == TaskFate::Counted) {
      const FederatedResult result = training_.Finish(started.key);
      training_.Count(started.key, started.times);
      if (result.finite) {
        Add(started, row.client, result);
        loss = {.mean = result.loss, .squares = result.squared_loss};
        record.loss = result.loss;
        if (options_.local.squares) record.squares = result.squared_loss;
      }
    } else {
      training_.Abandon(started.key);
    }
    if (recorder_ != nullptr) recorder_->Write(record);
    return loss;
  }
  void Round(const fabric::RoundRow& row) override {
    if (!row.made) {
      if (counted_ > 0) training_.Discard();
    } else if (counted_ == 0) {
      throw Error("version " + std::to_string(row.version) +
                  ": no update of it is finite; a lower learning rate or clipping may help");
    } else {
      Conclude();
      training_.Update();
      facts_.residuals = training_.Residuals();
    }
    gathered_ = VersionFacts();
    losses_.clear();
    for (UnitSums& sums : gathered_units_) sums = UnitSums();
    counted_ = 0;
  }

  int64_t Version() const override { return training_.version(); }
  const VersionFacts& Facts() const override { return facts_; }
  Evaluation Evaluate() override { return training_.Evaluate(); }
  std::vector<analysis::DecisionRow> TakeDecisions() override {
    return DecisionRowsOf(training_.TakeDecisions(), training_.uplink().units(), options_.versions);
  }
  std::vector<analysis::LayerRow> LayerRows() const override {
    return LayerRowsOf(sums_, training_.uplink().units(), Version());
  }
  std::string Description() const override { return description_; }
  int64_t LabelsOf(int client) const override { return LabelsIn(*partition_, client, labels_); }

  void Save(StateWriter& out) override {
    std::map<uint64_t, Started> started(started_.begin(), started_.end());
    std::map<int64_t, Base> bases;
    for (const auto& [id, task] : started) bases[task.base->version] = *task.base;
    ToArchive(out, started, bases, sums_, facts_.learning_rate, facts_.loss, facts_.elements_sent,
              facts_.message_bytes, facts_.transfer_bytes, facts_.critical);
    store_.Save(out);
    training_.Save(out);
  }
  void Load(StateReader& in) override {
    std::map<uint64_t, Started> started;
    std::map<int64_t, Base> bases;
    FromArchive(in, started, bases, sums_, facts_.learning_rate, facts_.loss, facts_.elements_sent,
                facts_.message_bytes, facts_.transfer_bytes, facts_.critical);
    if (sums_.size() != gathered_units_.size()) {
      throw Error("sums of units", std::to_string(sums_.size()),
                  std::to_string(gathered_units_.size()));
    }
    std::map<int64_t, std::shared_ptr<const Base>> shared;
    for (auto& [number, base] : bases) {
      shared[number] = std::make_shared<const Base>(std::move(base));
    }
    for (auto& [id, task] : started) {
      const auto base = shared.find(task.key.version);
      if (base == shared.end()) throw Error("a task without its version");
      task.base = base->second;
      started_.emplace(id, std::move(task));
    }
    store_.Load(in);  // first, since tasks that begin again read it
    training_.Load(in);
    begin_ = nullptr;
    base_ = nullptr;
    if (const auto newest = shared.find(training_.version()); newest != shared.end()) {
      base_ = newest->second;
    }
  }
  std::optional<fabric::TaskWork> InFlight(uint64_t task) const override {
    const auto found = started_.find(task);
    if (found == started_.end()) return std::nullopt;
    return WorkOf(found->second);
  }

 private:
  // What all tasks of a version have in common.
  struct Base : VersionWork {
    std::vector<double> parameters;  // by unit
    std::vector<int64_t> elements;   // number of values in messages, by unit

    template <class Archive>
    friend void Fields(Archive& archive, Base& b) {
      archive(b.version, b.down_bytes, b.up_bytes, b.expected_up, b.encode, b.decode, b.delta,
              b.parameters, b.elements);
    }
  };
  // A task between WorkOf and Ended.
  struct Started {
    FederatedKey key = {};
    int times = 1;
    int64_t local_steps = 0;
    std::shared_ptr<const Base> base = nullptr;
    int64_t down_bytes = 0;
    ClientSeconds seconds = {};
    std::optional<int64_t> up_bytes = std::nullopt;  // set if it depends on the data

    // Has all fields except for the base.
    template <class Archive>
    friend void Fields(Archive& archive, Started& s) {
      archive(s.key.version, s.key.client, s.key.draws, s.times, s.local_steps, s.down_bytes,
              s.seconds, s.up_bytes);
    }
  };

  const std::shared_ptr<const Base>& NewestBase() {
    if (base_ && base_->version == training_.version()) return base_;
    const Uplink& uplink = training_.uplink();
    const std::span<const double> parameters = training_.parameters();
    auto base = std::make_shared<Base>();
    base->version = training_.version();
    base->parameters.assign(parameters.begin(), parameters.end());
    base->elements = uplink.ElementsSent(parameters);
    base->encode = uplink.EncodeWork(parameters);
    if (training_.traits().up_vectors == 2) {
      for (Work& work : base->encode) {
        work.elements *= 2;
        work.launches *= 2;
      }
    }
    base->down_bytes = training_.DownBytes();
    base->decode = training_.downlink().DecodeWork();
    base->delta = training_.downlink().Size();
    base->up_bytes = training_.UpBytes().value_or(kUnknownBytes);
    if (base->up_bytes == kUnknownBytes) {
      // The update has values with their positions.
      base->expected_up =
          8 * std::accumulate(base->elements.begin(), base->elements.end(), int64_t{0});
    }
    if (recorder_ != nullptr) {
      if (begin_) std::exchange(begin_, nullptr)();
      recorder_->Write(*base);
    }
    base_ = std::move(base);
    return base_;
  }

  void CheckServer() {
    const int64_t buffer = training_.traits().buffer;
    auto* const async = std::get_if<fabric::AsyncOptions>(&request_.server);
    if ((buffer > 0) != (async != nullptr)) {
      throw Error(
          "federated.server", async ? "async" : "sync",
          std::string(buffer > 0 ? "async" : "sync") + " with algorithm " + options_.algorithm);
    }
    if (async != nullptr) {
      async->buffer = buffer;
      async->maxStaleness = training_.traits().max_staleness;
    }
  }
  // Returns the task of a client that starts from the newest version.
  fabric::TaskWork Figure(int client, Started& started) {
    started.base = NewestBase();
    const DownlinkNeed down = training_.ledger().NeedOf(client, *started.base);
    started.down_bytes = down.bytes;
    started.seconds = clock_->SecondsOf(client, {.samples = partition_->SizeOf(client),
                                                 .batch = options_.local.batch_size,
                                                 .steps = started.local_steps,
                                                 .decode = started.base->decode,
                                                 .messages = down.messages,
                                                 .encode = started.base->encode});
    return WorkOf(started);
  }
  fabric::TaskWork WorkOf(const Started& started) const {
    return {.downBytes = started.down_bytes,
            .upBytes = started.up_bytes.value_or(started.base->up_bytes),
            .work = started.seconds.Total(),
            .lanes = request_.streams};
  }

  // Adds a counted task to the version in progress.
  void Add(const Started& started, int client, const FederatedResult& result) {
    ++counted_;
    const Base& base = *started.base;
    for (size_t u = 0; u < gathered_units_.size(); ++u) {
      const auto bytes = static_cast<double>(result.unit_bytes[u]);
      gathered_units_[u].parameter += base.parameters[u];
      gathered_units_[u].elements += static_cast<double>(base.elements[u]);
      gathered_units_[u].bytes += bytes;
      gathered_.elements_sent += static_cast<double>(base.elements[u]);
      gathered_.message_bytes += bytes;
    }
    losses_.emplace_back(client, result.loss, result.rate);
    gathered_.transfer_bytes += static_cast<double>(started.down_bytes + result.up_bytes);
    gathered_.critical = started.seconds;
  }
  // Computes the means of what was added.
  void Conclude() {
    facts_ = gathered_;
    // The order in which tasks end depends on the network, which must not affect the training.
    std::ranges::sort(losses_);
    for (const auto& [client, loss, rate] : losses_) {
      facts_.loss += loss;
      facts_.learning_rate += rate;
    }
    const auto count = static_cast<double>(counted_);
    for (double* mean : {&facts_.learning_rate, &facts_.loss, &facts_.elements_sent,
                         &facts_.message_bytes, &facts_.transfer_bytes}) {
      *mean /= count;
    }
    if (!options_.rate_over_steps) {
      facts_.learning_rate =
          LearningRate(options_.schedule, training_.version(), options_.versions);
    }
    for (size_t u = 0; u < sums_.size(); ++u) {
      sums_[u].parameter += gathered_units_[u].parameter / count;
      sums_[u].elements += gathered_units_[u].elements / count;
      sums_[u].bytes += gathered_units_[u].bytes / count;
    }
  }

  PlanRequest& request_;
  const SampleLabels& labels_;
  FederatedOptions options_;
  std::string description_;
  std::unique_ptr<Scheme> scheme_;  // the policy refers to it
  Recorder* recorder_;
  std::function<void()> begin_;  // writes the first line of the record; empty: that was done
  std::unique_ptr<Partition> partition_;
  ClientStore store_;
  FederatedTraining training_;
  std::optional<ClientClock> clock_;
  std::unordered_map<uint64_t, Started> started_;
  std::shared_ptr<const Base> base_;
  // Sums over the counted tasks of the version in progress, and the number of these tasks.
  VersionFacts gathered_;
  std::vector<UnitSums> gathered_units_;
  std::vector<std::tuple<int, double, double>> losses_;  // client, loss, learning rate
  int64_t counted_ = 0;
  VersionFacts facts_;
  std::vector<UnitSums> sums_;
};

class Learners : public FederatedLearners {
 public:
  explicit Learners(const Scenario& scenario)
      : scenario_(scenario),
        task_(TaskOf(scenario)),
        samples_(task_->OpenSamples()),
        labels_(samples_->Labels()),
        layers_(LayersOf(ModelOf(scenario, *task_, scenario.seed))),
        costs_(CostsOf(ModelOf(scenario, *task_, scenario.seed))) {}

  std::span<const Metric> Metrics() const override { return task_->Info().metrics; }
  std::span<const Unit> Layers() const override { return layers_; }
  std::span<const OperationCost> Costs() const override { return costs_; }
  void Describe(nlohmann::json& versions) const override { DescribeHostKernels(versions); }
  std::optional<PartitionView> LookAtPartition(uint64_t seed, int64_t clients) const override {
    const std::string& rule = scenario_.federated->partition;
    return ViewPartition(*MakePartition(rule, labels_, clients, seed), labels_);
  }

  std::unique_ptr<FederatedLearner> Make(const FederatedMethod& row, uint64_t seed,
                                         PlanRequest& request, const std::string& folder,
                                         Recorder* recorder) override {
    FederatedOptions options = OptionsFor(row, request, seed);
    options.downlink = row.downlink;
    if (const auto* sync = std::get_if<fabric::SyncOptions>(&request.server)) {
      options.per_version = sync->perRound;
    } else {
      options.per_version = std::get<fabric::AsyncOptions>(request.server).buffer;
    }
    const UnitPlan plan = PlanUnits(layers_, options.scope, options.buckets);
    BuiltMethod built = Build(row, options, request, scenario_.workers, plan.units);
    if (options.downlink != "dense") built.description += "; downlink " + options.downlink;
    if (options.masked_bytes > 0) {
      built.description += fmt::format("; {:g} times the bytes up for masks", options.masked_bytes);
    }
    ModelRequest model = ModelOf(scenario_, *task_, seed);
    return std::make_unique<TrainedLearner>(
        TrainedLearner::Parts{scenario_, *task_, labels_, request, options, std::move(model),
                              costs_, std::move(built), folder, row.name, recorder});
  }

  std::unique_ptr<ExchangeLearner> MakeExchange(const FederatedMethod& row, uint64_t seed,
                                                PlanRequest& request, Recorder* recorder) override {
    CheckExchanges(row.method, scenario_);
    FederatedOptions options = OptionsFor(row, request, seed);
    options.per_version = request.population.Clients();
    return TrainedExchange(
        {*task_, labels_, options, ModelOf(scenario_, *task_, seed),
         MakePartition(scenario_.federated->partition, labels_, options.per_version, seed),
         [&](std::span<const Unit> units) {
           return Build(row, options, request, static_cast<int>(options.per_version), units);
         },
         row.name, recorder});
  }

 private:
  FederatedOptions OptionsFor(const FederatedMethod& row, const PlanRequest& request,
                              uint64_t seed) const {
    FederatedOptions options = OptionsOf(scenario_, request, seed);
    options.algorithm = row.algorithm;
    options.scheme = SchemeText(row.method, scenario_);
    options.scope = *row.method.scope;
    return options;
  }
  BuiltMethod Build(const FederatedMethod& row, const FederatedOptions& options,
                    const PlanRequest& request, int workers, std::span<const Unit> units) const {
    Scenario here = scenario_;
    here.steps = options.versions;
    here.seed = options.local.seed;
    here.workers = workers;
    here.error_feedback = options.memory != UplinkMemory::kOff;
    return BuildMethod(row.method, here, units,
                       std::max<int64_t>(1, request.population.Clients() / options.per_version));
  }

  const Scenario& scenario_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<SampleSet> samples_;
  SampleLabels labels_;
  std::vector<Unit> layers_;
  std::vector<OperationCost> costs_;
};

}  // namespace
}  // namespace legacy

// Makes the learners; training_module.cc looks this function up. The caller owns the result.
extern "C" legacy::FederatedLearners* legacy_federated_learners(const legacy::Scenario& scenario) {
  return std::make_unique<legacy::Learners>(scenario).release();
}
