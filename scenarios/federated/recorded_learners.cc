#include "scenarios/federated/recorded_learners.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/run_directory.h"
#include "base/error.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using fabric::kUnknownBytes;

// The rows of one training.
struct TrainingRows {
  std::vector<analysis::StepRow> steps;
  std::map<int64_t, analysis::EvaluationRow> evaluations;  // by version
  std::vector<analysis::LayerRow> layers;
  std::vector<analysis::DecisionRow> decisions;
  std::vector<analysis::ClientRow> clients;
};

class RecordedLearner : public FederatedLearner {
 public:
  RecordedLearner(const RecordedFederation& record, const TrainingRows& rows,
                  const FederatedRecord& whole, const Scenario& scenario, PlanRequest& request)
      : record_(record),
        rows_(rows),
        batch_(whole.batch),
        request_(request),
        clock_(scenario, request.population, whole.operations, whole.layers, record.work),
        next_decision_(rows.decisions.begin()) {
    if (std::ssize(rows.clients) != request.population.Clients()) {
      throw Error("federated.population", std::to_string(request.population.Clients()) + " clients",
                  std::to_string(rows.clients.size()) + ", as recorded");
    }
  }

  fabric::TaskWork WorkOf(const fabric::TaskStart& start) override {
    const RecordedTask& task = TaskOf(start.key, start.client);
    const Started started = {.task = &task,
                             .work = &VersionOf(start.version),
                             .seconds = SecondsOf(start.client, task.local_steps, start.version)};
    started_.emplace(start.id, started);
    return WorkOf(started);
  }
  int64_t UpBytesOf(uint64_t id) override {
    const RecordedTask& task = *started_.at(id).task;
    if (!task.up_bytes) Fail(task.key, static_cast<int>(task.client), "bytes of its update");
    return *task.up_bytes;
  }
  fabric::TaskWork Expected(int client) override {
    const int64_t samples = rows_.clients[client].samples;
    const Started started = {
        .work = &VersionOf(version_),
        .seconds = SecondsOf(client, (samples + batch_ - 1) / batch_, version_)};
    fabric::TaskWork work = WorkOf(started);
    if (work.upBytes == kUnknownBytes) work.upBytes = work.downBytes;
    return work;
  }
  std::optional<int64_t> SamplesOf(int client) override { return rows_.clients[client].samples; }
  TaskFigures FiguresOf(const fabric::TaskRow& row) override {
    return {.local_steps = started_.at(row.id).task->local_steps,
            .samples = rows_.clients[row.client].samples};
  }
  std::optional<double> Ended(const fabric::TaskRow& row) override {
    const Started started = started_.at(row.id);
    started_.erase(row.id);
    if (row.fate != fabric::TaskFate::Counted) return std::nullopt;
    critical_ = started.seconds;
    return started.task->loss;
  }
  void Round(const fabric::RoundRow& row) override {
    if (!row.made) return;
    if (version_ >= std::ssize(rows_.steps)) {
      throw Error("replay: version " + std::to_string(row.version) + " is not in the record");
    }
    const analysis::StepRow& step = rows_.steps[version_++];
    facts_ = {.learning_rate = step.learning_rate,
              .loss = step.training_loss,
              .elements_sent = step.elements_sent,
              .message_bytes = step.message_bytes,
              .transfer_bytes = step.nic_bytes,
              .critical = critical_};
  }

  int64_t Version() const override { return version_; }
  const VersionFacts& Facts() const override { return facts_; }
  Evaluation Evaluate() override {
    const auto found = rows_.evaluations.find(version_);
    if (found == rows_.evaluations.end()) {
      throw Error("replay: the record has no evaluation of version " + std::to_string(version_));
    }
    return {.loss = found->second.test_loss, .metrics = found->second.metrics};
  }
  std::vector<analysis::DecisionRow> TakeDecisions() override {
    std::vector<analysis::DecisionRow> rows;
    while (next_decision_ != rows_.decisions.end() && next_decision_->step <= version_) {
      rows.push_back(*next_decision_++);
    }
    return rows;
  }
  std::vector<analysis::LayerRow> LayerRows() const override { return rows_.layers; }
  std::string Description() const override { return "recorded"; }
  int64_t LabelsOf(int client) const override { return rows_.clients[client].labels; }

