// The table of what legacy-bench-gpu measures: a kernel a row. A new kernel is a new row in one of
// the rows_*.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compress/cuda/bench/device.h"
#include "compress/cuda/device/segments.h"

namespace legacy::bench {

// A Case is what a kernel is run on: vectors that follow each other, the layers of a model or one
// alone.
struct Case {
  std::string input;             // one of InputKinds()
  std::string size;              // as it was asked for
  std::vector<int64_t> lengths;  // of the vectors
  double ratio = 0;              // of elements kept; 0 for kernels that keep no share

  int64_t elements() const;
  int64_t kept() const;  // of all vectors: max(1, floor(ratio * length)) of each
  std::vector<int64_t> EachKept() const;
  cuda::SegmentTable Table() const;
};

// A kernel with its data.
struct Work {
  std::function<void()> restore;                // what the kernel overwrites; may be empty
  std::function<void(cuda::StreamDevice)> run;  // what is timed
  bool capturable = true;                       // in a CUDA graph
};

struct Row {
  const char* kernel;
  // The kernel of device profiles (docs/clock.md) whose cost this is, and of how many elements;
  // null where there is none.
  const char* profile;
  int64_t (*profile_elements)(const Case&);
  bool by_ratio;
  // That have to be moved: each input read once, each output written once.
  double (*bytes)(const Case&);
  Work (*prepare)(const Case&, uint32_t seed, Arena&);
};

const std::vector<Row>& Rows();
// Its parts.
std::vector<Row> DenseRows();
std::vector<Row> SparseRows();
std::vector<Row> MessageRows();
std::vector<Row> SpectrumRows();
std::vector<Row> LowRankRows();
std::vector<Row> TorchRows();

// "1e6": one vector, or a matrix of as many elements for kernels that take matrices; "resnet50":
// the 161 tensors of a ResNet-50 (He et al., CVPR'16, table 1, with batch normalisation and the
// biases of the last layer). Throws Error.
using Shape = std::vector<int64_t>;
std::vector<Shape> ShapesOf(const std::string& size);
int64_t ElementsOf(const Shape& shape);
std::vector<int64_t> LengthsOf(const std::string& size);

}  // namespace legacy::bench
