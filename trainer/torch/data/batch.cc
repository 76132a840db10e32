#include "trainer/torch/data/batch.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace legacy {
namespace {

// Returns the pixel of a line of `size` pixels that is seen at `place`, which is up to size - 1
// outside of the line, where the line is reflected.
int Reflected(int place, int size) {
  const int from_end = size - 1 - std::abs(place);
  return size - 1 - std::abs(from_end);
}

// Copies one channel, shifted over its reflection, then mirrored.
void MoveReflected(const uint8_t* from, uint8_t* to, int height, int width, const Shift& shift) {
  std::vector<int> columns(static_cast<size_t>(width));
  for (int column = 0; column < width; ++column) {
    columns[static_cast<size_t>(shift.flip ? width - 1 - column : column)] =
        Reflected(column + shift.columns, width);
  }
  for (int row = 0; row < height; ++row) {
    const uint8_t* source = from + static_cast<size_t>(Reflected(row + shift.rows, height)) * width;
    for (const int column : columns) *to++ = source[column];
  }
}

// Copies one channel, shifted (pixels from outside are black), then mirrored.
void MovePlane(const uint8_t* from, uint8_t* to, int height, int width, const Shift& shift) {
  std::memset(to, 0, static_cast<size_t>(height) * width);
  const int first = std::max(0, -shift.columns);
  const int last = std::min(width, width - shift.columns);
  for (int row = 0; row < height; ++row) {
    const int source = row + shift.rows;
    if (source < 0 || source >= height) continue;
    uint8_t* line = to + static_cast<size_t>(row) * width;
    if (last > first) {
      std::memcpy(line + first, from + static_cast<size_t>(source) * width + first + shift.columns,
                  last - first);
    }
    if (shift.flip) std::reverse(line, line + width);
  }
}

torch::Tensor Augmented(const torch::Tensor& images, Augmentation augmentation,
                        const RandomKey& key) {
  const auto move = augmentation == Augmentation::kReflectCrop ? MoveReflected : MovePlane;
  const std::vector<Shift> shifts = DrawShifts(key, images.size(0));
  torch::Tensor moved = torch::empty_like(images);
  const int64_t channels = images.size(1);
  const int height = static_cast<int>(images.size(2));
  const int width = static_cast<int>(images.size(3));
  const int64_t plane = int64_t{1} * height * width;
  for (int64_t i = 0; i < images.size(0); ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t offset = (i * channels + c) * plane;
      move(images.data_ptr<uint8_t>() + offset, moved.data_ptr<uint8_t>() + offset, height, width,
           shifts[i]);
    }
  }
  return moved;
}

}  // namespace

Batch PartOf(const Batch& batch, int64_t part, int64_t parts) {
  if (parts == 1) return batch;
  const int64_t samples = batch.inputs.size(0) / parts;
  return {batch.inputs.narrow(0, part * samples, samples),
          batch.targets.narrow(0, part * samples, samples)};
}

std::vector<Shift> DrawShifts(const RandomKey& key, int64_t count) {
  RandomStream random(key);
  std::vector<Shift> shifts(static_cast<size_t>(count));
  for (Shift& shift : shifts) {
    shift.rows = static_cast<int>(random.Below(2 * Shift::kMost + 1)) - Shift::kMost;
    shift.columns = static_cast<int>(random.Below(2 * Shift::kMost + 1)) - Shift::kMost;
    shift.flip = random.Below(2) == 1;
  }
  return shifts;
}

Batch TrainingBatch(const Dataset& dataset, std::span<const int64_t> indices,
                    const std::optional<RandomKey>& augment) {
  // from_blob wants a mutable pointer; index_select only reads.
  const torch::Tensor rows = torch::from_blob(
      const_cast<int64_t*>(indices.data()), {static_cast<int64_t>(indices.size())}, torch::kInt64);
  torch::Tensor images = dataset.train_images.index_select(0, rows);
  if (augment) images = Augmented(images, dataset.augment, *augment);
  return {NormalizeImages(images, dataset.mean, dataset.stddev),
          dataset.train_labels.index_select(0, rows)};
}

Batch TestBatch(const Dataset& dataset, int64_t first, int64_t count) {
  return {
      NormalizeImages(dataset.test_images.narrow(0, first, count), dataset.mean, dataset.stddev),
      dataset.test_labels.narrow(0, first, count)};
}

}  // namespace legacy
