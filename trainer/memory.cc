#include "trainer/memory.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/programs/free_memory.h"

namespace legacy {
namespace {

constexpr double kFloat = sizeof(float);

// Returns the bytes per element that a worker keeps after a step.
double KeptPerElement(const Scheme& scheme, const Unit& like, double parameter) {
  constexpr int64_t kRows = 64;
  constexpr int64_t kColumns = 64;
  Unit unit = like;
  unit.id = 0;
  unit.offset = 0;
  unit.numel = kRows * kColumns;
  unit.shape = like.shape.size() > 1 ? std::vector<int64_t>{kRows, kColumns}
                                     : std::vector<int64_t>{unit.numel};
  const std::unique_ptr<Exchange> exchange = scheme.Open(unit, 1);
  const int64_t step = scheme.Traits().dense_steps;  // the first that compresses
  exchange->Begin({.info = {.step = step, .total_steps = step + 1}, .parameter = parameter});
  std::vector<float> gradient(static_cast<size_t>(unit.numel));
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = static_cast<float>(i % 7) - 3;
  }
  std::span<const float> given = gradient;  // empty from the second call on
  while (exchange->NextCall()) {
    const Message message = exchange->Encode(0, std::exchange(given, {}));
    exchange->Accumulate(0, message.bytes);
    exchange->FinishCall();
  }
  size_t bytes = 0;
  StateWriter count([&](ByteSpan part) { bytes += part.size(); });
  exchange->SaveWorker(0, count);
  count.Flush();
  // A few words are only counts.
  constexpr size_t kWords = 256;
  return bytes < kWords ? 0 : static_cast<double>(bytes) / static_cast<double>(unit.numel);
}

}  // namespace

double OptimizerFloats(const TrainingOptions& options) {
  switch (options.optimizer.kind) {
    case OptimizerKind::kSgd:
      return options.sgd.momentum > 0 ? 1 : 0;
    case OptimizerKind::kLamb:
      return 3;
    case OptimizerKind::kSign:
      return 0;
    default:
      return 2;
  }
}

double BytesKept(std::span<const Unit> units, const Scheme& scheme, double parameter) {
  double bytes = 0;
  std::optional<double> of_matrices, of_vectors;
  for (const Unit& unit : units) {
    std::optional<double>& kept = unit.shape.size() > 1 ? of_matrices : of_vectors;
    if (!kept) kept = KeptPerElement(scheme, unit, parameter);
    bytes += static_cast<double>(unit.numel) * *kept;
  }
  return bytes;
}

std::string TrainingMemory::Text(int workers) const {
  std::string text = MemoryText(Total()) + ":";
  const auto add = [&](const std::string& what, double bytes) {
    if (bytes < 0.01 * Total()) return;
    text += (text.back() == ':' ? " " : ", ") + what + " " + MemoryText(bytes);
  };
  add("residuals of " + std::to_string(workers) + " workers", residuals);
  add("models and optimizers", models);
  add("messages", messages);
  add("gradients", gradients);
  add("activations", activations);
  return text;
}

TrainingMemory EstimateMemory(const TrainingOptions& options, std::span<const Unit> units,
                              std::span<const OperationCost> costs, const Scheme& scheme,
                              double parameter) {
  const double workers = options.workers;
  const double threads = std::min(options.threads, options.workers);
  double elements = 0;
  TrainingMemory memory;
  memory.residuals = workers * BytesKept(units, scheme, parameter);
  for (const Unit& unit : units) {
    const auto numel = static_cast<double>(unit.numel);
    elements += numel;
    const auto bytes = scheme.MessageBytes(unit, parameter);
    memory.messages += workers * (bytes ? static_cast<double>(*bytes) : kFloat * numel);
  }
  const double models = options.Local() ? workers : 1;
  // The mean, and the sums of the exchanges; with local models the weights agreed on and
  // the outer optimizer's state, too.
  const double shared = (options.Local() ? 3 : 2) + (options.outer ? 1 : 0);
  const double masters = HasSixteenBits(options.precision) ? 1 : 0;
  memory.models = elements * kFloat * (models * (1 + masters + OptimizerFloats(options)) + shared);
  // In fp16 what exchanges keep is copied, because a step that overflows changes none of it.
  if (options.precision == Precision::kFp16) memory.residuals *= 2;
  // A worker's flat gradient, and LibTorch's own of each layer.
  memory.gradients = elements * kFloat * threads * 2;
  // Of the tensors that an operation reads and writes, its result is kept for the backward pass. An
  // evaluation keeps none, but LibTorch copies what convolutions read and write to the processor's
  // order, and residual blocks keep what they add.
  constexpr double kOfLargest = 1.5;
  double written = 0, largest = 0;
  for (const OperationCost& cost : costs) {
    written += cost.forward_bytes / 2;
    largest = std::max(largest, cost.forward_bytes);
  }
  memory.activations =
      threads * std::max(written * static_cast<double>(options.batch_size),
                         kOfLargest * largest * static_cast<double>(options.evaluation_batch));
  return memory;
}

}  // namespace legacy
