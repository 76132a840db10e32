// A unit is the part of a gradient that is compressed as one piece: a layer, a bucket of layers or
// the whole model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace legacy {

// A contiguous range of the flat gradient (layers in the model's parameter order). With layer scope
// it is one parameter tensor; with model scope the only unit is the flat gradient.
struct Unit {
  uint32_t id = 0;             // position among the units of the model, from 0
  std::string name;            // name of the parameter, or "model"
  std::vector<int64_t> shape;  // shape of the parameter; {numel} for buckets and the model
  int64_t offset = 0;          // position of its first element in the flat gradient
  int64_t numel = 0;           // number of elements, below 2^32
};

}  // namespace legacy
