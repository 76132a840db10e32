#include "trainer/data/images.h"

namespace legacy {
namespace {

constexpr uint32_t kImageMagic = 0x803;  // unsigned bytes, three dimensions
constexpr uint32_t kLabelMagic = 0x801;  // unsigned bytes, one dimension
constexpr uint32_t kMaxSide = 4096;
constexpr size_t kImageHeader = 16;
constexpr size_t kLabelHeader = 8;

// An IdxFile is one IDX file, with the checks that images and labels share.
class IdxFile {
 public:
  IdxFile(const std::filesystem::path& path, uint32_t magic, size_t header)
      : path_(path), file_(path), header_(file_.Read(header)) {
    if (header_.size() < header) {
      ThrowFormatError(path, header_.size(), "end of file",
                       "a header of " + std::to_string(header) + " bytes");
    }
    if (Word(0) != magic) {
      ThrowFormatError(path, 0, "magic " + std::to_string(Word(0)),
                       "magic " + std::to_string(magic));
    }
  }

  uint32_t Word(size_t offset) const {
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) word = word << 8 | header_[offset + i];
    return word;
  }

  uint32_t WordWithin(size_t offset, const char* name, uint32_t minimum, uint32_t maximum) const {
    const uint32_t word = Word(offset);
    if (word < minimum || word > maximum) {
      ThrowFormatError(path_, offset, std::string(name) + " " + std::to_string(word),
                       std::to_string(minimum) + " to " + std::to_string(maximum));
    }
    return word;
  }

  // Returns the bytes after the header, of which there must be `expected`.
  std::vector<uint8_t> Body(uint64_t expected) && {
    std::vector<uint8_t> body = file_.Read(expected);
    if (body.size() < expected) {
      ThrowFormatError(path_, file_.offset(), "end of file",
                       "end of file at " + std::to_string(header_.size() + expected));
    }
    file_.ExpectEnd();
    return body;
  }

 private:
  std::filesystem::path path_;
  ImageFile file_;
  std::vector<uint8_t> header_;
};

constexpr uint32_t kMaxSamples = 0x7FFFFFFF;
constexpr uint64_t kMaxBody = uint64_t{1} << 31;  // largest number of bytes of pixels

}  // namespace

ImageSet ReadIdx(const std::filesystem::path& images, const std::filesystem::path& labels,
                 int classes) {
  ImageSet set;
  IdxFile image_file(images, kImageMagic, kImageHeader);
  const uint32_t samples = image_file.WordWithin(4, "samples", 1, kMaxSamples);
  set.channels = 1;
  set.height = static_cast<int>(image_file.WordWithin(8, "rows", 1, kMaxSide));
  set.width = static_cast<int>(image_file.WordWithin(12, "columns", 1, kMaxSide));
  const uint64_t body = static_cast<uint64_t>(samples) * static_cast<uint64_t>(set.image_bytes());
  if (body > kMaxBody) {
    ThrowFormatError(images, 4, std::to_string(body) + " bytes of pixels",
                     "at most " + std::to_string(kMaxBody));
  }
  set.pixels = std::move(image_file).Body(body);

  IdxFile label_file(labels, kLabelMagic, kLabelHeader);
  if (label_file.Word(4) != samples) {
    ThrowFormatError(labels, 4, std::to_string(label_file.Word(4)) + " samples",
                     std::to_string(samples) + ", as in " + images.string());
  }
  set.labels = std::move(label_file).Body(samples);
  for (size_t i = 0; i < set.labels.size(); ++i) {
    if (set.labels[i] >= classes) {
      ThrowFormatError(labels, kLabelHeader + i, "label " + std::to_string(set.labels[i]),
                       "0 to " + std::to_string(classes - 1));
    }
  }
  return set;
}

}  // namespace legacy
