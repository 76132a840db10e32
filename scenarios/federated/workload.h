// A workload says what the tasks of federated learning are: what they move, how long they work, and
// what happens when they end. A plan's tasks are numbers (plan.cc); those of a run train a model
// (learner.h), or were recorded.
#pragma once

#include <cstdint>
#include <optional>

#include "ns3-module/fabric/tasks/server.h"

namespace legacy {

// TaskFigures are what tables show of a task besides its bytes.
struct TaskFigures {
  int64_t local_steps = 0;
  int64_t samples = 0;
};

// A TaskLoss is what local training reports of the losses of a task's samples.
struct TaskLoss {
  double mean = 0;
  double squares = 0;  // mean of their squares, where the selection reads it
};

// A Workload is asked in the order of the simulation.
class Workload {
 public:
  virtual ~Workload() = default;
  // Begins a task, and says what it is.
  virtual fabric::TaskWork WorkOf(const fabric::TaskStart& start) = 0;
  // Returns the upload of a task whose WorkOf left it open.
  virtual int64_t UpBytesOf(uint64_t /*task*/) { return 0; }
  // Returns what a task of the client is about, for predictions of its time.
  virtual fabric::TaskWork Expected(int client) = 0;
  // Returns what clients weigh in selections by samples; nothing: what the population says.
  virtual std::optional<int64_t> SamplesOf(int /*client*/) { return std::nullopt; }
  // Is told of the end of a task. Returns its losses, where it counts and was trained.
  virtual std::optional<TaskLoss> Ended(const fabric::TaskRow& /*row*/) { return std::nullopt; }
  // Is told of the end of a round, after those of its tasks and before the next task starts.
  virtual void Round(const fabric::RoundRow& /*row*/) {}
  // Returns figures of a task, before its end.
  virtual TaskFigures FiguresOf(const fabric::TaskRow& /*row*/) { return {}; }
};

}  // namespace legacy
