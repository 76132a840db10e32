#include "trainer/models/script_model.h"

#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

// Returns the first line of LibTorch's message that says something; a stack trace follows it.
std::string FirstLine(const std::exception& error) {
  std::string text = error.what();
  if (const auto* known = dynamic_cast<const c10::Error*>(&error)) {
    text = known->what_without_backtrace();
  }
  // An error inside a script ends with its own line; before it stand the places in the script.
  const size_t last = text.rfind("RuntimeError: ");
  if (last != std::string::npos) text = text.substr(last + std::string("RuntimeError: ").size());
  return text.substr(0, text.find('\n'));
}

bool DrawsNumbers(const torch::jit::Block& block) {
  constexpr std::string_view kDrawing[] = {"dropout", "bernoulli", "rand",
                                           "normal_", "uniform_",  "multinomial"};
  for (const torch::jit::Node* node : block.nodes()) {
    const std::string_view name = node->kind().toUnqualString();
    if (std::ranges::any_of(kDrawing, [&](std::string_view word) {
          return name.find(word) != std::string_view::npos;
        })) {
      return true;
    }
    if (std::ranges::any_of(node->blocks(),
                            [](const auto* inner) { return DrawsNumbers(*inner); })) {
      return true;
    }
  }
  return false;
}

class ScriptModel : public Model {
 public:
  ScriptModel(torch::jit::Module module, const std::string& file) : module_(std::move(module)) {
    for (const auto& parameter : module_.named_parameters()) {
      if (!parameter.value.requires_grad()) continue;
      if (parameter.value.scalar_type() != torch::kFloat32) {
        throw Error("model " + file + ": parameter " + parameter.name,
                    c10::toString(parameter.value.scalar_type()), "Float");
      }
      Register(*this, parameter.name, [&](torch::nn::Module& owner, const std::string& name) {
        owner.register_parameter(name, parameter.value);
      });
    }
    for (const auto& buffer : module_.named_buffers()) {
      Register(*this, buffer.name, [&](torch::nn::Module& owner, const std::string& name) {
        owner.register_buffer(name, buffer.value);
      });
    }
    const auto graph = module_.get_method("forward").graph()->copy();
    torch::jit::Inline(*graph);
    draws_numbers_ = DrawsNumbers(*graph->block());
  }

  bool Draws() const override { return draws_numbers_; }

  void train(bool on) override {
    torch::nn::Module::train(on);
    module_.train(on);
  }

  torch::Tensor Forward(const torch::Tensor& inputs) override {
    if (!draws_numbers_ || !is_training()) return Run(inputs);
    // Modules draw from the only generator that there is.
    static std::mutex generator;
    const std::lock_guard lock(generator);
    RandomStream random(draws());
    std::array<uint32_t, 2> seed = {};
    random.Fill(seed);
    torch::manual_seed(uint64_t{seed[0]} << 32 | seed[1]);
    return Run(inputs);
  }

 private:
  // Parameters and buffers are those of the script; modules below this one carry their names.
  class Part : public torch::nn::Module {};

  template <class Add>
  static void Register(torch::nn::Module& owner, const std::string& name, const Add& add) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return add(owner, name);
    const std::string first = name.substr(0, dot);
    const auto children = owner.named_children();
    const auto* const known = children.find(first);
    const auto part =
        known != nullptr ? *known : owner.register_module(first, std::make_shared<Part>());
    Register(*part, name.substr(dot + 1), add);
  }

  torch::Tensor Run(const torch::Tensor& inputs) {
    // Otherwise the executor watches the first passes, and computes later ones in another way. This
    // is a setting of the thread.
    torch::jit::setGraphExecutorOptimize(false);
    const torch::jit::IValue result = module_.forward({inputs});
    if (!result.isTensor()) {
      throw Error("model: forward's result", result.tagKind(), "one tensor, the logits");
    }
    return result.toTensor();
  }

  torch::jit::Module module_;
  bool draws_numbers_ = false;
};

}  // namespace

std::shared_ptr<Model> LoadScriptModel(const ModelRequest& request) {
  const std::string& file = request.name;
  if (!std::filesystem::is_regular_file(file)) {
    throw Error("model", file, "a TorchScript file that is there");
  }
  try {
    return std::make_shared<ScriptModel>(torch::jit::load(file), file);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(
        "model " + file, FirstLine(error),
        "a TorchScript module with a forward, as torch.jit.script(model).save(FILE) writes");
  }
}

void CheckTrainable(Model& model, const ModelRequest& request) {
  const std::string where = "model " + request.name;
  if (model.parameters().empty()) {
    throw Error(where, "no parameters that need a gradient", "at least one");
  }
  constexpr int64_t kSamples = 2;
  const Batch batch = ExampleBatch(request, kSamples);
  std::vector<int64_t> wanted = {kSamples, request.classes};
  if (request.task == TaskKind::kRecommendation) wanted = {kSamples};
  if (request.length > 0) wanted = {kSamples, request.length, request.classes};
  const auto sizes = [](torch::IntArrayRef shape) {
    std::string text;
    for (const int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
    return "[" + text + "]";
  };
  const torch::AutoGradMode with_graph(true);
  torch::Tensor logits;
  try {
    logits = model.Forward(batch.inputs);
  } catch (const Error& error) {
    throw Error(where + ": " + error.what());
  } catch (const std::exception& error) {
    throw Error(where + ": forward of " + std::string(c10::toString(batch.inputs.scalar_type())) +
                    " " + sizes(batch.inputs.sizes()),
                FirstLine(error), "logits " + sizes(wanted));
  }
  if (logits.sizes() != torch::IntArrayRef(wanted)) {
    throw Error(where + ": forward's result", sizes(logits.sizes()), sizes(wanted));
  }
  const auto parameters = model.named_parameters();
  std::vector<torch::Tensor> tensors;
  for (const auto& parameter : parameters) tensors.push_back(parameter.value());
  std::vector<torch::Tensor> gradients(tensors.size());
  if (logits.requires_grad()) {
    gradients = torch::autograd::grad({logits.sum()}, tensors, {}, /*retain_graph=*/false,
                                      /*create_graph=*/false, /*allow_unused=*/true);
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) continue;
    throw Error(where + ": parameter " + parameters[i].key(), "no gradient of the logits",
                "parameters that take part, or requires_grad=False");
  }
}

}  // namespace legacy
