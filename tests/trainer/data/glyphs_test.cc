#include "trainer/data/glyphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace legacy::glyphs_test {
namespace {

// Computes the FNV-1a hash.
uint64_t Hash(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

TEST(GlyphsTest, AreTheSameBitsOnEveryMachine) {
  const ImageSet train = DrawGlyphs(true, 100);
  EXPECT_EQ(Hash(train.pixels), 8549177858660072120u);
  EXPECT_EQ(Hash(train.labels), 6023967901034699126u);
  EXPECT_EQ(Hash(DrawGlyphs(false, 100).pixels), 17280072511715355755u);
}

TEST(GlyphsTest, AShorterSetIsThePrefixOfALongerOne) {
  const ImageSet many = DrawGlyphs(false, 50);
  ImageSet first = many;
  KeepFirst(first, 20);
  const ImageSet few = DrawGlyphs(false, 20);
  EXPECT_EQ(few.pixels, first.pixels);
  EXPECT_EQ(few.labels, first.labels);
}

TEST(GlyphsTest, StatisticsAreTheConstants) {
  const ImageSet train = DrawGlyphs(true, kGlyphTrainSamples);
  double sum = 0;
  double squares = 0;
  for (uint8_t pixel : train.pixels) {
    sum += pixel / 255.0;
    squares += pixel / 255.0 * (pixel / 255.0);
  }
  const double count = static_cast<double>(train.pixels.size());
  EXPECT_NEAR(sum / count, kGlyphMean, 1e-4);
  EXPECT_NEAR(std::sqrt(squares / count - sum / count * sum / count), kGlyphStddev, 1e-4);
  for (int label = 0; label < kGlyphClasses; ++label) {
    EXPECT_NEAR(std::count(train.labels.begin(), train.labels.end(), label), 800, 120) << label;
  }
}

// No picture occurs twice, in the other split or in the same one.
TEST(GlyphsTest, PicturesDiffer) {
  const ImageSet train = DrawGlyphs(true, 300);
  const ImageSet test = DrawGlyphs(false, 300);
  std::set<uint64_t> pictures;
  for (const ImageSet* set : {&train, &test}) {
    for (int64_t i = 0; i < set->samples(); ++i) {
      const auto begin = set->pixels.begin() + i * set->image_bytes();
      pictures.insert(Hash({begin, begin + set->image_bytes()}));
    }
  }
  EXPECT_EQ(pictures.size(), 600u);
}

}  // namespace
}  // namespace legacy::glyphs_test