#include "trainer/data/cache/cache_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "base/error.h"
#include "base/files/part_file.h"
#include "base/files/whole_file.h"
#include "trainer/data/cache/file_digest.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// Layout: Header, the Places of the sections, and the sections, each at a multiple of kAlignment.
// The checksum covers everything after the header. Numbers have this machine's byte order, and a
// file from a machine with the other order has a wrong length.
struct Header {
  std::array<char, 8> magic = {'L', 'E', 'G', 'A', 'C', 'Y', 'C', '1'};
  uint64_t bytes = 0;  // of the whole file
  uint32_t checksum = 0;
  uint32_t sections = 0;
  std::array<char, 32> kind = {};
  std::array<char, 8> unused = {};
};
static_assert(sizeof(Header) == 64);

struct Place {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

constexpr uint64_t kAlignment = 64;
constexpr uint32_t kMostSections = 64;

uint64_t Aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

uint32_t Checksum(uint32_t before, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::array<char, 32> KindOf(const std::string& kind) {
  std::array<char, 32> field{};
  assert(kind.size() < field.size());
  std::copy_n(kind.begin(), std::min(kind.size(), field.size() - 1), field.begin());
  return field;
}

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A Mapping is a whole file in memory.
class Mapping {
 public:
  // `bytes` > 0.
  Mapping(int file, size_t bytes)
      : bytes_(bytes), memory_(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0)) {}
  ~Mapping() {
    if (mapped()) munmap(memory_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool mapped() const { return memory_ != MAP_FAILED; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(memory_), bytes_};
  }

 private:
  size_t bytes_;
  void* memory_;
};

// Returns the whole file, or nothing.
std::shared_ptr<const Mapping> MapFile(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  std::shared_ptr<const Mapping> mapping;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    mapping = std::make_shared<const Mapping>(file, static_cast<size_t>(status.st_size));
  }
  close(file);
  return mapping && mapping->mapped() ? mapping : nullptr;
}

// Returns the stamps of a cache whose files have not changed, brought up to date; nothing if one
// has. `fresh` becomes false if the times in the cache are not those of the files.
std::optional<std::vector<FileStamp>> SameFiles(std::span<const FileStamp> then,
                                                const std::vector<fs::path>& files, bool& fresh) {
  if (then.size() != files.size()) return std::nullopt;
  std::vector<FileStamp> stamps(then.begin(), then.end());
  fresh = true;
  for (size_t i = 0; i < files.size(); ++i) {
    if (SameInShort(then[i], ShortStamp(files[i]))) continue;
    stamps[i] = FullStamp(files[i]);
    if (stamps[i].bytes != then[i].bytes || stamps[i].sha256 != then[i].sha256) {
      return std::nullopt;
    }
    fresh = fresh && stamps[i].changed == then[i].changed;
  }
  return stamps;
}

}  // namespace

void WriteCacheFile(const fs::path& file, const std::string& kind,
                    std::span<const Section> sections) {
  assert(sections.size() <= kMostSections);
  Header header;
  header.sections = static_cast<uint32_t>(sections.size());
  header.kind = KindOf(kind);
  std::vector<Place> places;
  uint64_t end = Aligned(sizeof(Header) + sections.size() * sizeof(Place));
  for (const Section& section : sections) {
    places.push_back({end, section.bytes().size()});
    end = Aligned(end + section.bytes().size());
  }
  header.bytes = end;

  const std::vector<std::byte> zeros(kAlignment);
  std::vector<std::span<const std::byte>> parts;
  uint64_t at = sizeof(Header);
  const auto add = [&](std::span<const std::byte> bytes) {
    parts.push_back(bytes);
    at += bytes.size();
    parts.push_back(std::span(zeros).first(Aligned(at) - at));
    at = Aligned(at);
  };
  add(std::as_bytes(std::span(places)));
  for (const Section& section : sections) add(section.bytes());
  header.checksum = static_cast<uint32_t>(crc32_z(0, nullptr, 0));
  for (const auto part : parts) {
    if (!part.empty()) header.checksum = Checksum(header.checksum, part);
  }

  MakeFolder(file.parent_path());
  PartFile out(file);
  out.file().Write(AsText(std::as_bytes(std::span(&header, 1))));
  for (const auto part : parts) out.file().Write(AsText(part));
  out.Keep();
}

std::optional<std::vector<Section>> ReadCacheFile(const fs::path& file, const std::string& kind) {
  const std::shared_ptr<const Mapping> mapping = MapFile(file);
  if (!mapping || mapping->bytes().size() < sizeof(Header)) return std::nullopt;
  const std::span<const std::byte> bytes = mapping->bytes();
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.magic != Header().magic || header.bytes != bytes.size() ||
      header.kind != KindOf(kind) || header.sections > kMostSections) {
    return std::nullopt;
  }
  std::vector<Place> places(header.sections);
  if (bytes.size() - sizeof(Header) < places.size() * sizeof(Place) ||
      Checksum(static_cast<uint32_t>(crc32_z(0, nullptr, 0)), bytes.subspan(sizeof(Header))) !=
          header.checksum) {
    return std::nullopt;
  }
  if (!places.empty()) {
    std::memcpy(places.data(), bytes.data() + sizeof(Header), places.size() * sizeof(Place));
  }
  std::vector<Section> sections;
  for (const Place& place : places) {
    if (place.offset % kAlignment != 0 || place.offset > bytes.size() ||
        place.bytes > bytes.size() - place.offset) {
      return std::nullopt;
    }
    sections.emplace_back(mapping, bytes.subspan(place.offset, place.bytes));
  }
  return sections;
}

bool MakeOnce(const fs::path& folder, const std::string& name, const std::string& kind,
              const std::vector<fs::path>& files, const std::function<std::vector<Section>()>& make,
              const std::function<bool(std::span<const Section>)>& take) {
  if (folder.empty()) {
    take(make());
    return false;
  }
  const fs::path file = folder / (name + ".cache");
  // The first section has the stamps of the files.
  const auto keep = [&](std::vector<FileStamp> stamps, std::span<const Section> sections) {
    std::vector<Section> all = {Section::Of(std::move(stamps))};
    all.insert(all.end(), sections.begin(), sections.end());
    try {
      WriteCacheFile(file, kind, all);
    } catch (const Error&) {  // the data root cannot be written
      return false;
    }
    return true;
  };
  if (const auto all = ReadCacheFile(file, kind); all && !all->empty()) {
    const std::span<const Section> sections = std::span(*all).subspan(1);
    const auto then = all->front().As<FileStamp>();
    bool fresh = true;
    const auto stamps = then ? SameFiles(*then, files, fresh) : std::nullopt;
    if (stamps && take(sections)) {
      if (!fresh) keep(*stamps, sections);
      return true;
    }
  }
  std::vector<FileStamp> stamps;
  for (const fs::path& source : files) stamps.push_back(FullStamp(source));
  std::vector<Section> sections = make();
  if (keep(std::move(stamps), sections)) {
    const auto all = ReadCacheFile(file, kind);
    if (all && !all->empty() && take(std::span(*all).subspan(1))) return false;
  }
  take(sections);
  return false;
}

}  // namespace legacy
