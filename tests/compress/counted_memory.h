// Counts the bytes that code moves to and from a memory of its own. The code is compiled with
// -fsanitize=thread, which calls a function at every load and store; counted_memory.cc defines
// these functions instead of the sanitizer's library. The linker redirects memcpy, memmove and
// memset to it as well.
#pragma once

#include <cstddef>
#include <cstdint>

namespace legacy::test {

// Counts bytes as a device moves them whose cache keeps a launch's data and forgets it at the end
// of the launch: of each sector that a launch touches, 32 bytes are read once, 32 are written once,
// or both.
class CountedMemory {
 public:
  static void* Allocate(size_t bytes);
  static void Free(void* memory);
  // Forgets the sectors that were touched before.
  static void BeginLaunch();
  // Returns the bytes moved since the launch began, or since the last call.
  static int64_t Take();
};

// While a CountedProcessor exists, blocks of 2 KiB and more that are made with `new` lie in that
// memory, and bytes are counted as a processor with a cache moves them: a sector is read unless it
// is among the last sectors touched, kCacheBytes in all, and is written once while it stays among
// them.
class CountedProcessor {
 public:
  static constexpr int64_t kCacheBytes = int64_t{1} << 20;

  CountedProcessor();
  ~CountedProcessor();
  CountedProcessor(const CountedProcessor&) = delete;
  CountedProcessor& operator=(const CountedProcessor&) = delete;
};

}  // namespace legacy::test
