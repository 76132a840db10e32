#include "trainer/data/contact_sheet.h"

#include <zlib.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/files/whole_file.h"

namespace legacy {
namespace {

// A Picture has interleaved pixels, as picture formats require.
struct Picture {
  int channels = 1;
  int height = 0;
  int width = 0;
  std::string pixels;
};

Picture Arrange(const ImageSet& images, int columns, int rows, bool grey) {
  constexpr char kPaper = '\x60';
  Picture sheet;
  sheet.channels = grey ? 1 : images.channels;
  sheet.height = rows * (images.height + 1) - 1;
  sheet.width = columns * (images.width + 1) - 1;
  sheet.pixels.assign(static_cast<size_t>(1LL * sheet.channels * sheet.height * sheet.width),
                      kPaper);
  const int64_t plane = int64_t{1} * images.height * images.width;
  const int64_t shown = std::min<int64_t>(images.samples(), int64_t{1} * columns * rows);
  for (int64_t i = 0; i < shown; ++i) {
    const uint8_t* image = images.pixels.data() + i * images.image_bytes();
    for (int64_t p = 0; p < plane; ++p) {
      const int64_t y = i / columns * (images.height + 1) + p / images.width;
      const int64_t x = i % columns * (images.width + 1) + p % images.width;
      int sum = 0;
      for (int c = 0; c < images.channels; ++c) sum += image[c * plane + p];
      for (int c = 0; c < sheet.channels; ++c) {
        const int value = grey ? sum / images.channels : image[c * plane + p];
        sheet.pixels[static_cast<size_t>((y * sheet.width + x) * sheet.channels + c)] =
            static_cast<char>(value);
      }
    }
  }
  return sheet;
}

std::string Netpbm(const Picture& picture) {
  return std::string(picture.channels == 1 ? "P5" : "P6") + "\n" + std::to_string(picture.width) +
         " " + std::to_string(picture.height) + "\n255\n" + picture.pixels;
}

std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

// Returns length, type, data, and the CRC of type and data (PNG specification, section 5.3).
std::string PngChunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return BigEndian(static_cast<uint32_t>(data.size())) + body +
         BigEndian(static_cast<uint32_t>(crc));
}

std::string Png(const Picture& picture) {
  const size_t row = static_cast<size_t>(picture.width) * picture.channels;
  std::string lines;
  for (int y = 0; y < picture.height; ++y) {
    lines += '\0';  // no filter
    lines += picture.pixels.substr(static_cast<size_t>(y) * row, row);
  }
  uLongf size = compressBound(static_cast<uLong>(lines.size()));
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(lines.data()), static_cast<uLong>(lines.size()));
  packed.resize(size);
  const char colour = picture.channels == 1 ? 0 : 2;
  const std::string header = BigEndian(static_cast<uint32_t>(picture.width)) +
                             BigEndian(static_cast<uint32_t>(picture.height)) +
                             std::string{8, colour, 0, 0, 0};
  return "\x89PNG\r\n\x1A\n" + PngChunk("IHDR", header) + PngChunk("IDAT", packed) +
         PngChunk("IEND", "");
}

}  // namespace

void WriteContactSheet(const ImageSet& images, int columns, int rows,
                       const std::filesystem::path& file) {
  const std::string kind = file.extension().string();
  if (kind != ".png" && kind != ".pgm" && kind != ".ppm") {
    throw Error("picture file", file.string(), "a name that ends in .png, .pgm or .ppm");
  }
  const Picture sheet = Arrange(images, columns, rows, kind == ".pgm");
  const std::string bytes = kind == ".png" ? Png(sheet) : Netpbm(sheet);
  WriteWholeFile(file, bytes);
}

}  // namespace legacy
