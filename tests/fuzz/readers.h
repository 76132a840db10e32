// Helpers of the targets of file readers: a file in memory whose content changes, folders of such
// files, seeds from texts.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/fuzz/targets.h"

namespace legacy::fuzz {

inline std::string TextOf(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Bytes BytesOf(const std::string& text) {
  const ByteSpan bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Calls a reader and catches its refusals; any other exception ends the program.
template <typename Read>
void Refusable(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

// A file in memory, if there is /dev/shm. Readers and writers open it again each time by its path,
// which is not a link, since some of them follow no links.
class MemoryFile {
 public:
  MemoryFile() : path_(Folder() + "/legacy-fuzz-XXXXXX"), file_(mkstemp(path_.data())) {
    if (file_ < 0) throw std::runtime_error("no file in memory");
  }
  ~MemoryFile() {
    close(file_);
    unlink(path_.c_str());
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }
  void Put(ByteSpan bytes) {
    if (ftruncate(file_, 0) != 0 ||
        pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("no memory for a file");
    }
  }

 private:
  static std::string Folder() {
    const char* const memory = "/dev/shm";
    if (access(memory, W_OK) == 0) return memory;
    return std::filesystem::temp_directory_path().string();
  }

  std::string path_;
  int file_;
};

// A folder of links to files in memory, for readers of folders.
class MemoryFolder {
 public:
  explicit MemoryFolder(const std::vector<std::string>& names) : files_(names.size()) {
    std::string name = (std::filesystem::temp_directory_path() / "legacy-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
    for (size_t i = 0; i < names.size(); ++i) {
      std::filesystem::create_symlink(files_[i].path(), path_ / names[i]);
    }
  }
  ~MemoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  MemoryFile& file(size_t i) { return files_[i]; }

 private:
  std::vector<MemoryFile> files_;
  std::filesystem::path path_;
};

// Returns each text whole, cut in several places, and with a part of it twice, with `choice` in
// front.
std::vector<Bytes> TextSeeds(const std::vector<std::string>& texts, const std::string& choice = "");

}  // namespace legacy::fuzz
