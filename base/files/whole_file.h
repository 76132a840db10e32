// Files are read as a whole, and written as a whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace legacy {

// Limit of ReadWholeFile, which exceeds any file of ours. A stream without an end is refused there.
inline constexpr size_t kMostFileBytes = size_t{1} << 31;

// Returns everything in a plain file, or in one of this process's own streams (/dev/stdin, and
// /dev/fd/63 as shells pass it). FIFOs, which may wait for ever, and devices are refused. Throws
// Error "PATH: cannot be read: " with the reason.
std::string ReadWholeFile(const std::filesystem::path& path, size_t most_bytes = kMostFileBytes);

// Writes `text` where `path` leads, links followed. A plain file is replaced as a whole or, where
// anything fails, left as it was; anything else (a device, a FIFO) is written to. Throws Error
// "PATH: cannot be written: " with the system's reason.
void WriteWholeFile(const std::filesystem::path& path, std::string_view text);

// Writes a file of ours, as a whole or not at all: a link in its place is replaced, and what it
// leads to stays. Throws Error as WriteWholeFile does.
void ReplaceFile(const std::filesystem::path& path, std::string_view text);

// Makes a folder and those above it, where they are not there. Throws Error "PATH: the folder
// cannot be made: " with the system's reason.
void MakeFolder(const std::filesystem::path& path);

// Returns the name that `path` leads to: links are followed, also one that leads to nothing yet.
// Throws Error where they go in a circle.
std::filesystem::path FollowLinks(const std::filesystem::path& path);

// True where `path` may be replaced by a new file: it is a plain file, or does not exist.
bool MayReplace(const std::filesystem::path& path);

}  // namespace legacy