 private:
  struct Started {
    const RecordedTask* task = nullptr;
    const VersionWork* work = nullptr;
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
  ClientSeconds SecondsOf(int client, int64_t steps, int64_t version) {
    return clock_.SecondsOf(client, rows_.clients[client].samples, batch_, steps,
                            VersionOf(version).encode);
  }
  fabric::TaskWork WorkOf(const Started& started) const {
    return {.downBytes = started.work->down_bytes,
            .upBytes = started.work->up_bytes,
            .work = started.seconds.Total(),
            .lanes = request_.streams};
  }

  const RecordedFederation& record_;
  const TrainingRows& rows_;
  int64_t batch_;
  PlanRequest& request_;
  ClientClock clock_;
  std::vector<analysis::DecisionRow>::const_iterator next_decision_;
  std::unordered_map<uint64_t, Started> started_;
  int64_t version_ = 0;
  VersionFacts facts_;
  ClientSeconds critical_;
};

class Recorded : public FederatedLearners {
 public:
  Recorded(const fs::path& directory, const Scenario& scenario, const std::string& hash)
      : scenario_(scenario), record_(ReadTaskRecord(directory / "traffic.jsonl")) {
    if (record_.hash != hash) {
      throw Error(
          "methods: not those of the recorded run, as recorded: they belong to the training");
    }
    analysis::RunDirectory run = analysis::ReadRunDirectory(directory);
    metrics_ = run.manifest.metrics;
    const auto take = [&](auto& rows, auto&& put) {
      for (auto& row : rows) put(rows_[{row.policy, row.seed}], row);
    };
    take(run.steps, [](TrainingRows& to, auto& row) { to.steps.push_back(row); });
    take(run.evaluations, [](TrainingRows& to, auto& row) { to.evaluations[row.step] = row; });
    take(run.layers, [](TrainingRows& to, auto& row) { to.layers.push_back(row); });
    take(run.decisions, [](TrainingRows& to, auto& row) { to.decisions.push_back(row); });
    take(run.clients, [](TrainingRows& to, auto& row) { to.clients.push_back(row); });
  }

  std::span<const Metric> Metrics() const override { return metrics_; }
  std::span<const Unit> Layers() const override { return record_.layers; }
  std::span<const OperationCost> Costs() const override { return record_.operations; }
  std::string PartitionText(uint64_t, int64_t) const override { return "recorded clients"; }

  std::unique_ptr<FederatedLearner> Make(const FederatedMethod& method, uint64_t seed,
                                         PlanRequest& request, const std::string&,
                                         TaskRecorder*) override {
    const auto found = std::ranges::find_if(record_.trainings, [&](const auto& training) {
      return training.policy == method.name && training.seed == seed;
    });
    const auto rows = rows_.find({method.name, seed});
    if (found == record_.trainings.end() || rows == rows_.end()) {
      throw Error("replay: the record has no training of " + method.name + ", seed " +
                  std::to_string(seed));
    }
    return std::make_unique<RecordedLearner>(*found, rows->second, record_, scenario_, request);
  }

 private:
  const Scenario& scenario_;
  FederatedRecord record_;
  std::vector<Metric> metrics_;
  std::map<std::pair<std::string, uint64_t>, TrainingRows> rows_;
};

}  // namespace

std::unique_ptr<FederatedLearners> RecordedLearners(const std::string& directory,
                                                    const Scenario& scenario,
                                                    const std::string& hash) {
  return std::make_unique<Recorded>(directory, scenario, hash);
}

}  // namespace legacy
