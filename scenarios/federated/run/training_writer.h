// A training writer turns what a simulated training tells into the rows of its run directory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/run_sink.h"

namespace legacy {

// A Resumption is where a training continues: rows up to this version are written.
struct Resumption {
  int64_t version = 0;
  TimeNs end = 0;  // of that version

  template <class Archive>
  friend void Fields(Archive& archive, Resumption& r) {
    archive(r.version, r.end);
  }
};

// A TrainingWriter writes the rows of one method and seed as its rounds end. What it is given
// outlives it.
class TrainingWriter {
 public:
  // `progress` may be null.
  TrainingWriter(const Scenario& scenario, const PlanRequest& request, const std::string& name,
                 uint64_t seed, Learner& learner, int64_t parameters, RunSink& sink,
                 Progress* progress, Resumption from);

  // Writes a round and the tasks that ended in it, and evaluates the version where that is due.
  // Returns true for a version, false for a round without one and for what is written already.
  bool Write(const PlannedRound& round, std::span<const EndedTask> tasks);
  // Writes tasks that ended after the last round.
  void Write(std::span<const EndedTask> tasks);
  // Returns the last version.
  Resumption Reached() const { return {version_, last_end_}; }
  // Writes what is known at the end.
  void Finish(const Plan& plan, const std::string& fidelity);

 private:
  template <class Row>
  Row Named(Row row) const {
    row.policy = name_;
    row.seed = seed_;
    return row;
  }

  static void AddFacts(const VersionFacts& facts, analysis::RoundRow& row);

  // True while rows are of what was written before the run was interrupted.
  bool Written() const { return version_ < from_.version; }

  // Returns what a client's NIC carries of a dense version: the model down and up, or its part in a
  // ring.
  static double DenseBytes(const PlanRequest& request, int64_t parameters);

  // Writes the row of a version, or, where it is written, counts it alone. With a server its parts
  // are those of the task whose arrival made it, and what is left of the round is waiting; without
  // one they are means over the clients.
  void WriteStep(const PlannedRound& planned, bool written);

  void Evaluate();

  const Scenario& scenario_;
  const PlanRequest& request_;
  const std::string& name_;
  uint64_t seed_;
  Learner& learner_;
  double dense_bytes_;
  RunSink& sink_;
  Progress* progress_;  // null: none is shown
  ProgressState state_;
  TimeNs last_end_ = 0;
  double message_bytes_ = 0;
  double nic_bytes_ = 0;
  int64_t evaluated_ = -1;
  int64_t tasks_ = 0;
  int64_t version_ = 0;
  Resumption from_;
};

}  // namespace legacy
