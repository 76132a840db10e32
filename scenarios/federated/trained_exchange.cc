#include "scenarios/federated/trained_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/archive.h"
#include "base/error.h"
#include "scenarios/checkpoint/fields.h"

namespace legacy {
namespace {

class TrainedExchanger : public ExchangeLearner {
 public:
  explicit TrainedExchanger(ExchangeParts parts)
      : labels_(parts.labels),
        versions_(parts.options.versions),
        seed_(parts.options.local.seed),
        name_(std::move(parts.name)),
        recorder_(parts.recorder),
        partition_(std::move(parts.partition)),
        training_(parts.options, parts.task, parts.model, *partition_,
                  [&](std::span<const Unit> units) {
                    BuiltMethod built = parts.build(units);
                    description_ = built.description;
                    return ExchangeMethod{std::move(built.scheme), std::move(built.policy)};
                  }),
        sums_(training_.units().size()) {
    const AggregatorTraits& traits = training_.traits();
    if (!traits.Streams()) return;
    description_ += fmt::format("; {} fragments in turn, {} local steps while one travels",
                                traits.fragments, traits.overlap);
  }

  int Fragments() const override { return training_.traits().fragments; }
  std::span<const StepWork> Next() override {
    outcome_ = training_.Round();
    facts_ = {.learning_rate = outcome_.learning_rate, .loss = outcome_.loss, .critical = {}};
    const auto clients = static_cast<double>(partition_->Clients());
    for (size_t u = 0; u < sums_.size(); ++u) {
      const UnitOutcome& unit = outcome_.units[u];
      sums_[u].parameter += unit.parameter;
      sums_[u].elements += static_cast<double>(unit.elements);
      sums_[u].bytes += static_cast<double>(unit.bytes) / clients;
      facts_.elements_sent += static_cast<double>(unit.elements);
    }
    for (int client = 0; client < outcome_.works.front().workers; ++client) {
      int64_t bytes = 0;
      for (const StepWork& work : outcome_.works) bytes += work.MessageBytes(client);
      facts_.message_bytes += static_cast<double>(bytes) / clients;
    }
    for (const StepWork& work : outcome_.works) {
      if (recorder_ != nullptr) recorder_->Write(name_, seed_, work);
    }
    return outcome_.works;
  }

  int64_t Version() const override { return training_.version(); }
  const VersionFacts& Facts() const override { return facts_; }
  Evaluation Evaluate() override { return training_.Evaluate(); }
  std::vector<analysis::DecisionRow> TakeDecisions() override {
    return DecisionRowsOf(training_.TakeDecisions(), training_.units(), versions_);
  }
  std::vector<analysis::LayerRow> LayerRows() const override {
    return LayerRowsOf(sums_, training_.units(), Version());
  }
  std::string Description() const override { return description_; }
  std::optional<int64_t> SamplesOf(int client) override { return partition_->SizeOf(client); }
  int64_t LabelsOf(int client) const override { return LabelsIn(*partition_, client, labels_); }

  void Save(StateWriter& out) override {
    ToArchive(out, sums_);
    training_.Save(out);
  }
  void Load(StateReader& in) override {
    const size_t units = sums_.size();
    FromArchive(in, sums_);
    if (sums_.size() != units) {
      throw Error("sums of units", std::to_string(sums_.size()), std::to_string(units));
    }
    training_.Load(in);
  }

 private:
  const SampleLabels& labels_;
  int64_t versions_;
  uint64_t seed_;
  std::string name_;
  std::string description_;
  Recorder* recorder_;
  std::unique_ptr<Partition> partition_;
  ExchangeTraining training_;
  ExchangeOutcome outcome_;
  VersionFacts facts_;
  std::vector<UnitSums> sums_;
};

}  // namespace

std::vector<analysis::LayerRow> LayerRowsOf(std::span<const UnitSums> sums,
                                            std::span<const Unit> units, int64_t versions) {
  std::vector<analysis::LayerRow> rows;
  const auto count = static_cast<double>(std::max<int64_t>(1, versions));
  for (size_t u = 0; u < sums.size(); ++u) {
    rows.push_back({"", 0, units[u].name, units[u].numel, sums[u].parameter / count,
                    sums[u].elements, sums[u].bytes});
  }
  return rows;
}

std::vector<analysis::DecisionRow> DecisionRowsOf(std::span<const Decision> decisions,
                                                  std::span<const Unit> units, int64_t versions) {
  std::vector<analysis::DecisionRow> rows;
  for (const Decision& made : decisions) {
    if (made.step >= versions) continue;
    const bool all = made.unit == Decision::kAllUnits;
    const DecisionGrounds& grounds = made.grounds;
    rows.push_back({"", 0, made.step, made.number, all ? "all" : units[made.unit].name,
                    made.parameter, grounds.error, grounds.budget, grounds.gain, grounds.seconds,
                    grounds.reason});
  }
  return rows;
}

int64_t LabelsIn(const Partition& partition, int64_t client, const SampleLabels& labels) {
  if (labels.labels.empty()) return 0;
  std::vector<bool> present(static_cast<size_t>(labels.classes));
  for (const int64_t sample : partition.SamplesOf(client)) {
    present[static_cast<size_t>(labels.labels[static_cast<size_t>(sample)])] = true;
  }
  return std::ranges::count(present, true);
}

void CheckExchanges(const Method& method, const Scenario& scenario) {
  const std::string reason = NetworkDependence(method, scenario);
  if (reason.empty()) return;
  throw Error(
      "compression.policies", method.name,
      "methods whose training does not depend on the network, with federated.exchange: " + reason);
}

std::unique_ptr<ExchangeLearner> TrainedExchange(ExchangeParts parts) {
  return std::make_unique<TrainedExchanger>(std::move(parts));
}

}  // namespace legacy
