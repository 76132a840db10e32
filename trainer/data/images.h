// Labelled images in memory, and readers of their file formats, without LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct gzFile_s;  // of zlib

namespace legacy {

// An ImageSet has pixels [samples, channels, height, width], row by row, 0 to 255, and labels.
struct ImageSet {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::vector<uint8_t> pixels;
  std::vector<uint8_t> labels;

  int64_t samples() const { return static_cast<int64_t>(labels.size()); }
  int64_t image_bytes() const { return int64_t{1} * channels * height * width; }
};

// Keeps the first `limit` samples; 0 keeps all.
void KeepFirst(ImageSet& images, int64_t limit);

// An ImageFile reads a file in pieces, and decompresses it where it starts with gzip's magic. A few
// bytes of gzip may stand for gigabytes, so a reader asks for as many bytes as the format promises
// and for no more.
class ImageFile {
 public:
  // Throws Error where it cannot be opened.
  explicit ImageFile(const std::filesystem::path& file);

  // Returns the next `most` bytes, fewer where the file ends. Memory grows with the bytes read.
  // Throws Error where gzip's stream is truncated or fails its own checksum.
  std::vector<uint8_t> Read(uint64_t most);
  // Throws Error where the file continues.
  void ExpectEnd();
  uint64_t offset() const { return offset_; }

 private:
  [[noreturn]] void Fail(const std::string& message) const;

  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> file_;
  uint64_t offset_ = 0;
};

// Throws Error "FILE: offset N: got 'FOUND'; allowed: EXPECTED".
[[noreturn]] void ThrowFormatError(const std::filesystem::path& file, size_t offset,
                                   const std::string& found, const std::string& expected);

// Reads MNIST's IDX pair, plain or gzipped: images with magic 0x00000803 (samples, rows, columns)
// and labels with 0x00000801 (samples), all big endian. There is any number of samples from 1 on,
// and labels are in [0, classes). Throws Error on anything else.
ImageSet ReadIdx(const std::filesystem::path& images, const std::filesystem::path& labels,
                 int classes);

// Reads CIFAR's binary records: `label_bytes` label bytes, the last of which counts (CIFAR-10 has
// one, CIFAR-100 a coarse label of 20 and a fine one of 100), then 32x32 red, green and blue. Files
// are concatenated in the given order.
ImageSet ReadCifar(const std::vector<std::filesystem::path>& files, int label_bytes, int classes);

}  // namespace legacy
