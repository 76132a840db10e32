#include "scenarios/federated/recorded_learners.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/federated/recorded_exchange.h"
#include "scenarios/federated/recorded_rows.h"
#include "trainer/federated/aggregator.h"
#include "trainer/federated/downlink.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using fabric::kUnknownBytes;

// Facts about clients that a record does not contain.
class ClientFacts {
 public:
  virtual ~ClientFacts() = default;
  virtual int64_t SamplesOf(int client) const = 0;
  virtual int64_t LabelsOf(int client) const = 0;
  virtual int64_t ExpectedSteps(int client, int64_t version) const = 0;
};

// Facts from the rows of a complete run. All of its tasks are expected to be like the first.
class FactsOfRows : public ClientFacts {
 public:
  explicit FactsOfRows(const std::vector<analysis::ClientRow>& rows) : rows_(rows) {}

  int64_t SamplesOf(int client) const override { return rows_.at(client).samples; }
  int64_t LabelsOf(int client) const override { return rows_.at(client).labels; }
  int64_t ExpectedSteps(int client, int64_t) const override {
    return rows_.at(client).expected_steps;
  }

 private:
  const std::vector<analysis::ClientRow>& rows_;
};

// Facts from a learner that continues.
class FactsOfLearner : public ClientFacts {
 public:
  explicit FactsOfLearner(FederatedLearner& learner) : learner_(learner) {}

  int64_t SamplesOf(int client) const override { return learner_.SamplesOf(client).value_or(0); }
  int64_t LabelsOf(int client) const override { return learner_.LabelsOf(client); }
  int64_t ExpectedSteps(int client, int64_t version) const override {
    return learner_.ExpectedSteps(client, version);
  }

 private:
  FederatedLearner& learner_;
};

class RecordedLearner : public RowsLearner<FederatedLearner> {
 public:
  RecordedLearner(const RecordedTraining& record, const TrainingRows& rows, const Record& whole,
                  const Scenario& scenario, PlanRequest& request,
                  std::unique_ptr<ClientFacts> clients)
      : RowsLearner(rows),
        record_(record),
        batch_(whole.batch.value_or(1)),
        request_(request),
        clients_(std::move(clients)),
        clock_(scenario, request.population, whole.operations, whole.layers, record.local) {}

  fabric::TaskWork WorkOf(const fabric::TaskStart& start) override {
    const RecordedTask& task = TaskOf(start.key, start.client);
    Started started = Figure(start.client, task.local_steps, start.version);
    started.task = &task;
    started_.emplace(start.id, started);
    return WorkOf(started);
  }
  int64_t UpBytesOf(uint64_t id) override {
    const RecordedTask& task = *started_.at(id).task;
    if (!task.up_bytes) Fail(task.key, static_cast<int>(task.client), "bytes of its update");
    return *task.up_bytes;
  }
  fabric::TaskWork Expected(int client) override {
    const int64_t version = Version();
    const Started started = Figure(client, clients_->ExpectedSteps(client, version), version);
    fabric::TaskWork work = WorkOf(started);
    work.upBytes = started.work->AboutUp();
    return work;
  }
  std::optional<int64_t> SamplesOf(int client) override { return clients_->SamplesOf(client); }
  TaskFigures FiguresOf(const fabric::TaskRow& row) override {
    return {.local_steps = started_.at(row.id).task->local_steps,
            .samples = clients_->SamplesOf(row.client)};
  }
  std::optional<TaskLoss> Ended(const fabric::TaskRow& row) override {
    const Started started = started_.at(row.id);
    started_.erase(row.id);
    if (row.fate != fabric::TaskFate::Counted) return std::nullopt;
    critical_ = started.seconds;
    if (!started.task->loss) return std::nullopt;
    heard_.emplace_back(row.client, started.work);
    if (!request_.Synchronous()) Hear();
    return TaskLoss{.mean = *started.task->loss, .squares = started.task->squares.value_or(0)};
  }
  void Round(const fabric::RoundRow& row) override {
    if (row.made) Hear();
    heard_.clear();
    if (!row.made) return;
    Advance();
    facts_.critical = critical_;
  }

