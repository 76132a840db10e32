// Text files that others wrote are read as a whole, packed or not.
#pragma once

#include <cstddef>
#include <string>

namespace legacy {

// Limit of ReadText for the unpacked text, 256 MiB. It stops files that unpack without end.
inline constexpr size_t kMostTextBytes = size_t{1} << 28;

// Returns the text of a file in UTF-8, unpacked where gzip packed it; what is not UTF-8 is taken
// for Latin-1. Throws Error "PATH: ..." on a file that cannot be read, that is damaged or that is
// too long; where it cannot be read it names `option`, which the file was given for ("": a
// topology).
std::string ReadText(const std::string& path, size_t most_bytes = kMostTextBytes,
                     const std::string& option = "");

}  // namespace legacy
