// The table of the kernels that legacy-bench-gpu measures, one kernel per row. A new kernel is a
// new row in one of the rows_*.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compress/cuda/bench/device.h"
#include "compress/cuda/device/segments.h"

namespace legacy::bench {

// The input of a kernel: vectors that follow each other, such as the layers of a model.
struct Case {
  std::string input;             // one of InputKinds()
  std::string size;              // size as the user wrote it
  std::vector<int64_t> lengths;  // lengths of the vectors
  double ratio = 0;  // fraction of elements to select; 0 for kernels that do not select a fraction

  int64_t elements() const;
  int64_t kept() const;  // sum over all vectors of max(1, floor(ratio * length))
  std::vector<int64_t> EachKept() const;
  cuda::SegmentTable Table() const;
};

// A kernel with its data.
struct Work {
  std::function<void()> restore;                // restores what the kernel overwrites; may be empty
  std::function<void(cuda::StreamDevice)> run;  // the work that is timed
  bool capturable = true;                       // true if a CUDA graph can capture it
};

struct Row {
  const char* kernel;
  // The kernel of device profiles (docs/clock.md) whose cost this is, and the number of its
  // elements; null if there is none.
  const char* profile;
  int64_t (*profile_elements)(const Case&);
  bool by_ratio;
  // Bytes that have to move: each input is read once, and each output written once.
  double (*bytes)(const Case&);
  Work (*prepare)(const Case&, uint32_t seed, Arena&);
};

const std::vector<Row>& Rows();
// The parts of Rows().
std::vector<Row> DenseRows();
std::vector<Row> SparseRows();
std::vector<Row> MessageRows();
std::vector<Row> SpectrumRows();
std::vector<Row> RotationRows();
std::vector<Row> CosineRows();
std::vector<Row> ThcRows();
std::vector<Row> DynamiqRows();
std::vector<Row> BlockRows();
std::vector<Row> LowRankRows();

// "1e6" is one vector, or a matrix of as many elements for kernels that take matrices. "resnet50"
// is the 161 tensors of a ResNet-50 (He et al., CVPR'16, table 1, with batch normalisation and the
// biases of the last layer). Throws Error for other text.
using Shape = std::vector<int64_t>;
std::vector<Shape> ShapesOf(const std::string& size);
int64_t ElementsOf(const Shape& shape);
std::vector<int64_t> LengthsOf(const std::string& size);

}  // namespace legacy::bench
