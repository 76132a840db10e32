// TorchScript modules for tests, written from their sources.
#pragma once

#include <torch/script.h>
#include <torch/torch.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "trainer/torch/tasks/classification.h"

namespace legacy::test {

// Returns random-looking weights in [-scale, scale].
inline torch::Tensor Weights(torch::IntArrayRef sizes, double scale = 0.1, double phase = 0) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  return scale * torch::sin(torch::arange(numel, torch::kFloat32) * 2.3999 + phase).view(sizes);
}

// Tensors under their names.
using Named = std::vector<std::pair<std::string, torch::Tensor>>;

// Returns a module in training mode with these parameters and this code.
inline torch::jit::Module Scripted(const Named& parameters, const std::string& source) {
  torch::jit::Module module("Scripted");
  for (const auto& [name, tensor] : parameters) {
    module.register_parameter(name, torch::Tensor(tensor).set_requires_grad(true), false);
  }
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(source);
  return module;
}

// Saves a module, and returns the file.
inline std::string SaveScript(const torch::jit::Module& module, const std::string& name) {
  const auto file =
      std::filesystem::path(testing::TempDir()) / (name + "-" + std::to_string(getpid()) + ".pt");
  module.save(file.string());
  return file.string();
}

// Images of 10 classes.
inline const Classification& SomeImages() {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return task;
}

}  // namespace legacy::test
