// The memory that this process may still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace legacy {

// Returns the bytes that the system can give without swapping (MemAvailable), or what is left of
// the limit of this process's control group where that is less. Returns nothing where the system
// does not tell.
std::optional<int64_t> FreeMemory();

// Returns "512 MiB" or "3.2 GiB".
std::string MemoryText(double bytes);

// A MemoryLimit is a limit as an option gives it.
struct MemoryLimit {
  double share = 0;  // of the free memory; 0: `bytes` count
  double bytes = 0;  // 0, and no share: there is no limit
  // Returns the limit in bytes; nothing: there is none.
  std::optional<double> Bytes() const;
};

// Reads "80%" (of the free memory), "64GiB", a number of bytes from 1 MiB on, or "off". Throws
// Error naming `key`.
MemoryLimit ParseMemoryLimit(const std::string& text, const std::string& key);

}  // namespace legacy
