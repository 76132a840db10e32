// Bytes, and a view of bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace legacy {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

}  // namespace legacy
