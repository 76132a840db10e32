// Where the rows of timed trainings go.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "analysis/run_directory.h"
#include "scenarios/run/scenario_timing.h"
#include "scenarios/run/tensorboard.h"
#include "trainer/clock/record.h"

namespace legacy {

// A RunSink receives the rows of timed trainings: a run directory, or memory. This one drops them.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void Write(const analysis::StepRow& /*row*/) {}
  virtual void Write(const analysis::EvaluationRow& /*row*/) {}
  virtual void Write(const analysis::LayerRow& /*row*/) {}
  virtual void Write(const analysis::DecisionRow& /*row*/) {}
  virtual void Write(const analysis::LinkRow& /*row*/) {}
  virtual void Write(const analysis::NetworkRow& /*row*/) {}
  // Rows that only runs of shapes have, before all others.
  virtual void Write(const analysis::MemoryRow& /*row*/) {}
  // Rows that only federated runs have.
  virtual void Write(const analysis::RoundRow& /*row*/) {}
  virtual void Write(const analysis::ClientRow& /*row*/) {}
  virtual void Write(const analysis::TaskRow& /*row*/) {}
  // Returns whether it wants rows of tasks, of which there are many.
  virtual bool TakesTasks() const { return false; }
  // Returns the listener of every step; null: none.
  virtual StepListener* Listener() { return nullptr; }
  // Returns the files that grow from row to row.
  virtual std::vector<std::filesystem::path> Files() const { return {}; }
};

// RunRows are the rows that a run has: those of every run alone, those of federated clients as
// well, or also a row for each of their tasks.
enum class RunRows { kOfAllRuns, kOfClients, kOfTasks };

// A DirectorySink writes a run directory, with one writer for each file.
class DirectorySink : public RunSink {
 public:
  // `manifest` is the one in the directory. `goes_on`: rows are appended to the files that are
  // there.
  DirectorySink(const std::filesystem::path& directory, const analysis::Manifest& manifest,
                RunRows rows, bool goes_on);
  // The sink of steps on that timing's network, with its listener, and with files for TensorBoard
  // where the scenario asks for them.
  DirectorySink(const ScenarioTiming& timing, const std::filesystem::path& directory,
                const analysis::Manifest& manifest, bool goes_on = false);
  void Write(const analysis::StepRow& row) override {
    steps_.Write(row);
    if (tensorboard_) tensorboard_->Write(row);
  }
  void Write(const analysis::EvaluationRow& row) override {
    evaluations_.Write(row);
    if (tensorboard_) tensorboard_->Write(row);
  }
  void Write(const analysis::LayerRow& row) override { layers_.Write(row); }
  void Write(const analysis::DecisionRow& row) override { decisions_.Write(row); }
  void Write(const analysis::LinkRow& row) override { links_.Write(row); }
  void Write(const analysis::NetworkRow& row) override { network_.Write(row); }
  void Write(const analysis::MemoryRow& row) override {
    if (!memory_) memory_.emplace(directory_);
    memory_->Write(row);
  }
  void Write(const analysis::RoundRow& row) override { rounds_->Write(row); }
  void Write(const analysis::ClientRow& row) override { clients_->Write(row); }
  void Write(const analysis::TaskRow& row) override { tasks_->Write(row); }
  bool TakesTasks() const override { return tasks_.has_value(); }
  StepListener* Listener() override { return listener_ ? &*listener_ : nullptr; }
  std::vector<std::filesystem::path> Files() const override;
  // Returns every file of a run directory that may grow, the run's record among them.
  static std::vector<std::filesystem::path> GrowingFiles(const std::filesystem::path& directory,
                                                         const analysis::Manifest& manifest);

 private:
  const std::filesystem::path directory_;
  analysis::StepWriter steps_;
  analysis::EvaluationWriter evaluations_;
  analysis::LayerWriter layers_;
  analysis::DecisionWriter decisions_;
  analysis::LinkWriter links_;
  analysis::NetworkWriter network_;
  std::optional<analysis::MemoryWriter> memory_;
  std::optional<analysis::RoundWriter> rounds_;
  std::optional<analysis::ClientWriter> clients_;
  std::optional<analysis::TaskWriter> tasks_;
  std::optional<TensorBoard> tensorboard_;
  std::optional<StepListener> listener_;
};

// A MemorySink collects the rows that ReadRunDirectory would read.
class MemorySink : public RunSink {
 public:
  explicit MemorySink(analysis::RunDirectory& run) : run_(run) {}
  using RunSink::Write;
  void Write(const analysis::StepRow& row) override { run_.steps.push_back(row); }
  void Write(const analysis::EvaluationRow& row) override { run_.evaluations.push_back(row); }
  void Write(const analysis::LayerRow& row) override { run_.layers.push_back(row); }
  void Write(const analysis::DecisionRow& row) override { run_.decisions.push_back(row); }
  void Write(const analysis::LinkRow& row) override { run_.links.push_back(row); }
  void Write(const analysis::NetworkRow& row) override { run_.network.push_back(row); }
  void Write(const analysis::RoundRow& row) override { run_.rounds.push_back(row); }
  void Write(const analysis::ClientRow& row) override { run_.clients.push_back(row); }

 private:
  analysis::RunDirectory& run_;
};

}  // namespace legacy
