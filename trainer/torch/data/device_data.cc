#include "trainer/torch/data/device_data.h"

#include <torch/torch.h>

namespace legacy {
namespace {

// Columns of the tensor that Choice returns.
enum : int64_t { kIndex, kRows, kColumns, kFlip, kChoices };

}  // namespace

DeviceData::DeviceData(const Dataset& dataset, const torch::Device& device)
    : augment_(dataset.augment),
      train_images_(dataset.train_images.to(device)),
      train_labels_(dataset.train_labels.to(device)),
      test_images_(dataset.test_images.to(device)),
      test_labels_(dataset.test_labels.to(device)),
      mean_(PerChannel(dataset.mean).to(device)),
      stddev_(PerChannel(dataset.stddev).to(device)),
      white_(PerChannel({255}).to(device)),
      rows_(torch::arange(dataset.height()).to(device)),
      columns_(torch::arange(dataset.width()).to(device)) {}

torch::Tensor DeviceData::Choice(std::span<const int64_t> indices,
                                 const std::optional<RandomKey>& augment) {
  const auto count = static_cast<int64_t>(indices.size());
  const std::vector<Shift> shifts =
      augment ? DrawShifts(*augment, count) : std::vector<Shift>(indices.size());
  torch::Tensor choice = torch::empty({count, kChoices}, torch::kInt64);
  auto* row = choice.data_ptr<int64_t>();
  for (size_t i = 0; i < indices.size(); ++i, row += kChoices) {
    row[kIndex] = indices[i];
    row[kRows] = shifts[i].rows;
    row[kColumns] = shifts[i].columns;
    row[kFlip] = shifts[i].flip;
  }
  return choice;
}

// All pixels of a row come from one row of the padded image, and all pixels of a column from one
// column, so that two gathers suffice.
torch::Tensor DeviceData::Augmented(const torch::Tensor& images,
                                    const torch::Tensor& choice) const {
  constexpr int64_t kMost = Shift::kMost;
  const int64_t n = images.size(0), channels = images.size(1);
  const int64_t height = images.size(2), width = images.size(3);
  const auto of = [&](int64_t column) { return choice.select(1, column).unsqueeze(1); };
  const torch::Tensor mirrored = columns_ + of(kFlip) * (width - 1 - 2 * columns_);
  const torch::Tensor from_rows = rows_ + of(kRows), from_columns = mirrored + of(kColumns);
  const auto gathered = [&](const torch::Tensor& from, const torch::Tensor& rows,
                            const torch::Tensor& columns) {
    return from.gather(2, rows.view({n, 1, height, 1}).expand({n, channels, height, from.size(3)}))
        .gather(3, columns.view({n, 1, 1, width}).expand({n, channels, height, width}));
  };
  if (augment_ == Augmentation::kReflectCrop) {
    const auto reflected = [](const torch::Tensor& places, int64_t size) {
      return size - 1 - (size - 1 - places.abs()).abs();
    };
    return gathered(images, reflected(from_rows, height), reflected(from_columns, width));
  }
  const torch::Tensor padded = torch::constant_pad_nd(images, {kMost, kMost, kMost, kMost});
  return gathered(padded, from_rows + kMost, from_columns + kMost);
}

// Divides by a tensor, because LibTorch on a GPU replaces division by a number by multiplication
// with its reciprocal.
torch::Tensor DeviceData::Normalised(const torch::Tensor& images) const {
  return images.to(torch::kFloat32).div_(white_).sub_(mean_).div_(stddev_);
}

Batch DeviceData::Training(const torch::Tensor& choice) const {
  const torch::Tensor indices = choice.select(1, kIndex).contiguous();
  torch::Tensor images = train_images_.index_select(0, indices);
  if (augment_ != Augmentation::kNone) images = Augmented(images, choice);
  return {Normalised(images), train_labels_.index_select(0, indices)};
}

Batch DeviceData::Test(int64_t first, int64_t count) const {
  return {Normalised(test_images_.narrow(0, first, count)), test_labels_.narrow(0, first, count)};
}

}  // namespace legacy
