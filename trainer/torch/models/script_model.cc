#include "trainer/torch/models/script_model.h"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "trainer/torch/models/script_code.h"
#include "trainer/torch/models/script_file.h"
#include "trainer/torch/models/script_slots.h"
#include "trainer/torch/models/script_state.h"

namespace legacy {
namespace {

std::string SizesOf(torch::IntArrayRef shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return "[" + text + "]";
}

// Returns the shape of the logits of these inputs.
std::vector<int64_t> LogitsOf(const ModelRequest& request, const torch::Tensor& inputs) {
  if (request.task == TaskKind::kRecommendation) return {inputs.size(0)};
  if (request.length > 0) return {inputs.size(0), inputs.size(1), request.classes};
  return {inputs.size(0), request.classes};
}

class ScriptModel : public Model {
 public:
  ScriptModel(torch::jit::Module module, ModelRequest request)
      : request_(std::move(request)),
        module_(std::move(module)),
        slots_(SlotsOf(module_)),
        draws_numbers_(CheckedEffects().draws) {
    for (const ScriptSlot& slot : slots_) CheckParameter(slot);
    SeparateTensors(request_.name, slots_);
    for (const ScriptSlot& slot : slots_) Register(slot);
  }

  // Makes a copy for an evaluation, which has neither parameters nor buffers by name.
  ScriptModel(const ScriptModel& of, torch::jit::Module module)
      : request_(of.request_), module_(std::move(module)), draws_numbers_(of.draws_numbers_) {}

  bool Draws() const override { return draws_numbers_; }

  void train(bool on) override {
    torch::nn::Module::train(on);
    module_.train(on);
  }

  torch::Tensor Forward(const torch::Tensor& inputs) override {
    if (!draws_numbers_) return Run(inputs);
    // Modules draw from the only generator that there is.
    static std::mutex generator;
    const std::lock_guard lock(generator);
    RandomStream random(NextDraws());
    std::array<uint32_t, 2> seed = {};
    random.Fill(seed);
    torch::manual_seed(uint64_t{seed[0]} << 32 | seed[1]);
    return Run(inputs);
  }

  std::vector<torch::Tensor> Gradient(const torch::Tensor& loss, std::vector<bool>* used) override {
    std::vector<torch::Tensor> gradient;
    try {
      gradient = Model::Gradient(loss, used);
    } catch (const std::exception& error) {
      throw Error(Where() + ": backward pass", ScriptMessage(error), "gradients of the logits");
    }
    FollowBuffers();
    return gradient;
  }

  std::shared_ptr<Model> ForEvaluation() const override {
    Copies copies;
    const c10::IValue module = CopyValue(module_._ivalue(), known_, copies);
    auto copy = std::make_shared<ScriptModel>(*this, torch::jit::Module(module.toObject()));
    copy->train(is_training());
    return copy;
  }

  void SaveState(StateWriter& out) const override {
    for (const ScriptSlot& slot : slots_) {
      if (slot.kind != ScriptSlot::Kind::kParameter) WriteValue(slot.value(), known_, out);
    }
  }

  void LoadState(StateReader& in) override {
    for (const ScriptSlot& slot : slots_) {
      if (slot.kind == ScriptSlot::Kind::kParameter) continue;
      slot.owner->setSlot(slot.index, ReadValue(slot.value(), slot.type(), in));
    }
    FollowBuffers();
  }

 private:
  // Parameters and buffers are those of the script; modules below this one carry their names.
  class Part : public torch::nn::Module {};

  std::string Where() const { return "model " + request_.name; }

  ScriptEffects CheckedEffects() const {
    const ScriptEffects effects = EffectsOf(module_);
    if (!effects.threads) return effects;
    throw Error(Where() + ": forward", "torch.jit.fork", "code that runs in one thread");
  }

  void CheckParameter(const ScriptSlot& slot) const {
    if (slot.kind != ScriptSlot::Kind::kParameter) return;
    const torch::Tensor tensor = slot.value().toTensor();
    if (!tensor.requires_grad()) return;
    const bool dense = tensor.layout() == torch::kStrided;
    if (dense && tensor.scalar_type() == torch::kFloat32) return;
    throw Error(Where() + ": parameter " + slot.name,
                dense ? c10::toString(tensor.scalar_type()) : c10::str(tensor.layout()), "Float");
  }

  void Register(const ScriptSlot& slot) {
    if (slot.kind == ScriptSlot::Kind::kOther) return;
    const torch::Tensor tensor = slot.value().toTensor();
    if (slot.kind == ScriptSlot::Kind::kBuffer) {
      OwnerOf(slot).register_buffer(LastName(slot), tensor);
      buffers_.emplace_back(slot, tensor);
      return;
    }
    if (!known_.insert(tensor.unsafeGetTensorImpl()).second) return;  // tied
    all_parameters_.emplace_back(slot.name, tensor);
    // A tensor without elements has nothing to train.
    if (tensor.requires_grad() && tensor.numel() > 0) {
      OwnerOf(slot).register_parameter(LastName(slot), tensor);
    }
  }

  static std::string LastName(const ScriptSlot& slot) {
    return slot.name.substr(slot.name.rfind('.') + 1);
  }

