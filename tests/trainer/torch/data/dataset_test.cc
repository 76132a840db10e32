#include "trainer/torch/data/dataset.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "base/error.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/glyphs.h"
#include "trainer/torch/tasks/task.h"

namespace legacy::dataset_test {
namespace {

TEST(DatasetTest, HoldsTheImagesOfItsReader) {
  const Dataset dataset =
      LoadDataset({.name = "glyphs", .data_root = "", .train_limit = 30, .test_limit = 7});
  EXPECT_EQ(dataset.train_images.sizes(), (torch::IntArrayRef{30, 1, 28, 28}));
  EXPECT_EQ(dataset.test_labels.sizes(), (torch::IntArrayRef{7}));
  EXPECT_EQ(dataset.classes, 10);
  const ImageSet train = DrawGlyphs(true, 30);
  for (int64_t i = 0; i < 30 * 28 * 28; ++i) {
    ASSERT_EQ(dataset.train_images.data_ptr<uint8_t>()[i], train.pixels[static_cast<size_t>(i)]);
  }
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(dataset.train_labels[i].item<int64_t>(), train.labels[static_cast<size_t>(i)]);
  }
}

TEST(DatasetTest, NormalizesEachChannelByItsOwnStatistics) {
  Dataset dataset;
  dataset.mean = {0.5, 0.25, 0.1};
  dataset.stddev = {0.5, 0.2, 0.3};
  const torch::Tensor images = torch::arange(0, 2 * 3 * 4 * 5).view({2, 3, 4, 5}).to(torch::kUInt8);
  const torch::Tensor normal = NormalizeImages(images, dataset.mean, dataset.stddev);
  EXPECT_EQ(normal.scalar_type(), torch::kFloat32);
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < 3; ++c) {
      const double pixel = images[n][c][3][2].item<double>();
      const size_t channel = static_cast<size_t>(c);
      EXPECT_NEAR(normal[n][c][3][2].item<double>(),
                  (pixel / 255 - dataset.mean[channel]) / dataset.stddev[channel], 1e-6);
    }
  }
  EXPECT_EQ(images[1][2][3][4].item<int>(), 119);  // left unchanged
}

TEST(DatasetTest, PixelsAreDividedBy255AloneWithoutNormalisation) {
  DatasetRequest request = {.name = "glyphs", .data_root = {}, .train_limit = 3, .test_limit = 2};
  request.normalise = false;
  const Dataset dataset = LoadDataset(request);
  const torch::Tensor pixels = dataset.test_images.to(torch::kFloat32) / 255;
  EXPECT_TRUE(NormalizeImages(dataset.test_images, dataset.mean, dataset.stddev).equal(pixels));
}

TEST(DatasetTest, AugmentationIsTheRequestsOrTheCatalogues) {
  EXPECT_EQ(FindInCatalog("cifar10").augment, Augmentation::kCrop);
  DatasetRequest request = {.name = "glyphs", .data_root = {}, .train_limit = 3, .test_limit = 2};
  EXPECT_EQ(LoadDataset(request).augment, Augmentation::kNone);
  request.augment = Augmentation::kReflectCrop;
  EXPECT_EQ(LoadDataset(request).augment, Augmentation::kReflectCrop);
  EXPECT_THROW(LoadTask({.dataset = "grammar", .data_root = {}, .augment = Augmentation::kCrop}),
               Error);
  EXPECT_THROW(LoadTask({.dataset = "tastes", .data_root = {}, .normalise = false}), Error);
}

TEST(DatasetTest, RefusesUnknownNames) {
  EXPECT_THROW(LoadDataset({.name = "Glyphs", .data_root = ""}), Error);
  EXPECT_EQ(DatasetNames().front(), "glyphs");
}

}  // namespace
}  // namespace legacy::dataset_test