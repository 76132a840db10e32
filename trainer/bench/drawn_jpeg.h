// Drawn photographs, as JPEG files, for tests and benchmarks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace legacy {

// A DrawnJpeg says how a picture of gradients, discs and noise is packed.
struct DrawnJpeg {
  enum class Colours : uint8_t { kRgb, kGrey, kCmyk };

  int width = 500;
  int height = 375;
  uint32_t number = 0;  // which picture
  int quality = 90;
  Colours colours = Colours::kRgb;
  bool progressive = false;
  double noise = 12;  // mean of its size, in steps of 0 to 255
};

// Returns the bytes of a JPEG file. CMYK ones have Adobe's marker and inverted inks.
std::vector<uint8_t> DrawJpeg(const DrawnJpeg& request);

// Returns the picture's pixels before packing, [height, width, 3].
std::vector<uint8_t> DrawPicture(const DrawnJpeg& request);

// A DecodedJpeg has pixels [height, width, 3] in red, green and blue.
struct DecodedJpeg {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;
};

// Decodes a whole file with libjpeg-turbo alone, at 1 / `reduction`, into the memory of `picture`.
void DecodeJpeg(std::span<const uint8_t> file, int reduction, DecodedJpeg& picture);

}  // namespace legacy