  int64_t LabelsOf(int client) const override { return clients_->LabelsOf(client); }
  int64_t ExpectedSteps(int client, int64_t version) const override {
    return clients_->ExpectedSteps(client, version);
  }

 private:
  struct Started {
    const RecordedTask* task = nullptr;
    const VersionWork* work = nullptr;
    DownlinkNeed down = {};
    ClientSeconds seconds = {};
  };

  [[noreturn]] static void Fail(uint64_t key, int client, const std::string& what) {
    throw Error("replay: the record lacks " + what + ": task " + std::to_string(key) +
                " of client " + std::to_string(client));
  }
  const RecordedTask& TaskOf(uint64_t key, int client) const {
    const auto found = record_.tasks.find({key, client});
    if (found == record_.tasks.end()) Fail(key, client, "a task");
    return found->second;
  }
  const VersionWork& VersionOf(int64_t version) const {
    const auto found = record_.versions.find(version);
    if (found == record_.versions.end()) {
      throw Error("replay: the record lacks version " + std::to_string(version));
    }
    return found->second;
  }
  Started Figure(int client, int64_t steps, int64_t version) {
    const VersionWork& work = VersionOf(version);
    const DownlinkNeed down = ledger_.NeedOf(client, work);
    const ClientSeconds seconds = clock_.SecondsOf(client, {.samples = clients_->SamplesOf(client),
                                                            .batch = batch_,
                                                            .steps = steps,
                                                            .decode = work.decode,
                                                            .messages = down.messages,
                                                            .encode = work.encode});
    return {.work = &work, .down = down, .seconds = seconds};
  }
  // Records the versions that clients have, once the server has received their updates.
  void Hear() {
    for (const auto& [client, work] : heard_) {
      if (work->delta) ledger_.Decoded(client, work->version, *work->delta);
    }
    heard_.clear();
  }
  fabric::TaskWork WorkOf(const Started& started) const {
    return {.downBytes = started.down.bytes,
            .upBytes = started.work->up_bytes,
            .work = started.seconds.Total(),
            .lanes = request_.streams};
  }

  const RecordedTraining& record_;
  int64_t batch_;
  PlanRequest& request_;
  std::unique_ptr<ClientFacts> clients_;
  ClientClock clock_;
  std::unordered_map<uint64_t, Started> started_;
  DownlinkLedger ledger_;
  // Clients whose updates count in the version in progress, with the version that each started
  // from.
  std::vector<std::pair<int, const VersionWork*>> heard_;
  ClientSeconds critical_;
};

class Recorded : public FederatedLearners {
 public:
  Recorded(std::shared_ptr<const Recording> recording, const Scenario& scenario,
           const std::string& hash)
      : scenario_(scenario), recording_(std::move(recording)), rows_(RowsOf(recording_->run)) {
    if (recording_->record.Hash() == hash) return;
    throw Error("methods: not those of the recorded run, as recorded: they belong to the training");
  }

  std::span<const Metric> Metrics() const override { return recording_->run.manifest.metrics; }
  std::span<const Unit> Layers() const override { return recording_->record.layers; }
  std::span<const OperationCost> Costs() const override { return recording_->record.operations; }

  std::unique_ptr<FederatedLearner> Make(const FederatedMethod& method, uint64_t seed,
                                         PlanRequest& request, const std::string&,
                                         Recorder*) override {
    const RecordedTraining& training = recording_->record.Training(method.name, seed);
    const TrainingRows& rows = RowsFor(method, seed, request);
    return std::make_unique<RecordedLearner>(training, rows, recording_->record, scenario_, request,
                                             std::make_unique<FactsOfRows>(rows.clients));
  }

  std::unique_ptr<ExchangeLearner> MakeExchange(const FederatedMethod& method, uint64_t seed,
                                                PlanRequest& request, Recorder*) override {
    const auto algorithm = MakeAggregator(method.algorithm, {.numel = 1});
    return RecordedExchange(recording_->record, method.name, seed, RowsFor(method, seed, request),
                            algorithm->Traits().fragments);
  }

