#include "trainer/data/image_crop.h"

#include <algorithm>
#include <cmath>

namespace legacy {

CropChoice DrawCrop(ImageShape shape, const RandomKey& key) {
  constexpr double kLeastArea = .08;
  constexpr double kLeastRatio = 3.0 / 4, kMostRatio = 4.0 / 3;
  constexpr int kTrials = 10;
  RandomStream random(key);
  CropChoice crop;
  crop.flip = random.Below(2) == 1;
  const double area = double{1} * shape.width * shape.height;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double part = area * (kLeastArea + (1 - kLeastArea) * random.Uniform());
    const double ratio = std::exp(
        std::log(kLeastRatio) + (std::log(kMostRatio) - std::log(kLeastRatio)) * random.Uniform());
    const auto width = static_cast<int>(std::lround(std::sqrt(part * ratio)));
    const auto height = static_cast<int>(std::lround(std::sqrt(part / ratio)));
    if (width < 1 || height < 1 || width > shape.width || height > shape.height) continue;
    const uint32_t top = random.Below(static_cast<uint32_t>(shape.height - height + 1));
    const uint32_t left = random.Below(static_cast<uint32_t>(shape.width - width + 1));
    crop.box = {double(left), double(top), double(width), double(height)};
    return crop;
  }
  int width = shape.width, height = shape.height;
  const double ratio = double{1} * width / height;
  if (ratio < kLeastRatio) height = static_cast<int>(std::lround(width / kLeastRatio));
  if (ratio > kMostRatio) width = static_cast<int>(std::lround(height * kMostRatio));
  crop.box = {double((shape.width - width) / 2), double((shape.height - height) / 2), double(width),
              double(height)};
  return crop;
}

CropChoice CentreCrop(ImageShape shape, int size) {
  constexpr double kWhole = 256, kPart = 224;
  const int shorter = static_cast<int>(std::lround(size * kWhole / kPart));
  const auto [least, most] = std::minmax(shape.width, shape.height);
  const int longer = static_cast<int>(int64_t{1} * shorter * most / least);
  const int width = shape.width <= shape.height ? shorter : longer;
  const int height = shape.width <= shape.height ? longer : shorter;
  const double column = double{1} * shape.width / width;  // source pixels of a resized one
  const double row = double{1} * shape.height / height;
  CropChoice crop;
  crop.closed = false;
  crop.box = {std::nearbyint((width - size) / 2.0) * column,
              std::nearbyint((height - size) / 2.0) * row, size * column, size * row};
  return crop;
}

}  // namespace legacy
