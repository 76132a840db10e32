// What the code of a TorchScript module may do besides computing, found in its graph.
#pragma once

#include <torch/script.h>

namespace legacy {

// ScriptEffects are what a pass may do. What the graph does not show, such as a call through an
// interface, counts as done.
struct ScriptEffects {
  bool draws = false;    // numbers of LibTorch's generator: dropout, torch.rand ...
  bool threads = false;  // torch.jit.fork
};

// Returns the effects of a module's forward and of all that it calls.
ScriptEffects EffectsOf(const torch::jit::Module& module);

}  // namespace legacy
