// What is known of training samples without reading them.
#pragma once

#include <cstdint>
#include <span>

namespace legacy {

// SampleLabels are the classes and groups of a training set.
struct SampleLabels {
  int64_t samples = 0;
  std::span<const int32_t> labels = {};  // class of each sample, in [0, classes); empty: none
  int classes = 0;
  std::span<const int32_t> groups = {};  // the data set's own group of each sample; empty: none
  int64_t group_count = 0;
};

}  // namespace legacy
