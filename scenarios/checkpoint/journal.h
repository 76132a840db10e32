// A journal hands the steps of a training from the process that trains to the one that times them.
// It is a file that grows by one record for each step, so that the training may run ahead, and so
// that both may continue it after they were killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/files/output_file.h"
#include "trainer/step_source.h"

namespace legacy {

// A JournalStep is what is known of a step after it was trained.
struct JournalStep {
  StepOutcome outcome;
  std::vector<Decision> decisions;       // made in the step
  std::optional<Evaluation> evaluation;  // where the step was evaluated
  template <class Archive>
  friend void Fields(Archive& archive, JournalStep& s) {
    archive(s.outcome, s.decisions, s.evaluation);
  }
};

// A JournalWriter appends the records of one training.
class JournalWriter {
 public:
  // Continues after the last record of a file. An empty one gets what the source knows before its
  // first step.
  JournalWriter(const std::filesystem::path& path, const StepSource& source);
  void Write(const JournalStep& step);

 private:
  void WriteRecord(const Bytes& record);

  OutputFile file_;
};

// A JournalSource gives the steps of a journal that another process writes.
class JournalSource : public StepSource {
 public:
  // `wait` is called again and again while the next record is missing; it throws Error where none
  // will come. `metrics` outlive this.
  JournalSource(std::filesystem::path path, std::span<const Metric> metrics,
                std::function<void()> wait);
  ~JournalSource() override;

  StepOutcome Step(std::span<const int>) override;
  void OnFeedback(const StepTimes&) override {}
  std::vector<Decision> TakeDecisions() override { return std::move(step_.decisions); }
  void SetLink(const LinkEstimate&) override {}
  std::span<const Metric> Metrics() const override { return metrics_; }
  // Throws Error where the step was not evaluated.
  Evaluation Evaluate() override;
  void SetGradientHook(GradientHook) override {}
  BackendReport Report() const override { return report_; }
  std::string CannotSave() const override { return ""; }
  void Save(SectionWriter& out) const override;
  void Load(const SectionFile& in) override;

  std::span<const Unit> Layers() const override { return layers_; }
  std::span<const Unit> Units() const override { return units_; }
  std::span<const OperationCost> Costs() const override { return costs_; }

 private:
  Bytes ReadRecord();

  const std::filesystem::path path_;
  const std::span<const Metric> metrics_;
  const std::function<void()> wait_;
  int file_ = -1;
  uint64_t offset_ = 0;  // of the next record
  std::vector<Unit> layers_;
  std::vector<Unit> units_;
  std::vector<OperationCost> costs_;
  BackendReport report_;
  JournalStep step_;
};

}  // namespace legacy
