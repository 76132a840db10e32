// A task of a client: what it starts from, and what it leaves. Running it changes nothing else, so
// that tasks run on any thread, in any order, and those that are left out leave no trace.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "compress/message.h"
#include "trainer/federated/partition.h"
#include "trainer/federated/uplink.h"
#include "trainer/torch/federated/federated_settings.h"
#include "trainer/torch/federated/local_training.h"
#include "trainer/torch/federated/model_version.h"

namespace legacy {

class ClientStates;

// A FederatedResult is what is known of a finished task.
struct FederatedResult {
  int64_t local_steps = 0;
  int64_t samples = 0;
  double loss = 0;
  double squared_loss = 0;
  double rate = 0;  // mean over its steps
  bool finite = true;
  std::vector<int64_t> unit_bytes = {};  // of the messages of each unit
  int64_t up_bytes = 0;                  // of all messages, and of statistics of batch norm
};

// A LiveTask is a task from Start to Update.
struct LiveTask {
  enum class Stage : uint8_t { kWaiting, kRunning, kDone };

  FederatedKey key;
  std::shared_ptr<const ModelVersion> base;
  Stage stage = Stage::kWaiting;
  FederatedResult result;
  EncodedUpdate update;
  std::vector<Message> control;  // second vector, where two go up
  std::vector<float> buffers;
  Bytes optimizer;         // empty: the client keeps none
  int64_t first_step = 0;  // local steps of the client's counted tasks before it
  std::exception_ptr failure;
  int times = 1;
};

// A TaskContext is what tasks read of their training.
struct TaskContext {
  const FederatedOptions& options;
  const Partition& partition;
  const ClientStates& states;
  const AggregatorTraits& traits;
  const Uplink& uplink;
};

// Trains a task, and encodes its update.
void RunTask(const TaskContext& context, LiveTask& task, LocalTrainer& trainer);

}  // namespace legacy
