// The catalogue of models: names, sources and options, for readers of scenarios that do not need
// LibTorch. model.h makes them. A model is written as "resnet18" or "resnet18:width=16".
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "compress/options.h"
#include "trainer/data/task_catalog.h"

namespace legacy {

// A WeightRule says how weights start.
enum class WeightRule : uint8_t {
  kModel,  // as MakeModel draws them
  // As PyTorch's layers do: weights and biases uniform within 1 / sqrt(fan-in), scales 1.
  kTorch,
};

// A ModelRow is a built-in model, and what it takes.
struct ModelRow {
  enum class Input : uint8_t { kImages, kTokens, kPairs };

  Input input = Input::kImages;
  MethodInfo info;
};

// Returns all built-in models.
std::span<const ModelRow> ModelCatalog();

// Throws Error naming `key` where the model does not take what the task gives.
void CheckTakes(const ModelRow& row, TaskKind task, const std::string& key = "model");

// True where the text of a model names a TorchScript file (script_model.h).
bool IsModelFile(const std::string& text);

// Throws Error naming `key` where the task has no such model, or where there is no such file.
void CheckModel(const std::string& text, TaskKind task, const std::string& key = "model");

// Reads the text of a model. Throws Error naming `key` on unknown models, and on unknown options.
Stage ParseModel(const std::string& text, const std::string& key = "model");

// Returns the row of a model. Throws Error naming `key` where there is none.
const ModelRow& FindModel(const std::string& name, const std::string& key = "model");

// Returns the catalogue as text, a paragraph for each model.
std::string ModelList();

}  // namespace legacy
