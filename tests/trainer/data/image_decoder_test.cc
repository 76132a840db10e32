// Decoding and resampling, compared with a decoding of the whole image and sums in double
// precision.
#include "trainer/data/image_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/simd.h"
#include "trainer/bench/drawn_jpeg.h"
#include "trainer/data/resample.h"

namespace legacy::image_decoder_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Bytes = std::vector<uint8_t>;

// Decodes all of a JPEG at 1 / `reduction` with libjpeg-turbo.
DecodedJpeg DecodeAll(const Bytes& file, int reduction = 1) {
  DecodedJpeg picture;
  DecodeJpeg(file, reduction, picture);
  return picture;
}

// Returns the weights of all pixels of an axis for one output, by the definition of the filter.
std::vector<double> Weights(double begin, double length, int first, int end, int size, int i) {
  const double scale = length / size, width = std::max(1.0, scale);
  const double centre = begin + (i + .5) * scale;
  std::vector<double> weights(static_cast<size_t>(end));
  for (int x = first; x < end; ++x) {
    weights[static_cast<size_t>(x)] = std::max(0.0, 1 - std::abs(x + .5 - centre) / width);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Resamples a box in pixels of `picture`, as DecodeImage says.
Bytes Reference(const DecodedJpeg& picture, ImageBox box, bool closed, bool flip, int size) {
  const auto low = [&](double begin) { return closed ? static_cast<int>(std::floor(begin)) : 0; };
  const auto high = [&](double end, int count) {
    return closed ? std::min(count, static_cast<int>(std::ceil(end))) : count;
  };
  const int bottom = high(box.top + box.height, picture.height);
  const int right = high(box.left + box.width, picture.width);
  std::vector<std::vector<double>> rows, columns;
  for (int i = 0; i < size; ++i) {
    rows.push_back(Weights(box.top, box.height, low(box.top), bottom, size, i));
    columns.push_back(Weights(box.left, box.width, low(box.left), right, size, i));
  }
  Bytes out(size_t{3} * size * size);
  for (int y = 0; y < size; ++y) {
    std::vector<double> line(static_cast<size_t>(right) * 3);
    for (int r = 0; r < bottom; ++r) {
      const double weight = rows[static_cast<size_t>(y)][static_cast<size_t>(r)];
      if (weight == 0) continue;
      for (size_t i = 0; i < line.size(); ++i) {
        line[i] += weight * picture.pixels[static_cast<size_t>(r) * picture.width * 3 + i];
      }
    }
    for (int x = 0; x < size; ++x) {
      const auto& weights = columns[static_cast<size_t>(flip ? size - 1 - x : x)];
      for (int c = 0; c < 3; ++c) {
        double sum = 0;
        for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * line[3 * i + c];
        out[static_cast<size_t>((c * size + y) * size + x)] =
            static_cast<uint8_t>(std::lround(sum));
      }
    }
  }
  return out;
}

int LargestDifference(const Bytes& a, const Bytes& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

Bytes Decode(const Bytes& file, const CropChoice& crop, int size) {
  Bytes out(size_t{3} * size * size);
  DecodeImage(file, "it.jpg", crop, size, out);
  return out;
}

CropChoice Whole(int width, int height) {
  return {.box = {0, 0, static_cast<double>(width), static_cast<double>(height)}};
}

// Crops of full size, of 1/2 and of 1/4, upsampled ones, and a mirrored one.
TEST(ImageDecoderTest, CropsEqualThoseOfTheWholeImage) {
  const Bytes file = DrawJpeg({.width = 250, .height = 187, .number = 1});
  for (const int size : {112, 48, 20, 150}) {
    for (uint64_t step = 0; step < 8; ++step) {
      const CropChoice crop = DrawCrop({187, 250}, {.step = step, .purpose = Purpose::kAugment});
      const int reduction = ReductionFor(crop, size);
      EXPECT_GE(std::min(crop.box.width, crop.box.height) / reduction, reduction > 1 ? size : 1);
      const ImageBox& box = crop.box;
      const Bytes expected = Reference(DecodeAll(file, reduction),
                                       {box.left / reduction, box.top / reduction,
                                        box.width / reduction, box.height / reduction},
                                       true, crop.flip, size);
      EXPECT_LE(LargestDifference(Decode(file, crop, size), expected), 1)
          << size << " " << step << " 1/" << reduction;
    }
  }
}

TEST(ImageDecoderTest, CentreCropsAreThoseOfTheResizedImage) {
  for (const auto& [width, height] : {std::pair{250, 187}, {187, 250}, {50, 45}, {500, 401}}) {
    const Bytes file = DrawJpeg({.width = width, .height = height, .number = 2});
    for (const int size : {112, 32}) {
      const CropChoice crop = CentreCrop({height, width}, size);
      const int reduction = ReductionFor(crop, size);
      const ImageBox& box = crop.box;
      const Bytes expected = Reference(DecodeAll(file, reduction),
                                       {box.left / reduction, box.top / reduction,
                                        box.width / reduction, box.height / reduction},
                                       false, false, size);
      EXPECT_LE(LargestDifference(Decode(file, crop, size), expected), 1) << width << " " << size;
    }
  }
  // 500 x 375 becomes 341 x 256, of which columns 58 to 281 are taken.
  const CropChoice crop = CentreCrop({375, 500}, 224);
  EXPECT_DOUBLE_EQ(crop.box.left, 58.0 * 500 / 341);
  EXPECT_DOUBLE_EQ(crop.box.top, 16.0 * 375 / 256);
  EXPECT_DOUBLE_EQ(crop.box.width, 224.0 * 500 / 341);
  EXPECT_FALSE(crop.flip);
}

TEST(ResampleTest, AllInstructionsGiveTheSameBits) {
  RandomStream random({.seed = 3});
  constexpr int kWidth = 333, kHeight = 217;
  Bytes pixels(size_t{4} * kWidth * kHeight);
  for (uint8_t& value : pixels) value = static_cast<uint8_t>(random.Below(256));
  for (const int size : {8, 31, 224, 401}) {
    for (const double part : {.1, .37, 1.0}) {
      const AxisBox columns = {3.25 * (1 - part), kWidth * part - 1, 0, kWidth};
      const AxisBox rows = {.5 * (1 - part), kHeight * part - 1, 0, kHeight};
      Bytes expected(size_t{3} * size * size);
      const PixelWindow window = {pixels.data(), kWidth, kHeight, size_t{4} * kWidth};
      Resample(window, columns, rows, size, false, expected.data(), cpu::Simd::kPlain);
      for (const cpu::Simd simd : cpu::UsableSimd()) {
        Bytes out(expected.size());
        Resample(window, columns, rows, size, false, out.data(), simd);
        EXPECT_EQ(out, expected) << cpu::SimdName(simd) << size;
        Resample(window, columns, rows, size, true, out.data(), simd);
        for (auto row = out.begin(); row != out.end(); row += size) std::reverse(row, row + size);
        EXPECT_EQ(out, expected) << "mirrored";
      }
    }
  }
}

TEST(ImageDecoderTest, TheSizeItselfKeepsThePixels) {
  const Bytes file = DrawJpeg({.width = 64, .height = 64, .number = 4});
  const DecodedJpeg whole = DecodeAll(file);
  const Bytes out = Decode(file, Whole(64, 64), 64);
  for (size_t i = 0; i < size_t{64} * 64; ++i) {
    for (size_t c = 0; c < 3; ++c) ASSERT_EQ(out[c * 64 * 64 + i], whole.pixels[3 * i + c]);
  }
}

TEST(ImageDecoderTest, ProgressiveGreyAndCmykJpegsBecomeColours) {
  using Colours = DrawnJpeg::Colours;
  const DrawnJpeg plain = {.width = 120, .height = 90, .number = 5, .quality = 95, .noise = 0};
  const Bytes picture = DrawPicture(plain);
  const auto mean_difference = [&](Colours colours, bool progressive) {
    DrawnJpeg request = plain;
    request.colours = colours;
    request.progressive = progressive;
    const Bytes out = Decode(DrawJpeg(request), Whole(90, 90), 90);
    double sum = 0;
    for (int y = 0; y < 90; ++y) {
      for (int x = 0; x < 90; ++x) {
        const uint8_t* from = &picture[static_cast<size_t>(y * 120 + x) * 3];
        for (int c = 0; c < 3; ++c) {
          const int expected = from[colours == Colours::kGrey ? 1 : c];
          sum += std::abs(out[static_cast<size_t>((c * 90 + y) * 90 + x)] - expected);
        }
      }
    }
    return sum / (90 * 90 * 3);
  };
  for (const Colours colours : {Colours::kRgb, Colours::kGrey, Colours::kCmyk}) {
    EXPECT_LT(mean_difference(colours, false), 4);
    EXPECT_LT(mean_difference(colours, true), 4);
  }
}

// Writes a PNG of 16 x 16 pixels whose rows are `row`, of which each is one byte less than the one
// before.
Bytes WritePng(int colour_type, int bits, int channels) {
  Bytes file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp p, png_bytep bytes, size_t count) {
        auto* out = static_cast<Bytes*>(png_get_io_ptr(p));
        out->insert(out->end(), bytes, bytes + count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, 16, 16, bits, colour_type, PNG_INTERLACE_ADAM7,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (int i = 0; i < 256; ++i) {
    palette.push_back({static_cast<uint8_t>(i), static_cast<uint8_t>(255 - i), 7});
  }
  if (colour_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette.data(), 256);
  png_write_info(png, info);
  const int bytes = channels * bits / 8;
  std::vector<Bytes> rows;
  std::vector<png_bytep> pointers;
  for (int y = 0; y < 16; ++y) {
    Bytes row;
    for (int x = 0; x < 16; ++x) {
      for (int b = 0; b < bytes; ++b) {
        const bool high = bits == 8 || b % 2 == 0;
        row.push_back(high ? static_cast<uint8_t>(16 * y + x + 10 * (bits == 8 ? b : b / 2)) : 0);
      }
    }
    rows.push_back(std::move(row));
  }
  for (Bytes& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

TEST(ImageDecoderTest, AllKindsOfPngBecomeColours) {
  struct Case {
    int type, bits, channels;
    int (*expected)(int value, int channel);
  };
  const std::vector<Case> cases = {
      {PNG_COLOR_TYPE_GRAY, 8, 1, [](int value, int) { return value; }},
      {PNG_COLOR_TYPE_GRAY, 16, 1, [](int value, int) { return value; }},
      {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 2, [](int value, int) { return value; }},
      {PNG_COLOR_TYPE_RGB, 8, 3, [](int value, int c) { return value + 10 * c; }},
      {PNG_COLOR_TYPE_RGB, 16, 3, [](int value, int c) { return value + 10 * c; }},
      {PNG_COLOR_TYPE_RGB_ALPHA, 8, 4, [](int value, int c) { return value + 10 * c; }},
      {PNG_COLOR_TYPE_PALETTE, 8, 1, [](int value, int c) {
         return c == 0 ? value : c == 1 ? 255 - value : 7;
       }}};
  for (const Case& one : cases) {
    const Bytes file = WritePng(one.type, one.bits, one.channels);
    EXPECT_EQ(ReadImageShape(file, "").width, 16);
    const Bytes out = Decode(file, Whole(16, 16), 16);
    for (int i = 0; i < 256; ++i) {
      for (int c = 0; c < 3; ++c) {
        // Sixteen bits are rounded, not cut.
        ASSERT_NEAR(out[static_cast<size_t>(c * 256 + i)], one.expected(i, c) & 255,
                    one.bits == 16 ? 1 : 0)
            << one.type << " " << one.bits << " " << i;
      }
    }
  }
}

TEST(ImageDecoderTest, WhatIsCutOrDamagedIsRefusedByName) {
  const Bytes jpeg = DrawJpeg({.width = 120, .height = 90, .number = 6});
  const Bytes png = WritePng(PNG_COLOR_TYPE_RGB, 8, 3);
  for (const Bytes& file : {jpeg, png}) {
    EXPECT_NO_THROW(CheckImage(file, ""));
    for (size_t size = 0; size + 2 < file.size(); size += 1 + file.size() / 40) {
      const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_THAT([&] { CheckImage(cut, "DIR/it.jpg"); },
                  ThrowsMessage<Error>(AllOf(HasSubstr("DIR/it.jpg"), HasSubstr("allowed: "))))
          << size;
    }
  }
  Bytes noise = jpeg;
  for (size_t i = noise.size() / 2; i < noise.size(); ++i) noise[i] = 0xFF;
  EXPECT_THROW(Decode(noise, Whole(90, 90), 90), Error);
  const std::string gif = "GIF89a....";
  EXPECT_THAT(
      [&] {
        ReadImageShape({reinterpret_cast<const uint8_t*>(gif.data()), 10}, "x.jpg");
      },
      ThrowsMessage<Error>(HasSubstr("x.jpg: offset 0")));
  EXPECT_THAT([&] { ReadImageShape({}, "x.jpg"); }, ThrowsMessage<Error>(HasSubstr("empty file")));
  // A header alone promises 65,000 x 65,000 pixels.
  Bytes huge = jpeg;
  const Bytes frame = {0xFF, 0xC0};
  const auto at = std::search(huge.begin(), huge.end(), frame.begin(), frame.end());
  std::fill_n(at + 5, 4, uint8_t{0xFD});
  EXPECT_THAT([&] { ReadImageShape(huge, "x.jpg"); },
              ThrowsMessage<Error>(HasSubstr("65021 x 65021 pixels")));
}

TEST(DrawCropTest, CropsAreThoseOfTheRecipe) {
  double area = 0;
  int flips = 0;
  constexpr int kDraws = 4000;
  for (uint64_t step = 0; step < kDraws; ++step) {
    const RandomKey key = {.seed = 1, .step = step, .purpose = Purpose::kAugment};
    const CropChoice crop = DrawCrop({375, 500}, key);
    const ImageBox& box = crop.box;
    EXPECT_TRUE(crop.closed);
    EXPECT_GE(box.left, 0);
    EXPECT_GE(box.top, 0);
    EXPECT_LE(box.left + box.width, 500);
    EXPECT_LE(box.top + box.height, 375);
    const double part = box.width * box.height / (375 * 500);
    EXPECT_GT(part, .079);
    EXPECT_NEAR(box.width / box.height, 1.04, .32);
    area += part / kDraws;
    flips += crop.flip ? 1 : 0;
    const CropChoice again = DrawCrop({375, 500}, key);
    EXPECT_EQ(again.box.left, box.left);
    EXPECT_EQ(again.flip, crop.flip);
  }
  // The mean of the uniform areas is .54, but those that do not fit are drawn again.
  EXPECT_NEAR(area, .43, .01);
  EXPECT_NEAR(flips, kDraws / 2, 150);
  // A strip has no such crop except the centred one.
  const CropChoice strip = DrawCrop({10, 1000}, {.seed = 1});
  EXPECT_EQ(strip.box.height, 10);
  EXPECT_EQ(strip.box.width, 13);
  EXPECT_EQ(strip.box.left, 493);
}

}  // namespace
}  // namespace legacy::image_decoder_test
