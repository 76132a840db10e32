// Counts the bytes that code moves to and from a memory of its own. The code is compiled with
// -fsanitize=thread, which calls a function at every load and store; counted_memory.cc has those
// functions, instead of the sanitizer's library. The linker sends it memcpy, memmove and memset,
// too.
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
  // Bytes moved since the launch began, or since the last call.
  static int64_t Take();
};

// While one lives, blocks of 2 KiB and more that are made with `new` lie in that memory, and bytes
// are moved as by a processor with a cache: a sector is read where it is not among those that were
// touched last, kCacheBytes in all, and written once while it stays there.
class CountedProcessor {
 public:
  static constexpr int64_t kCacheBytes = int64_t{1} << 20;

  CountedProcessor();
  ~CountedProcessor();
  CountedProcessor(const CountedProcessor&) = delete;
  CountedProcessor& operator=(const CountedProcessor&) = delete;
};

}  // namespace legacy::test
