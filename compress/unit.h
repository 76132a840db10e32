// What is compressed as one piece: a layer, a bucket of layers or the whole model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace legacy {

// A unit is a contiguous range of the flat gradient (layers in the model's parameter order). With
// layer scope a unit is one parameter tensor; with model scope the only unit is the flat gradient
// itself.
struct Unit {
  uint32_t id = 0;             // position among the units of the model, from 0
  std::string name;            // the parameter's name, or "model"
  std::vector<int64_t> shape;  // of the parameter; {numel} for buckets and the model
  int64_t offset = 0;          // first element in the flat gradient
  int64_t numel = 0;           // elements; below 2^32
};

}  // namespace legacy
