#include "trainer/bench/drawn_jpeg.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

// clang-format off: jpeglib.h needs cstdio
#include <jpeglib.h>
// clang-format on

#include "base/random.h"

namespace legacy {

std::vector<uint8_t> DrawPicture(const DrawnJpeg& request) {
  RandomStream random({.step = request.number, .purpose = Purpose::kTest});
  constexpr int kDiscs = 6;
  struct Disc {
    double x, y, radius;
    double colour[3];
  };
  std::vector<Disc> discs;
  for (int i = 0; i < kDiscs; ++i) {
    discs.push_back({random.Uniform() * request.width,
                     random.Uniform() * request.height,
                     (0.05 + 0.25 * random.Uniform()) * request.width,
                     {255 * random.Uniform(), 255 * random.Uniform(), 255 * random.Uniform()}});
  }
  double slopes[3][3];
  for (auto& slope : slopes) {
    for (double& value : slope) value = random.Uniform();
  }
  std::vector<uint8_t> pixels;
  pixels.reserve(static_cast<size_t>(request.width) * request.height * 3);
  for (int y = 0; y < request.height; ++y) {
    for (int x = 0; x < request.width; ++x) {
      const Disc* top = nullptr;
      for (const Disc& disc : discs) {
        const double dx = x - disc.x, dy = y - disc.y;
        if (dx * dx + dy * dy < disc.radius * disc.radius) top = &disc;
      }
      const double noise = 4 * request.noise * (random.Uniform() - 0.5);
      for (int c = 0; c < 3; ++c) {
        const double ground =
            255 *
            (slopes[c][0] * x / request.width + slopes[c][1] * y / request.height + slopes[c][2]) /
            3;
        const double own = request.noise * (random.Uniform() - 0.5);
        const double value = (top != nullptr ? top->colour[c] : ground) + noise + own;
        pixels.push_back(static_cast<uint8_t>(std::clamp(value, 0.0, 255.0)));
      }
    }
  }
  return pixels;
}

std::vector<uint8_t> DrawJpeg(const DrawnJpeg& request) {
  using Colours = DrawnJpeg::Colours;
  std::vector<uint8_t> picture = DrawPicture(request);
  const size_t count = picture.size() / 3;
  int channels = 3;
  if (request.colours == Colours::kGrey) {
    channels = 1;
    for (size_t i = 0; i < count; ++i) picture[i] = picture[3 * i + 1];
  } else if (request.colours == Colours::kCmyk) {
    channels = 4;
    std::vector<uint8_t> inks(4 * count, 255);  // no black
    for (size_t i = 0; i < count; ++i) std::copy_n(&picture[3 * i], 3, &inks[4 * i]);
    picture = std::move(inks);
  }

  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &memory, &bytes);
  jpeg.image_width = static_cast<JDIMENSION>(request.width);
  jpeg.image_height = static_cast<JDIMENSION>(request.height);
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, request.quality, TRUE);
  if (request.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = picture.data() + size_t{jpeg.next_scanline} * request.width * channels;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::vector<uint8_t> file(memory, memory + bytes);
  std::free(memory);
  return file;
}

void DecodeJpeg(std::span<const uint8_t> file, int reduction, DecodedJpeg& picture) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&jpeg, TRUE);
  jpeg.scale_num = 1;
  jpeg.scale_denom = static_cast<unsigned>(reduction);
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  picture.width = static_cast<int>(jpeg.output_width);
  picture.height = static_cast<int>(jpeg.output_height);
  const size_t row_bytes = size_t{3} * jpeg.output_width;
  picture.pixels.resize(row_bytes * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = picture.pixels.data() + row_bytes * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
}

}  // namespace legacy
