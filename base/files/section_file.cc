#include "base/files/section_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <type_traits>

#include "base/error.h"
#include "base/files/own_file.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using ByteSpan = std::span<const std::byte>;

constexpr std::string_view kMagic = "LGSECT01";
constexpr std::string_view kEnd("LGEND\0\0\0", 8);
constexpr size_t kFooter = 8 + 8 + 4 + kEnd.size();
static_assert(std::endian::native == std::endian::little);

template <class Number>
requires std::is_integral_v<Number> ByteSpan BytesOf(const Number& number) {
  return std::as_bytes(std::span(&number, 1));
}
ByteSpan BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

uint32_t Checksum(uint32_t checksum, ByteSpan bytes) {
  return static_cast<uint32_t>(
      crc32_z(checksum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Reads numbers and names from untrusted bytes.
class Cursor {
 public:
  Cursor(ByteSpan bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  bool empty() const { return bytes_.empty(); }
  ByteSpan Take(uint64_t count) {
    if (count > bytes_.size()) throw Error(where_ + ": its table ends early");
    const ByteSpan taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  template <class Number>
  Number Take() {
    Number number;
    std::memcpy(&number, Take(sizeof number).data(), sizeof number);
    return number;
  }

 private:
  ByteSpan bytes_;
  const std::string& where_;
};

[[noreturn]] void FailToMap(const fs::path& path, const std::string& reason) {
  throw Error(path.string() + ": cannot be read: " + reason);
}

// Writes a file or folder to the disk. Returns 0 or the error.
int Sync(const fs::path& path) {
  const fs::path name = path.empty() ? fs::path(".") : path;
  const int file = open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return errno;
  const int error = fsync(file) == 0 ? 0 : errno;
  close(file);
  return error;
}

}  // namespace

SectionWriter::SectionWriter(fs::path path)
    : path_(std::move(path)), temporary_(path_.string() + ".tmp") {
  unlink(temporary_.c_str());  // a file that a killed process left there, or a link
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) Fail(errno);
  Put(BytesOf(kMagic));
}

SectionWriter::~SectionWriter() {
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_.c_str());
}

void SectionWriter::Begin(std::string_view name) {
  sections_.push_back({std::string(name), written_, 0});
}

void SectionWriter::Write(ByteSpan bytes) {
  Put(bytes);
  sections_.back().bytes += bytes.size();
}

void SectionWriter::Put(ByteSpan bytes) {
  // Pieces are small enough to stay in the processor's cache between the checksum and the copy.
  constexpr size_t kPiece = size_t{1} << 20;
  while (!bytes.empty()) {
    ByteSpan piece = bytes.first(std::min(bytes.size(), kPiece));
    bytes = bytes.subspan(piece.size());
    checksum_ = Checksum(checksum_, piece);
    while (!piece.empty()) {
      const ssize_t count = write(file_, piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) Fail(errno);
      piece = piece.subspan(static_cast<size_t>(count));
      written_ += static_cast<uint64_t>(count);
    }
  }
}

void SectionWriter::Finish() {
  const uint64_t table = written_;
  for (const Section& section : sections_) {
    const auto length = static_cast<uint32_t>(section.name.size());
    Put(BytesOf(length));
    Put(BytesOf(std::string_view(section.name)));
    Put(BytesOf(section.offset));
    Put(BytesOf(section.bytes));
  }
  Put(BytesOf(table));
  const uint64_t all = written_ + (kFooter - sizeof table);
  Put(BytesOf(all));
  const uint32_t checksum = checksum_;
  Put(BytesOf(checksum));
  Put(BytesOf(kEnd));
  if (fsync(file_) != 0) Fail(errno);
  const int file = std::exchange(file_, -1);
  const int closed = close(file) == 0 || errno == EINTR ? 0 : errno;
  if (closed != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = closed != 0 ? closed : errno;
    unlink(temporary_.c_str());
    Fail(error);
  }
  // Some file systems cannot write folders to the disk, and keep the order by themselves.
  const int error = Sync(path_.parent_path());
  if (error != 0 && error != EINVAL) Fail(error);
}

void SectionWriter::Fail(int error) {
  if (file_ >= 0) {
    close(std::exchange(file_, -1));
    unlink(temporary_.c_str());
  }
  throw Error(path_.string() + ": cannot be written: " + std::generic_category().message(error));
}

Sections ReadSections(ByteSpan file, const std::string& where) {
  const auto refuse = [&](const char* reason) { throw Error(where + ": " + reason); };
  if (file.size() < kMagic.size() || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    refuse("is no checkpoint of this version");
  }
  if (file.size() < kMagic.size() + kFooter) refuse("ends early");
  Cursor footer(file.last(kFooter), where);
  const auto table = footer.Take<uint64_t>();
  const auto all = footer.Take<uint64_t>();
  const auto checksum = footer.Take<uint32_t>();
  const ByteSpan end = footer.Take(kEnd.size());
  if (std::memcmp(end.data(), kEnd.data(), kEnd.size()) != 0 || all != file.size()) {
    refuse("ends early");
  }
  constexpr size_t kBehindChecksum = sizeof checksum + kEnd.size();
  if (Checksum(0, file.first(file.size() - kBehindChecksum)) != checksum) {
    refuse("is damaged: its checksum is another one");
  }
  const uint64_t last = file.size() - kFooter;
  if (table < kMagic.size() || table > last) refuse("its table lies outside of it");
  Sections sections;
  Cursor cursor(file.subspan(table, last - table), where);
  while (!cursor.empty()) {
    const ByteSpan name = cursor.Take(cursor.Take<uint32_t>());
    const auto offset = cursor.Take<uint64_t>();
    const auto bytes = cursor.Take<uint64_t>();
    if (offset < kMagic.size() || offset > table || bytes > table - offset) {
      refuse("a section lies outside of it");
    }
    const std::string key(reinterpret_cast<const char*>(name.data()), name.size());
    if (!sections.emplace(key, file.subspan(offset, bytes)).second)
      refuse("two sections are alike");
  }
  return sections;
}

SectionFile::SectionFile(fs::path path) : path_(std::move(path)) {
  std::string reason;
  const int file = OpenOwnFile(path_, O_RDONLY, reason);
  if (file < 0) FailToMap(path_, reason);
  struct stat status;
  const int error = fstat(file, &status) == 0 ? 0 : errno;
  const size_t size = error == 0 ? static_cast<size_t>(status.st_size) : 0;
  void* const mapped = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int mapping = mapped == MAP_FAILED ? errno : error;
  close(file);
  if (mapping != 0) FailToMap(path_, std::generic_category().message(mapping));
  bytes_ = {static_cast<const std::byte*>(mapped), size};
  try {
    sections_ = ReadSections(bytes_, path_.string());
  } catch (...) {
    if (size > 0) munmap(mapped, size);
    throw;
  }
}

SectionFile::~SectionFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

ByteSpan SectionFile::Get(std::string_view name) const {
  const auto found = sections_.find(name);
  if (found == sections_.end()) {
    throw Error(path_.string() + ": has no section '" + std::string(name) + "'");
  }
  return found->second;
}

void WriteToDisk(const fs::path& path) {
  const int error = Sync(path);
  if (error == 0) return;
  throw Error(path.string() + ": cannot be written: " + std::generic_category().message(error));
}

}  // namespace legacy
