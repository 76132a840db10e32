#include <algorithm>

#include "trainer/data/images.h"

namespace legacy {
namespace {

constexpr int kSide = 32;
constexpr int kChannels = 3;
constexpr int kCoarseClasses = 20;
// Largest number of records of a file; the sets have at most 50,000.
constexpr size_t kMostRecords = 100'000;

void AppendRecords(const std::filesystem::path& file, int label_bytes, int classes, ImageSet& set) {
  const size_t labels = static_cast<size_t>(label_bytes);
  const size_t record = labels + static_cast<size_t>(set.image_bytes());
  ImageFile input(file);
  const std::vector<uint8_t> bytes = input.Read(kMostRecords * record);
  if (bytes.empty() || bytes.size() % record != 0) {
    ThrowFormatError(file, bytes.size(), "end of file",
                     "whole records of " + std::to_string(record) + " bytes, at least one");
  }
  input.ExpectEnd();
  for (size_t at = 0; at < bytes.size(); at += record) {
    for (size_t i = 0; i < labels; ++i) {
      const int limit = i + 1 == labels ? classes : kCoarseClasses;
      if (bytes[at + i] >= limit) {
        ThrowFormatError(file, at + i, "label " + std::to_string(bytes[at + i]),
                         "0 to " + std::to_string(limit - 1));
      }
    }
    const auto pixels = bytes.begin() + static_cast<std::ptrdiff_t>(at + labels);
    set.labels.push_back(bytes[at + labels - 1]);
    set.pixels.insert(set.pixels.end(), pixels,
                      pixels + static_cast<std::ptrdiff_t>(set.image_bytes()));
  }
}

}  // namespace

ImageSet ReadCifar(const std::vector<std::filesystem::path>& files, int label_bytes, int classes) {
  ImageSet set;
  set.channels = kChannels;
  set.height = kSide;
  set.width = kSide;
  for (const auto& file : files) AppendRecords(file, label_bytes, classes, set);
  return set;
}

}  // namespace legacy
