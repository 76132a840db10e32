// Digests of files, and stamps that say whether a file is still the same.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace legacy {

// Returns the hexadecimal digest of a file; `algorithm` is "sha256" or "md5". Throws Error.
std::string FileDigest(const std::filesystem::path& file, const std::string& algorithm);
// Returns the hexadecimal SHA-256 of a text.
std::string TextDigest(std::string_view text);

// A FileStamp identifies the content of a file: by its digest, or in short by size and time.
struct FileStamp {
  uint64_t bytes = 0;
  // Time of the last change in nanoseconds; kYoung where it was so recent that a later change
  // might have the same one, as clocks of file systems are coarse.
  int64_t changed = kYoung;
  std::array<char, 64> sha256 = {};  // hexadecimal

  static constexpr int64_t kYoung = -1;
};

// Returns a file's size and time, without its digest. Throws Error.
FileStamp ShortStamp(const std::filesystem::path& file);
// Returns the whole stamp, for which it reads the file. Throws Error.
FileStamp FullStamp(const std::filesystem::path& file);
// True where size and time suffice to say that a file is the same.
bool SameInShort(const FileStamp& a, const FileStamp& b);

}  // namespace legacy
