// Models of users are TorchScript modules, as torch.jit.script(model).save("file.pt") writes them
// (docs/tutorials/your-pytorch-model.md).
#pragma once

#include <memory>
#include <string>

#include "trainer/torch/models/model.h"

namespace legacy {

// Loads the module that the request names. Its forward takes the task's inputs and returns its
// logits, as Model::Forward does, with nothing carried over from window to window. The weights are
// the file's, whatever the seed. Parameters that need no gradient stay as they are. A module that
// draws numbers, as dropout does, draws them by the training's keys; such passes run one after the
// other.
//
// Throws Error where the file holds no module.
std::shared_ptr<Model> LoadScriptModel(const ModelRequest& request);

// Throws Error where the model cannot be trained on its task: forward fails or returns anything but
// logits, or a parameter takes no part in them.
void CheckTrainable(Model& model, const ModelRequest& request);

}  // namespace legacy
