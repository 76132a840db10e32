// Where a TorchScript module keeps its values, and memory of its own for each of its tensors.
#pragma once

#include <torch/script.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace legacy {

// A ScriptSlot is one attribute of a module or of a module below it.
struct ScriptSlot {
  enum class Kind : uint8_t { kParameter, kBuffer, kOther };

  torch::jit::ObjectPtr owner;
  size_t index = 0;
  std::string name;  // as PyTorch names it: "encoder.weight"
  Kind kind = Kind::kOther;

  c10::IValue value() const { return owner->getSlot(index); }
  c10::TypePtr type() const { return owner->type()->getAttribute(index); }
};

// Returns the attributes of a module and of those below it, except the modules themselves: a
// module's own before those below it, as PyTorch lists parameters. A module that has several names
// has its first one.
std::vector<ScriptSlot> SlotsOf(const torch::jit::Module& module);

// Makes every parameter and buffer contiguous, in memory of its own, wherever the module refers to
// it. The file may have them as views: transposed, in channels_last, expanded, or as slices of one
// storage. Throws Error naming `model` where two tensors share elements, unless both are buffers
// that stay as they are, as updates could not keep them equal.
void SeparateTensors(const std::string& model, const std::vector<ScriptSlot>& slots);

}  // namespace legacy
