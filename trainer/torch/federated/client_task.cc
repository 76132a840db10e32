#include "trainer/torch/federated/client_task.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "trainer/torch/federated/client_states.h"

namespace legacy {
namespace {

// Adds the bytes of messages to the bytes that a task sends.
void AddBytes(const EncodedUpdate& encoded, FederatedResult& result) {
  result.unit_bytes.resize(encoded.messages.size());
  for (size_t u = 0; u < encoded.messages.size(); ++u) {
    result.unit_bytes[u] += encoded.messages[u].size();
  }
  result.up_bytes += encoded.bytes();
}

// Encodes the second vector of an algorithm (SCAFFOLD), which replaces the update in `moved`.
EncodedUpdate EncodeControl(const Uplink& uplink, const ModelVersion& base,
                            const FederatedResult& result, const UplinkKey& draws,
                            std::span<float> moved) {
  const double moves = static_cast<double>(result.local_steps) * result.rate;
  const auto scale = static_cast<float>(moves > 0 ? 1 / moves : 0);
  for (size_t i = 0; i < moved.size(); ++i) {
    moved[i] = moves > 0 ? -base.downlink[i] - scale * moved[i] : 0;
  }
  return uplink.Encode(moved, base.parameters, {}, draws);
}

}  // namespace

void RunTask(const TaskContext& context, LiveTask& task, LocalTrainer& trainer) {
  const FederatedOptions& options = context.options;
  const FederatedKey& key = task.key;
  const ModelVersion& base = *task.base;
  const std::vector<int64_t> own = context.partition.SamplesOf(key.client);
  LocalTask local = LocalTaskOf(options, key, own);
  local.base = base.weights;
  local.buffers = base.buffers;
  local.downlink = base.downlink;
  local.rate = LocalRatesOf(options, context.partition.SizeOf(key.client),
                            context.partition.Holders(), key.version, task.first_step);
  std::vector<float> state;
  if (context.traits.client.HasState()) {
    state = context.states.Control(key.client, base.weights.size());
    local.state = state;
  }
  std::optional<std::vector<float>> statistics;
  if (options.batch_norm == BatchNormRule::kLocal) {
    statistics = context.states.Statistics(key.client);
    if (statistics) local.buffers = *statistics;
  }
  const bool keeps_optimizer = KeepsOptimizer(options, context.traits);
  std::optional<NumberedState> optimizer;
  if (keeps_optimizer) optimizer = context.states.Optimizer(key.client);
  if (optimizer) {
    local.first_step = optimizer->number();
    local.optimizer = optimizer->state();
  }
  LocalResult trained = trainer.Train(local);
  task.result = {.local_steps = trained.local_steps,
                 .samples = trained.samples,
                 .loss = trained.loss,
                 .squared_loss = trained.squared_loss,
                 .rate = MeanRate(local, trained.local_steps),
                 .finite = trained.finite};
  if (!trained.finite) return;
  task.buffers = std::move(trained.buffers);
  if (keeps_optimizer) {
    task.optimizer = Numbered(local.first_step + trained.local_steps, trained.optimizer);
  }
  const UplinkKey draws = {
      .seed = options.local.seed, .version = key.Draws(), .client = key.client};
  std::optional<NumberedState> kept;
  if (context.uplink.Keeps(base.parameters)) kept = context.states.Residual(key.client);
  const bool old =
      kept && options.residual_age > 0 && key.version - kept->number() > options.residual_age;
  task.update = context.uplink.Encode(trained.update, base.parameters,
                                      kept && !old ? kept->state() : ByteSpan(), draws);
  AddBytes(task.update, task.result);
  if (context.traits.up_vectors == 2) {
    EncodedUpdate control = EncodeControl(context.uplink, base, task.result, draws, trained.update);
    AddBytes(control, task.result);
    task.control = std::move(control.messages);
  }
  if (options.batch_norm == BatchNormRule::kAverage) {
    task.result.up_bytes += std::ssize(task.buffers) * int64_t{sizeof(float)};
  }
  task.result.up_bytes = MaskedBytes(options, task.result.up_bytes);
}

}  // namespace legacy
