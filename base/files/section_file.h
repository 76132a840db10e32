// A section file holds named sections of bytes: a state that is read back only if it is whole.
//
//   "LGSECT01"                  8 bytes
//   sections                    their bytes, one after the other
//   table                       for each section: u32 length of the name, name, u64 offset, u64
//                               bytes
//   u64 offset of the table, u64 bytes of the file, u32 CRC-32 of all before it, "LGEND\0\0\0"
//
// Numbers are little endian. The checksum is that of zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace legacy {

// A SectionWriter writes a section file next to its place, and moves it there as a whole. All
// errors are thrown as Error "PATH: cannot be written: " with the system's reason; what was in the
// place stays then.
class SectionWriter {
 public:
  explicit SectionWriter(std::filesystem::path path);
  SectionWriter(const SectionWriter&) = delete;
  SectionWriter& operator=(const SectionWriter&) = delete;
  // Removes what is not finished.
  ~SectionWriter();

  // Begins the next section. Names are not empty and differ.
  void Begin(std::string_view name);
  // Appends bytes to it, straight from the caller's memory.
  void Write(std::span<const std::byte> bytes);
  // Writes the file to the disk, renames it to its place, and writes the folder to the disk.
  void Finish();

 private:
  struct Section {
    std::string name;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };

  void Put(std::span<const std::byte> bytes);
  [[noreturn]] void Fail(int error);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int file_ = -1;
  uint64_t written_ = 0;
  uint32_t checksum_ = 0;
  std::vector<Section> sections_;
};

// Sections are sections by name.
using Sections = std::map<std::string, std::span<const std::byte>, std::less<>>;

// Reads the sections of a file's bytes, which it refers to. Throws Error "WHERE: " with the reason
// where they are not a whole section file. Lengths of the file are never trusted.
Sections ReadSections(std::span<const std::byte> file, const std::string& where);

// A SectionFile is a file in memory, mapped and checked.
class SectionFile {
 public:
  // Throws Error that names the file, where it cannot be read or is not whole.
  explicit SectionFile(std::filesystem::path path);
  SectionFile(const SectionFile&) = delete;
  SectionFile& operator=(const SectionFile&) = delete;
  ~SectionFile();

  bool Has(std::string_view name) const { return sections_.find(name) != sections_.end(); }
  // Returns a section. Throws Error where there is none.
  std::span<const std::byte> Get(std::string_view name) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  Sections sections_;
};

// Writes what a file has to the disk. Throws Error "PATH: cannot be written: ...".
void WriteToDisk(const std::filesystem::path& path);

}  // namespace legacy
