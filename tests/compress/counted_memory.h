// Counts the bytes that kernels move to and from a memory of its own. They are compiled with
// -fsanitize=thread, which calls a function at every load and store; counted_memory.cc has those
// functions, instead of the sanitizer's library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace legacy::test {

// As a device moves them whose cache keeps a launch's data and finds nothing of the last one's: of
// each sector that a launch touches, 32 bytes are read once, 32 are written once, or both.
class CountedMemory {
 public:
  static void* Allocate(size_t bytes);
  static void Free(void* memory);
  // Forgets what was touched before.
  static void BeginLaunch();
  // Bytes moved since the launch began.
  static int64_t Take();
};

}  // namespace legacy::test
