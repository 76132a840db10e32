// Models are LibTorch modules.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/state.h"
#include "compress/unit.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/data/model_catalog.h"
#include "trainer/data/task_catalog.h"
#include "trainer/torch/data/batch.h"

namespace legacy {

// A ModelState is what a recurrent model carries over from one window of tokens to the next; empty
// where it starts again.
using ModelState = std::vector<torch::Tensor>;

// InitialValues are drawn from a distribution of mean 0.
struct InitialValues {
  enum class Kind : uint8_t { kNormal, kUniform };

  Kind kind = Kind::kNormal;
  double scale = 0;  // standard deviation, or bound
};

// A Model turns the inputs of a batch into logits.
class Model : public torch::nn::Module {
 public:
  // Returns logits: [n, classes] of images [n, c, h, w], [n, length, classes] of tokens
  // [n, length], [n] of pairs [n, 2].
  virtual torch::Tensor Forward(const torch::Tensor& inputs) = 0;
  // Returns the same, continuing from `state`, which becomes that after the inputs.
  virtual torch::Tensor Continue(const torch::Tensor& inputs, ModelState&) {
    return Forward(inputs);
  }
  // Returns the cross entropy of each target, flat, from what Forward returned. A model that has no
  // logits, as with an adaptive softmax, has its own.
  virtual torch::Tensor TargetLosses(const torch::Tensor& outputs, const torch::Tensor& targets,
                                     double smoothing);
  // True where TargetLosses has parameters, so that its costs are the model's.
  virtual bool HasOwnLoss() const { return false; }
  // Returns how a parameter starts. Nothing: as MakeModel draws weights.
  virtual std::optional<InitialValues> Initial(const std::string&, const torch::Tensor&) const {
    return std::nullopt;
  }
  // Returns true where passes of a training draw numbers.
  virtual bool Draws() const { return false; }

  // Sets the key of what the next pass draws.
  void SetDraws(const RandomKey& key) { draws_ = key; }

  // Returns the gradient of a loss, of each parameter. One that takes no part in this pass, as with
  // layers that are left out at random, has zeros. `used`, where it is not null, says which do.
  virtual std::vector<torch::Tensor> Gradient(const torch::Tensor& loss,
                                              std::vector<bool>* used = nullptr);

  // Returns a model with the same weights for one part of an evaluation, whose passes leave no
  // trace on this one. Null: passes of an evaluation leave none anyway, and draw nothing.
  virtual std::shared_ptr<Model> ForEvaluation() const { return nullptr; }

  // Append and restore what passes of a training change besides the weights: the buffers, such as
  // the statistics of batch norm. LoadState writes where the buffers lie, and throws Error on those
  // of another model.
  virtual void SaveState(StateWriter& out) const;
  virtual void LoadState(StateReader& in);

 protected:
  // Returns normal values for tensors of at least two dimensions, and nothing for vectors.
  static std::optional<InitialValues> NormalMatrices(const torch::Tensor& value, double deviation);

  // Sets a drawn part of the values to zero, and scales the others, in training mode.
  torch::Tensor Dropout(const torch::Tensor& x, double part);
  // Returns the key of the next draws of this pass.
  RandomKey NextDraws();

 private:
  RandomKey draws_;
};

// A ModelRequest says which model to make.
struct ModelRequest {
  // Name of the catalogue (model_catalog.h), with its options, or a file (script_model.h).
  std::string name = "small-cnn";
  int channels = 1;
  int height = 28;
  int width = 28;
  int classes = 10;   // classes of images, or words of the vocabulary
  uint64_t seed = 1;  // seed of the weights, which are the same bits on every machine
  WeightRule init = WeightRule::kModel;
  TaskKind task = TaskKind::kClassification;  // says which of the numbers count
  int length = 0;                             // tokens of a window
  int users = 0;
  int items = 0;
  // Tokens of the text, from which costs that depend on them are observed; null: all in turn.
  std::shared_ptr<const std::vector<int64_t>> tokens = nullptr;
};

// A target of this value is left out of losses (LibTorch's default).
inline constexpr int64_t kIgnored = -100;

// Returns inputs [samples, ...] as the model takes them, and their targets: black images, the
// request's tokens, and pairs that go through all numbers.
Batch ExampleBatch(const ModelRequest& request, int64_t samples);

// Makes a model. Throws Error on unknown names, on inputs that the model does not take, on files
// that hold no model that can be trained, and on kTorch for files and for models that say
// themselves how they start.
std::shared_ptr<Model> MakeModel(const ModelRequest& request);

// Makes another instance whose parameters alias `model`'s storage and whose buffers (batch-norm
// statistics) are its own.
std::shared_ptr<Model> ShareParameters(const Model& model, const ModelRequest& request);

// Returns the costs of the model's operations, observed on an instance made for it
// (observed_costs.h). Every parameter appears exactly once.
std::vector<OperationCost> CostsOf(const ModelRequest& request);

// Returns one unit per parameter tensor, in parameters() order, named as named_parameters() does.
// Of a request, no weights are drawn.
std::vector<Unit> LayersOf(const Model& model);
std::vector<Unit> LayersOf(const ModelRequest& request);

}  // namespace legacy
