#include "scenarios/federated/recorded_exchange.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

class RecordedExchanger : public RowsLearner<ExchangeLearner> {
 public:
  RecordedExchanger(const Record& record, const RecordedTraining& training,
                    const TrainingRows& rows, int fragments)
      : RowsLearner(rows), record_(record), training_(training), fragments_(fragments) {}

  int Fragments() const override { return fragments_; }
  std::span<const StepWork> Next() override {
    const int64_t version = Version();
    Advance();
    const int64_t first = version * fragments_;
    if (first + fragments_ > std::ssize(training_.works)) {
      throw Error("replay: the record lacks version " + std::to_string(version));
    }
    works_.clear();
    for (int64_t i = first; i < first + fragments_; ++i) {
      works_.push_back(record_.works[training_.works[static_cast<size_t>(i)]]);
      if (works_.back().local_steps.empty()) throw Error("replay: the record lacks local steps");
    }
    return works_;
  }

  std::optional<int64_t> SamplesOf(int client) override {
    return rows().clients.at(client).samples;
  }
  int64_t LabelsOf(int client) const override { return rows().clients.at(client).labels; }

 private:
  const Record& record_;
  const RecordedTraining& training_;
  const int fragments_;
  std::vector<StepWork> works_;  // work of the last version
};

class ResumedExchange : public ExchangeLearner {
 public:
  ResumedExchange(std::unique_ptr<ExchangeLearner> present, const ResumedPast& past)
      : present_(std::move(present)),
        begins_(present_->Version()),
        record_(ReadRecord(past.record)),
        rows_(RowsOf(analysis::ReadRunDirectory(past.directory))),
        past_(record_, record_.Training(past.policy, past.seed), rows_[{past.policy, past.seed}],
              present_->Fragments()) {}

  int Fragments() const override { return present_->Fragments(); }
  std::span<const StepWork> Next() override {
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
  const int64_t begins_;  // version up to which the past is used
  Record record_;
  RowsOfTrainings rows_;
  RecordedExchanger past_;
  bool in_past_ = true;  // whether the last version was in the past
};

}  // namespace

std::unique_ptr<ExchangeLearner> RecordedExchange(const Record& record, const std::string& policy,
                                                  uint64_t seed, const TrainingRows& rows,
                                                  int fragments) {
  return std::make_unique<RecordedExchanger>(record, record.Training(policy, seed), rows,
                                             fragments);
}

std::unique_ptr<ExchangeLearner> Resume(std::unique_ptr<ExchangeLearner> present,
                                        const ResumedPast& past) {
  return std::make_unique<ResumedExchange>(std::move(present), past);
}

}  // namespace legacy
