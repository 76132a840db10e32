// Tensors of well-known models in the order of their layers: real sizes for tests of volume and
// byte counts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compress/unit.h"

namespace legacy::test {

// Collects tensors as LibTorch shapes them: {out, in, kernel, kernel}, {out, in}, {n}.
class ModelShapes {
 public:
  void Add(std::vector<int64_t> shape) {
    Unit unit{.id = static_cast<uint32_t>(units_.size()),
              .name = std::to_string(units_.size()),
              .shape = std::move(shape),
              .offset = elements_,
              .numel = 1};
    for (const int64_t side : unit.shape) unit.numel *= side;
    elements_ += unit.numel;
    units_.push_back(std::move(unit));
  }
  // Adds a convolution without bias, followed by batch norm.
  void Convolution(int64_t in, int64_t out, int64_t kernel) {
    Add({out, in, kernel, kernel});
    Add({out});
    Add({out});
  }
  void Linear(int64_t in, int64_t out) {
    Add({out, in});
    Add({out});
  }
  std::vector<Unit> Take() { return std::move(units_); }

 private:
  std::vector<Unit> units_;
  int64_t elements_ = 0;
};

// LeNet-5 (LeCun et al. 1998, fully connected form): 10 tensors, 61,706 elements.
inline std::vector<Unit> LeNet5() {
  ModelShapes model;
  model.Add({6, 1, 5, 5});
  model.Add({6});
  model.Add({16, 6, 5, 5});
  model.Add({16});
  model.Linear(400, 120);
  model.Linear(120, 84);
  model.Linear(84, 10);
  return model.Take();
}

// ResNet-18 for 32 x 32 images (He et al. 2016): 62 tensors; 11,173,962 elements for 10 classes,
// 11,220,132 for 100.
inline std::vector<Unit> ResNet18(int64_t classes) {
  ModelShapes model;
  model.Convolution(3, 64, 3);
  int64_t in = 64;
  for (const int64_t out : {64, 64, 128, 128, 256, 256, 512, 512}) {
    model.Convolution(in, out, 3);
    model.Convolution(out, out, 3);
    if (in != out) model.Convolution(in, out, 1);
    in = out;
  }
  model.Linear(512, classes);
  return model.Take();
}

// torchvision's ResNet-50 for ImageNet: 161 tensors, 25,557,032 elements.
inline std::vector<Unit> ResNet50() {
  ModelShapes model;
  model.Convolution(3, 64, 7);
  int64_t in = 64;
  constexpr std::pair<int64_t, int> kStages[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (const auto& [width, blocks] : kStages) {
    const int64_t out = 4 * width;
    for (int block = 0; block < blocks; ++block) {
      model.Convolution(in, width, 1);
      model.Convolution(width, width, 3);
      model.Convolution(width, out, 1);
      if (block == 0) model.Convolution(in, out, 1);
      in = out;
    }
  }
  model.Linear(in, 1000);
  return model.Take();
}

// DAWNBench's ResNet-9 for CIFAR-10: 25 tensors, 6,573,120 elements.
inline std::vector<Unit> ResNet9() {
  ModelShapes model;
  model.Convolution(3, 64, 3);
  model.Convolution(64, 128, 3);
  for (int i = 0; i < 2; ++i) model.Convolution(128, 128, 3);
  model.Convolution(128, 256, 3);
  model.Convolution(256, 512, 3);
  for (int i = 0; i < 2; ++i) model.Convolution(512, 512, 3);
  model.Add({10, 512});
  return model.Take();
}

// Neural collaborative filtering for MovieLens-20M (138,493 users, 26,744 items; factors of 64,
// layers 256-256-128-64): 12 tensors, 31,832,577 elements.
inline std::vector<Unit> Ncf() {
  ModelShapes model;
  for (const int64_t factors : {64, 128}) {
    model.Add({138493, factors});
    model.Add({26744, factors});
  }
  model.Linear(256, 256);
  model.Linear(256, 128);
  model.Linear(128, 64);
  model.Linear(128, 1);
  return model.Take();
}

}  // namespace legacy::test
