// Files that a user names are opened without waiting. A FIFO that nobody writes to would wait for
// ever, and a device may have no end.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <string>

namespace legacy {

// Returns whether a path is one of this process's own streams: standard input (/dev/stdin), or what
// a shell passes (/dev/fd/63 for a process substitution).
inline bool IsOwnStream(const std::string& path) {
  return path == "/dev/stdin" || path.rfind("/dev/fd/", 0) == 0 ||
         path.rfind("/proc/self/fd/", 0) == 0;
}

// Returns whether a path is a plain file, or one of this process's own streams.
inline bool MayRead(const std::string& path) {
  struct stat found;
  return IsOwnStream(path) || (stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode));
}

// Returns " (no such file or folder)" for messages where nothing has that name, else "".
inline std::string NoteOfMissing(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 ? "" : " (no such file or folder)";
}

// Opens a file that may be read (above). The stream has failed elsewhere.
inline std::ifstream OpenToRead(const std::string& path,
                                std::ios::openmode mode = std::ios::in | std::ios::binary) {
  std::ifstream file;
  if (MayRead(path)) {
    file.open(path, mode);
  } else {
    file.setstate(std::ios::failbit);
  }
  return file;
}

}  // namespace legacy
