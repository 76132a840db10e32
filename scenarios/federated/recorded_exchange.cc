#include "scenarios/federated/recorded_exchange.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

class RecordedExchanger : public ExchangeLearner {
 public:
  RecordedExchanger(const RecordedTraffic& record, const RecordedTraining& training,
                    const TrainingRows& rows)
      : record_(record), training_(training), rows_(rows) {}

  const StepWork& Next() override {
    facts_ = FactsOf(rows_, version_);
    if (version_ >= std::ssize(training_.works)) {
      throw Error("replay: the record lacks version " + std::to_string(version_));
    }
    const StepWork& work = record_.works[training_.works[static_cast<size_t>(version_++)]];
    if (work.local_steps.empty()) throw Error("replay: the record lacks local steps");
    return work;
  }

  int64_t Version() const override { return version_; }
  const VersionFacts& Facts() const override { return facts_; }
  Evaluation Evaluate() override { return EvaluationOf(rows_, version_); }
  std::vector<analysis::DecisionRow> TakeDecisions() override {
    return DecisionsUpTo(rows_, version_, next_decision_);
  }
  std::vector<analysis::LayerRow> LayerRows() const override { return rows_.layers; }
  std::string Description() const override { return "recorded"; }
  std::optional<int64_t> SamplesOf(int client) override { return rows_.clients.at(client).samples; }
  int64_t LabelsOf(int client) const override { return rows_.clients.at(client).labels; }

 private:
  const RecordedTraffic& record_;
  const RecordedTraining& training_;
  const TrainingRows& rows_;
  size_t next_decision_ = 0;
  int64_t version_ = 0;
  VersionFacts facts_;
};

class ResumedExchange : public ExchangeLearner {
 public:
  ResumedExchange(std::unique_ptr<ExchangeLearner> present, const ResumedPast& past)
      : present_(std::move(present)),
        begins_(present_->Version()),
        record_(ReadTraffic(past.record)),
        rows_(RowsOf(analysis::ReadRunDirectory(past.directory))),
        past_(record_, TrainingOf(record_, past.policy, past.seed),
              rows_[{past.policy, past.seed}]) {}

  const StepWork& Next() override {
    in_past_ = past_.Version() < begins_;
    return Now().Next();
  }

  int64_t Version() const override { return in_past_ ? past_.Version() : present_->Version(); }
  const VersionFacts& Facts() const override {
    return in_past_ ? past_.Facts() : present_->Facts();
  }
  Evaluation Evaluate() override { return Now().Evaluate(); }
  std::vector<analysis::DecisionRow> TakeDecisions() override { return Now().TakeDecisions(); }
  std::vector<analysis::LayerRow> LayerRows() const override { return present_->LayerRows(); }
  std::string Description() const override { return present_->Description(); }
  std::optional<int64_t> SamplesOf(int client) override { return present_->SamplesOf(client); }
  int64_t LabelsOf(int client) const override { return present_->LabelsOf(client); }
  void Save(StateWriter& out) override { present_->Save(out); }

 private:
  ExchangeLearner& Now() {
    if (in_past_) return past_;
    return *present_;
  }

  std::unique_ptr<ExchangeLearner> present_;
  const int64_t begins_;  // version up to which the past goes
  RecordedTraffic record_;
  RowsOfTrainings rows_;
  RecordedExchanger past_;
  bool in_past_ = true;  // of the last version
};

}  // namespace

std::unique_ptr<ExchangeLearner> RecordedExchange(const RecordedTraffic& record,
                                                  const std::string& policy, uint64_t seed,
                                                  const TrainingRows& rows) {
  return std::make_unique<RecordedExchanger>(record, TrainingOf(record, policy, seed), rows);
}

std::unique_ptr<ExchangeLearner> Resume(std::unique_ptr<ExchangeLearner> present,
                                        const ResumedPast& past) {
  return std::make_unique<ResumedExchange>(std::move(present), past);
}

}  // namespace legacy
