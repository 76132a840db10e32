#include "trainer/torch/models/script_code.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace legacy {
namespace {

bool HasAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return text.find(word) != text.npos; });
}

// True if an argument says that the operation draws random numbers: a generator, or a dropout other
// than 0.
bool DrawsByArguments(const torch::jit::Node& node) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr) return false;
  const auto& arguments = schema->arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (HasAny(arguments[i].type()->str(), {"Generator"})) return true;
    if (!HasAny(arguments[i].name(), {"dropout"})) continue;
    const auto constant = torch::jit::toIValue(node.input(i));
    if (!constant || !constant->isDouble() || constant->toDouble() != 0) return true;
  }
  return false;
}

bool Draws(const torch::jit::Node& node) {
  const std::string_view space = node.kind().ns().toUnqualString();
  if (space != "aten" && space != "prim") return true;
  const std::string_view name = node.kind().toUnqualString();
  if (space == "prim") return HasAny(name, {"Call", "fork", "PythonOp"});
  return HasAny(name, {"dropout", "rand", "bernoulli", "binomial", "multinomial", "poisson",
                       "normal_", "uniform_", "exponential", "geometric", "cauchy", "gamma",
                       "dirichlet", "rrelu"}) ||
         DrawsByArguments(node);
}

void Add(const torch::jit::Block& block, ScriptEffects& effects) {
  for (const torch::jit::Node* node : block.nodes()) {
    effects.draws |= Draws(*node);
    effects.threads |= HasAny(node->kind().toUnqualString(), {"fork"});
    for (const torch::jit::Block* inner : node->blocks()) Add(*inner, effects);
  }
}

}  // namespace

ScriptEffects EffectsOf(const torch::jit::Module& module) {
  const auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  ScriptEffects effects;
  Add(*graph->block(), effects);
  return effects;
}

}  // namespace legacy
