#include "trainer/torch/models/script_slots.h"

#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

bool IsModule(const c10::IValue& value) {
  return value.isObject() && value.toObjectRef().type()->is_module();
}

void AddSlots(const torch::jit::ObjectPtr& owner, const std::string& prefix,
              std::set<const void*>& known, std::vector<ScriptSlot>& slots) {
  if (!known.insert(owner.get()).second) return;
  const auto type = owner->type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const c10::IValue value = owner->getSlot(i);
    if (IsModule(value)) continue;
    ScriptSlot slot{owner, i, prefix + type->getAttributeName(i)};
    if (value.isTensor() && value.toTensor().defined()) {
      if (type->is_parameter(i)) slot.kind = ScriptSlot::Kind::kParameter;
      if (type->is_buffer(i)) slot.kind = ScriptSlot::Kind::kBuffer;
    }
    slots.push_back(std::move(slot));
  }
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const c10::IValue value = owner->getSlot(i);
    if (IsModule(value)) {
      AddSlots(value.toObject(), prefix + type->getAttributeName(i) + ".", known, slots);
    }
  }
}

// A Held tensor is one that the module refers to, under its first name.
struct Held {
  std::string name;
  torch::Tensor tensor;
  ScriptSlot::Kind kind;
};

// Returns all dense tensors, each once, including those that are found in lists and the like.
std::vector<Held> TensorsIn(const std::vector<ScriptSlot>& slots) {
  std::vector<Held> tensors;
  std::set<const void*> known;
  for (const auto wanted :
       {ScriptSlot::Kind::kParameter, ScriptSlot::Kind::kBuffer, ScriptSlot::Kind::kOther}) {
    for (const ScriptSlot& slot : slots) {
      if (slot.kind != wanted) continue;
      slot.value().visit([&](const c10::IValue& value) {
        if (!value.isTensor() || !value.toTensor().defined()) return false;
        const torch::Tensor& tensor = value.toTensor();
        if (tensor.layout() == torch::kStrided && tensor.has_storage() && tensor.numel() > 0 &&
            known.insert(tensor.unsafeGetTensorImpl()).second) {
          tensors.push_back({slot.name, tensor, slot.kind});
        }
        return false;
      });
    }
  }
  return tensors;
}

// Marks the elements of a tensor with a number, in those of its storage. Returns the largest number
// that one of them had before.
int32_t Mark(const torch::Tensor& tensor, int32_t number, torch::Tensor& marks) {
  std::vector<int64_t> sizes, strides;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) == 0) continue;  // expanded
    sizes.push_back(tensor.size(d));
    strides.push_back(tensor.stride(d));
  }
  const int64_t first = tensor.storage_offset();
  const auto before = marks.as_strided(sizes, strides, first).max().item<int32_t>();
  // Strides may repeat elements, which LibTorch does not fill in place.
  const torch::Tensor places = torch::arange(marks.numel()).as_strided(sizes, strides, first);
  marks.index_fill_(0, places.reshape({-1}), number);
  return before;
}

// Returns the position of a tensor's last element in its storage.
int64_t LastElement(const torch::Tensor& tensor) {
  int64_t last = tensor.storage_offset();
  for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  return last;
}

// True if no two tensors of one storage can share elements, as one ends before the next begins.
bool OneAfterTheOther(std::vector<const Held*> together) {
  std::ranges::sort(together, {}, [](const Held* held) { return held->tensor.storage_offset(); });
  for (size_t i = 1; i < together.size(); ++i) {
    if (together[i]->tensor.scalar_type() != together[0]->tensor.scalar_type()) return false;
    if (together[i]->tensor.storage_offset() <= LastElement(together[i - 1]->tensor)) return false;
  }
  return true;
}

// Throws Error if two tensors of one storage share elements and one of them would be moved.
void CheckApart(const std::string& model, const std::vector<const Held*>& together) {
  if (OneAfterTheOther(together)) return;
  int64_t elements = 0;
  for (const Held* held : together) {
    elements = std::max(elements, LastElement(held->tensor) + 1);
  }
  torch::Tensor marks = torch::zeros({elements}, torch::kInt32);
  bool moved = false;
  for (size_t i = 0; i < together.size(); ++i) {
    const Held& held = *together[i];
    moved |= held.kind == ScriptSlot::Kind::kParameter ||
             (held.kind == ScriptSlot::Kind::kBuffer && !held.tensor.is_contiguous());
    const int32_t other = Mark(held.tensor, static_cast<int32_t>(i) + 1, marks);
    if (other == 0 || !moved) continue;
    throw Error("model " + model + ": " + held.name,
                "a view of elements of " + together[other - 1]->name,
                "memory of its own; a tied weight is one parameter under two names");
  }
}

}  // namespace

std::vector<ScriptSlot> SlotsOf(const torch::jit::Module& module) {
  std::vector<ScriptSlot> slots;
  std::set<const void*> known;
  AddSlots(module._ivalue(), "", known, slots);
  return slots;
}

void SeparateTensors(const std::string& model, const std::vector<ScriptSlot>& slots) {
  const torch::NoGradGuard no_grad;
  const std::vector<Held> tensors = TensorsIn(slots);
  std::map<const void*, std::vector<const Held*>> storages;
  for (const Held& held : tensors) {
    storages[held.tensor.storage().unsafeGetStorageImpl()].push_back(&held);
  }
  for (const auto& [storage, together] : storages) {
    if (together.size() > 1) CheckApart(model, together);
  }
  for (const Held& held : tensors) {
    if (held.kind == ScriptSlot::Kind::kOther) continue;
    if (held.kind == ScriptSlot::Kind::kBuffer && held.tensor.is_contiguous()) continue;
    // The tensor stays the same one, so that lists of parameters (of recurrent layers) still refer
    // to it.
    torch::Tensor(held.tensor).set_data(held.tensor.detach().clone(at::MemoryFormat::Contiguous));
  }
}

}  // namespace legacy
