#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/number.h"
#include "compress/cuda/bench/rows.h"

namespace legacy::bench {
namespace {

std::vector<Shape> ResNet50() {
  constexpr int64_t kBlocks[] = {3, 4, 6, 3};
  constexpr int64_t kExpansion = 4, kClasses = 1000;
  std::vector<Shape> shapes;
  const auto convolution = [&](int64_t in, int64_t out, int64_t side) {
    shapes.push_back({out, in, side, side});
    shapes.insert(shapes.end(), 2, {out});  // scale and shift of its batch normalisation
  };
  convolution(3, 64, 7);
  int64_t channels = 64, width = 64;
  for (const int64_t blocks : kBlocks) {
    for (int64_t block = 0; block < blocks; ++block) {
      convolution(channels, width, 1);
      convolution(width, width, 3);
      convolution(width, kExpansion * width, 1);
      if (block == 0) convolution(channels, kExpansion * width, 1);  // the shortcut
      channels = kExpansion * width;
    }
    width *= 2;
  }
  shapes.push_back({kClasses, channels});
  shapes.push_back({kClasses});
  return shapes;
}

// Returns a matrix of n elements that is as nearly square as the divisors of n allow.
Shape Oblong(int64_t n) {
  auto rows = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % rows != 0) --rows;
  return {rows, n / rows};
}

}  // namespace

int64_t Case::elements() const {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

std::vector<int64_t> Case::EachKept() const {
  std::vector<int64_t> kept;
  for (const int64_t length : lengths) {
    const auto share = static_cast<int64_t>(std::floor(ratio * static_cast<double>(length)));
    kept.push_back(std::clamp<int64_t>(share, 1, length));
  }
  return kept;
}

int64_t Case::kept() const {
  const std::vector<int64_t> kept = EachKept();
  return std::accumulate(kept.begin(), kept.end(), int64_t{0});
}

cuda::SegmentTable Case::Table() const {
  std::vector<cuda::Extent> extents;
  int64_t offset = 0;
  for (const int64_t length : lengths) {
    extents.push_back({offset, length});
    offset += length;
  }
  return {extents, cuda::kTile};
}

std::vector<Shape> ShapesOf(const std::string& size) {
  if (size == "resnet50") return ResNet50();
  constexpr double kMost = 4e9;  // positions are 32 bits wide
  const std::optional<double> number = ParseNumber(size);
  if (!number || !(*number >= 1 && *number <= kMost) || *number != std::floor(*number)) {
    throw Error("--sizes", size, "whole numbers from 1 to 4e9 such as 1e6, resnet50");
  }
  return {Oblong(static_cast<int64_t>(*number))};
}

int64_t ElementsOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> LengthsOf(const std::string& size) {
  std::vector<int64_t> lengths;
  for (const Shape& shape : ShapesOf(size)) lengths.push_back(ElementsOf(shape));
  return lengths;
}

}  // namespace legacy::bench