  // Returns the part whose name is that of the slot's module.
  torch::nn::Module& OwnerOf(const ScriptSlot& slot) {
    torch::nn::Module* owner = this;
    size_t begin = 0;
    for (size_t dot; (dot = slot.name.find('.', begin)) != std::string::npos; begin = dot + 1) {
      const std::string name = slot.name.substr(begin, dot - begin);
      const auto children = owner->named_children();
      const auto* const known = children.find(name);
      owner = known != nullptr ? known->get()
                               : owner->register_module(name, std::make_shared<Part>()).get();
    }
    return *owner;
  }

  torch::Tensor Run(const torch::Tensor& inputs) {
    // Otherwise the executor profiles the first passes, and computes later ones differently. This
    // is a setting of the thread.
    torch::jit::setGraphExecutorOptimize(false);
    const std::vector<int64_t> wanted = LogitsOf(request_, inputs);
    std::vector<uint32_t> versions;
    for (const auto& [name, tensor] : all_parameters_) versions.push_back(tensor._version());
    c10::IValue result;
    try {
      result = module_.forward({inputs});
    } catch (const std::exception& error) {
      throw Error(Where() + ": forward of " + c10::toString(inputs.scalar_type()) + " " +
                      SizesOf(inputs.sizes()),
                  ScriptMessage(error),
                  "logits " + SizesOf(wanted) + ", for any number of samples");
    }
    for (size_t i = 0; i < versions.size(); ++i) {
      const auto& [name, tensor] = all_parameters_[i];
      if (tensor._version() == versions[i]) continue;
      throw Error(Where() + ": parameter " + name, "changed by forward",
                  "parameters that training alone changes; buffers may change");
    }
    return Checked(result, wanted);
  }

  torch::Tensor Checked(const c10::IValue& result, const std::vector<int64_t>& wanted) const {
    const std::string where = Where() + ": forward's result";
    if (!result.isTensor() || !result.toTensor().defined()) {
      throw Error(where, result.isNone() ? "None" : result.tagKind(), "one tensor, the logits");
    }
    const torch::Tensor& logits = result.toTensor();
    if (logits.layout() != torch::kStrided) {
      throw Error(where, c10::str(logits.layout()), "a dense tensor of Float");
    }
    if (logits.scalar_type() != torch::kFloat32) {
      throw Error(where, c10::toString(logits.scalar_type()), "Float");
    }
    if (logits.sizes() != torch::IntArrayRef(wanted)) {
      throw Error(where, SizesOf(logits.sizes()), SizesOf(wanted));
    }
    return logits.contiguous();
  }

  // A pass may put other tensors where the buffers were. The named tensors take over their values,
  // because others refer to these. No pass computes with them at this time.
  void FollowBuffers() {
    for (auto& [slot, tensor] : buffers_) {
      const c10::IValue value = slot.value();
      if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().is_same(tensor)) {
        continue;
      }
      tensor.set_data(value.toTensor().detach());
      slot.owner->setSlot(slot.index, tensor);
    }
  }

  ModelRequest request_;
  torch::jit::Module module_;
  std::vector<ScriptSlot> slots_;
  bool draws_numbers_ = false;
  std::vector<std::pair<ScriptSlot, torch::Tensor>> buffers_;
  std::vector<std::pair<std::string, torch::Tensor>> all_parameters_;  // frozen ones, too
  TensorSet known_;                                                    // the same
};

}  // namespace

std::shared_ptr<Model> LoadScriptModel(const ModelRequest& request) {
  const std::string& file = request.name;
  if (!std::filesystem::is_regular_file(file)) {
    throw Error("model", file, "a TorchScript file that is there");
  }
  const auto load = [&] {
    return std::make_shared<ScriptModel>(torch::jit::load(file, torch::kCPU), request);
  };
  CheckScriptFile(file, load);
  return load();
}

void CheckTrainable(Model& model, const ModelRequest& request) {
  const std::string where = "model " + request.name;
  const auto parameters = model.named_parameters();
  if (parameters.is_empty()) {
    throw Error(where, "no parameters that need a gradient", "at least one");
  }
  std::vector<torch::Tensor> before;
  for (const auto& parameter : parameters) before.push_back(parameter.value().detach().clone());
  // Layers that are left out at random take part in evaluations, or in one of many passes.
  constexpr int kMostPasses = 16;
  std::vector<bool> trained(parameters.size());
  const torch::AutoGradMode with_graph(true);
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const bool evaluates = pass == 1;
    model.train(!evaluates);
    model.SetDraws({.step = static_cast<uint64_t>(pass), .purpose = Purpose::kDropout});
    ModelRequest shape = request;
    if (evaluates) shape.length = (request.length + 1) / 2;  // a text may end within a window
    constexpr int64_t kSamples = 2;
    const torch::Tensor logits = model.Forward(ExampleBatch(shape, kSamples + pass % 2).inputs);
    std::vector<bool> used;
    model.Gradient(logits.sum(), &used);
    for (size_t i = 0; i < used.size(); ++i) trained[i] = trained[i] || used[i];
    if (evaluates && !model.Draws()) break;
    if (pass > 0 && std::ranges::find(trained, false) == trained.end()) break;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string parameter = where + ": parameter " + parameters[i].key();
    if (!trained[i]) {
      throw Error(parameter, "no gradient of the logits",
                  "parameters that take part, or requires_grad=False");
    }
    if (!parameters[i].value().equal(before[i])) {
      throw Error(parameter, "changed by forward",
                  "parameters that training alone changes; buffers may change");
    }
  }
}

}  // namespace legacy