 private:
  const TrainingRows& RowsFor(const FederatedMethod& method, uint64_t seed,
                              const PlanRequest& request) const {
    const auto rows = rows_.find({method.name, seed});
    if (rows == rows_.end()) {
      throw Error("replay: the run has no rows of " + method.name + ", seed " +
                  std::to_string(seed));
    }
    const auto recorded = std::ssize(rows->second.clients);
    if (recorded != request.population.Clients()) {
      throw Error("federated.population", std::to_string(request.population.Clients()) + " clients",
                  std::to_string(recorded) + ", as recorded");
    }
    return rows->second;
  }

  const Scenario& scenario_;
  std::shared_ptr<const Recording> recording_;
  RowsOfTrainings rows_;
};

// A ResumedLearner replays what was recorded up to the version of a checkpoint, and then continues
// with a learner that was restored from the checkpoint.
class ResumedLearner : public FederatedLearner {
 public:
  ResumedLearner(std::unique_ptr<FederatedLearner> present, const ResumedPast& past,
                 const Scenario& scenario, PlanRequest& request)
      : present_(std::move(present)),
        begins_(present_->Version()),
        record_(ReadRecord(past.record)),
        rows_(RowsOf(analysis::ReadRunDirectory(past.directory))),
        past_(std::make_unique<RecordedLearner>(
            record_.Training(past.policy, past.seed), rows_[{past.policy, past.seed}], record_,
            scenario, request, std::make_unique<FactsOfLearner>(*present_))) {}

  fabric::TaskWork WorkOf(const fabric::TaskStart& start) override {
    if (!Past()) return present_->WorkOf(start);
    if (const auto work = present_->InFlight(start.id)) return *work;
    return past_->WorkOf(start);
  }
  int64_t UpBytesOf(uint64_t task) override {
    return Past() && !present_->InFlight(task) ? past_->UpBytesOf(task) : present_->UpBytesOf(task);
  }
  fabric::TaskWork Expected(int client) override { return Now().Expected(client); }
  std::optional<int64_t> SamplesOf(int client) override { return present_->SamplesOf(client); }
  std::optional<TaskLoss> Ended(const fabric::TaskRow& row) override { return Now().Ended(row); }
  void Round(const fabric::RoundRow& row) override { Now().Round(row); }
  TaskFigures FiguresOf(const fabric::TaskRow& row) override { return Now().FiguresOf(row); }

  int64_t Version() const override { return Past() ? past_->Version() : present_->Version(); }
  const VersionFacts& Facts() const override { return Past() ? past_->Facts() : present_->Facts(); }
  Evaluation Evaluate() override { return Now().Evaluate(); }
  std::vector<analysis::DecisionRow> TakeDecisions() override { return Now().TakeDecisions(); }
  std::vector<analysis::LayerRow> LayerRows() const override { return present_->LayerRows(); }
  std::string Description() const override { return present_->Description(); }
  int64_t LabelsOf(int client) const override { return present_->LabelsOf(client); }
  int64_t ExpectedSteps(int client, int64_t version) const override {
    return present_->ExpectedSteps(client, version);
  }
  void Save(StateWriter& out) override { present_->Save(out); }

 private:
  // Returns true up to the version from which the present learner continues.
  bool Past() const { return past_->Version() < begins_; }
  FederatedLearner& Now() { return Past() ? *past_ : *present_; }

  std::unique_ptr<FederatedLearner> present_;
  const int64_t begins_;  // version up to which the past is used
  Record record_;
  RowsOfTrainings rows_;
  std::unique_ptr<RecordedLearner> past_;
};

}  // namespace

std::unique_ptr<FederatedLearners> RecordedLearners(std::shared_ptr<const Recording> recording,
                                                    const Scenario& scenario,
                                                    const std::string& hash) {
  return std::make_unique<Recorded>(std::move(recording), scenario, hash);
}

std::unique_ptr<FederatedLearner> Resume(std::unique_ptr<FederatedLearner> present,
                                         const ResumedPast& past, const Scenario& scenario,
                                         PlanRequest& request) {
  return std::make_unique<ResumedLearner>(std::move(present), past, scenario, request);
}

}  // namespace legacy
