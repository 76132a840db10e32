// TorchScript modules for tests, written from their sources.
#pragma once

#include <torch/script.h>
#include <torch/torch.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "trainer/tasks/classification.h"
#include "trainer/tasks/language.h"

namespace legacy::test {

// Returns drawn-looking weights in [-scale, scale].
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

// A text of 12 words in which each is followed by one of two, in windows of 5.
inline const LanguageModelling& SomeText() {
  constexpr int kWords = 12;
  static const LanguageModelling task = [] {
    std::vector<int32_t> tokens = {0};
    while (tokens.size() < 400) {
      const auto i = static_cast<int32_t>(tokens.size());
      tokens.push_back((3 * tokens.back() + 1 + (i * i / 7) % 2) % kWords);
    }
    Corpus corpus;
    corpus.name = "drawn";
    corpus.unit = TextUnit::kWords;
    corpus.vocabulary.resize(kWords);
    corpus.test = TokenFile(std::vector<int32_t>(tokens.begin(), tokens.begin() + 60));
    corpus.train = TokenFile(std::move(tokens));
    return LanguageModelling(std::move(corpus), 5, 2);
  }();
  return task;
}

}  // namespace legacy::test
