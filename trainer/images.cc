#include "trainer/images.h"

#include <zlib.h>

#include <memory>

#include "compress/error.h"

namespace legacy {

void KeepFirst(ImageSet& images, int64_t limit) {
  if (limit <= 0 || limit >= images.samples()) return;
  images.pixels.resize(static_cast<size_t>(limit * images.image_bytes()));
  images.labels.resize(static_cast<size_t>(limit));
}

std::vector<uint8_t> ReadFileOrGzip(const std::filesystem::path& file) {
  constexpr unsigned kChunk = 1u << 20;
  // zlib reads a file without gzip's magic as it is.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> input(gzopen(file.c_str(), "rb"), gzclose);
  if (!input) throw Error(file.string(), "cannot open", "a readable file");
  gzbuffer(input.get(), kChunk);
  std::vector<uint8_t> bytes;
  int got = 0;
  do {
    const size_t size = bytes.size();
    bytes.resize(size + kChunk);
    got = gzread(input.get(), bytes.data() + size, kChunk);
    bytes.resize(size + static_cast<size_t>(got > 0 ? got : 0));
  } while (got > 0);
  int status = Z_OK;
  const std::string message = gzerror(input.get(), &status);  // a truncated stream reads as its end
  if (status != Z_OK && status != Z_STREAM_END) {
    ThrowFormatError(file, bytes.size(), message, "a complete file, plain or gzip");
  }
  return bytes;
}

void ThrowFormatError(const std::filesystem::path& file, size_t offset, const std::string& found,
                      const std::string& expected) {
  throw Error(file.string() + ": offset " + std::to_string(offset), found, expected);
}

}  // namespace legacy
