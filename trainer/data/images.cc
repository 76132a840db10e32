#include "trainer/data/images.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "base/files/plain_file.h"

namespace legacy {
namespace {

constexpr unsigned kChunk = 1u << 16;

}  // namespace

void KeepFirst(ImageSet& images, int64_t limit) {
  if (limit <= 0 || limit >= images.samples()) return;
  images.pixels.resize(static_cast<size_t>(limit * images.image_bytes()));
  images.labels.resize(static_cast<size_t>(limit));
}

ImageFile::ImageFile(const std::filesystem::path& file)
    : path_(file), file_(MayRead(path_.string()) ? gzopen(file.c_str(), "rb") : nullptr, gzclose) {
  if (!file_) throw Error(file.string(), "cannot open", "a readable file" + NoteOfMissing(file));
  gzbuffer(file_.get(), kChunk);
}

std::vector<uint8_t> ImageFile::Read(uint64_t most) {
  std::vector<uint8_t> bytes;
  while (bytes.size() < most) {
    const size_t size = bytes.size();
    const auto wanted = static_cast<unsigned>(std::min<uint64_t>(kChunk, most - size));
    bytes.resize(size + wanted);
    const int got = gzread(file_.get(), bytes.data() + size, wanted);
    bytes.resize(size + static_cast<size_t>(std::max(got, 0)));
    offset_ += static_cast<uint64_t>(std::max(got, 0));
    if (got < static_cast<int>(wanted)) break;
  }
  int status = Z_OK;
  // Zlib reads a truncated stream as one that ends.
  const std::string message = gzerror(file_.get(), &status);
  if (status != Z_OK && status != Z_STREAM_END) Fail(message);
  return bytes;
}

void ImageFile::ExpectEnd() {
  const uint64_t end = offset_;
  if (!Read(1).empty()) {
    ThrowFormatError(path_, end, "more bytes", "the end of the file");
  }
}

void ImageFile::Fail(const std::string& message) const {
  ThrowFormatError(path_, offset_, message, "a complete file, plain or gzip");
}

void ThrowFormatError(const std::filesystem::path& file, size_t offset, const std::string& found,
                      const std::string& expected) {
  throw Error(file.string() + ": offset " + std::to_string(offset), found, expected);
}

}  // namespace legacy
