#include "tests/compress/counted_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

namespace legacy::test {
namespace {

constexpr size_t kBytes = size_t{1} << 30;
constexpr size_t kAlignment = 256;
constexpr size_t kSector = 32;
constexpr size_t kLeast = 2048;  // smaller blocks that a processor uses are not counted
constexpr uint32_t kCached = CountedProcessor::kCacheBytes / kSector;

// Last read and last write of a sector: the number of the launch, or for a processor the number of
// sectors that were moved before.
struct Sector {
  uint32_t read = 0, written = 0;
};

// Both are null until memory is asked for, so that no address lies inside.
constinit std::byte* memory = nullptr;
constinit Sector* sectors = nullptr;
constinit uint32_t now = kCached;
constinit int64_t moved = 0;
constinit bool processor = false;

void* Map(size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return mapped;
}

// Sizes of blocks by their first addresses.
struct Blocks {
  Blocks() : free{{0, kBytes}} {
    memory = static_cast<std::byte*>(Map(kBytes));
    sectors = static_cast<Sector*>(Map(kBytes / kSector * sizeof(Sector)));
  }
  std::map<size_t, size_t> free, used;
};

Blocks& TheBlocks() {
  static Blocks& blocks = *new Blocks;  // never destroyed: memory may be freed at the very end
  return blocks;
}

inline size_t OffsetOf(const void* at) {
  return reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(memory);
}
inline bool IsCounted(const void* at) { return memory != nullptr && OffsetOf(at) < kBytes; }

template <bool write>
inline void Touch(const void* at, size_t bytes) {
  if (!IsCounted(at) || bytes == 0) return;
  const size_t begin = OffsetOf(at);
  const size_t last = (begin + bytes - 1) / kSector;
  for (size_t i = begin / kSector; i <= last; ++i) {
    Sector& sector = sectors[i];
    uint32_t& touched = write ? sector.written : sector.read;
    const uint32_t last_touched =
        write || !processor ? touched : std::max(sector.read, sector.written);
    if (now - last_touched >= (processor ? kCached : 1)) {
      now += processor ? 1 : 0;
      moved += kSector;
    }
    touched = now;
  }
}

}  // namespace

void* CountedMemory::Allocate(size_t bytes) {
  Blocks& blocks = TheBlocks();
  const size_t size = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const auto place =
      std::ranges::find_if(blocks.free, [&](const auto& room) { return room.second >= size; });
  if (place == blocks.free.end()) throw std::bad_alloc();
  const auto [begin, room] = *place;
  blocks.free.erase(place);
  if (room > size) blocks.free.emplace(begin + size, room - size);
  blocks.used.emplace(begin, size);
  return memory + begin;
}

void CountedMemory::Free(void* freed) {
  Blocks& blocks = TheBlocks();
  const auto block = blocks.used.find(static_cast<std::byte*>(freed) - memory);
  auto [begin, size] = *block;
  blocks.used.erase(block);
  auto next = blocks.free.lower_bound(begin);
  if (next != blocks.free.end() && begin + size == next->first) {
    size += next->second;
    next = blocks.free.erase(next);
  }
  if (next != blocks.free.begin() && std::prev(next)->first + std::prev(next)->second == begin) {
    std::prev(next)->second += size;
  } else {
    blocks.free.emplace(begin, size);
  }
}

void CountedMemory::BeginLaunch() {
  ++now;
  moved = 0;
}

int64_t CountedMemory::Take() { return std::exchange(moved, 0); }

CountedProcessor::CountedProcessor() {
  processor = true;
  now += kCached;  // the cache is empty at first
}
CountedProcessor::~CountedProcessor() { processor = false; }

}  // namespace legacy::test

void* operator new(size_t bytes) {
  if (legacy::test::processor && bytes >= legacy::test::kLeast) {
    return legacy::test::CountedMemory::Allocate(bytes);
  }
  void* const made = std::malloc(std::max<size_t>(bytes, 1));
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
void operator delete(void* freed) noexcept {
  if (legacy::test::IsCounted(freed)) return legacy::test::CountedMemory::Free(freed);
  std::free(freed);
}
void operator delete(void* freed, size_t) noexcept { operator delete(freed); }

// Functions that the compiler calls (its sanitizer.def), as far as the kernels need them.
using legacy::test::Touch;

#define LEGACY_ACCESS(bytes)                                               \
  void __tsan_read##bytes(void* at) { Touch<false>(at, bytes); }           \
  void __tsan_write##bytes(void* at) { Touch<true>(at, bytes); }           \
  void __tsan_unaligned_read##bytes(void* at) { Touch<false>(at, bytes); } \
  void __tsan_unaligned_write##bytes(void* at) { Touch<true>(at, bytes); } \
  void __tsan_volatile_read##bytes(void* at) { Touch<false>(at, bytes); }  \
  void __tsan_volatile_write##bytes(void* at) { Touch<true>(at, bytes); }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* at, unsigned long bytes) { Touch<false>(at, bytes); }
void __tsan_write_range(void* at, unsigned long bytes) { Touch<true>(at, bytes); }
LEGACY_ACCESS(1)
LEGACY_ACCESS(2)
LEGACY_ACCESS(4)
LEGACY_ACCESS(8)
LEGACY_ACCESS(16)
char __tsan_atomic8_load(const volatile char* at, int) {
  return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
void __tsan_atomic8_store(volatile char* at, char x, int) {
  __atomic_store_n(at, x, __ATOMIC_SEQ_CST);
}
char __tsan_atomic8_exchange(volatile char* at, char x, int) {
  return __atomic_exchange_n(at, x, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_add(volatile int* at, int x, int) {
  return __atomic_fetch_add(at, x, __ATOMIC_SEQ_CST);
}
// The linker calls these functions in place of the library's (--wrap).
void* __real_memcpy(void* to, const void* from, size_t bytes);
void* __real_memmove(void* to, const void* from, size_t bytes);
void* __real_memset(void* to, int value, size_t bytes);
void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  Touch<false>(from, bytes);
  Touch<true>(to, bytes);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  Touch<false>(from, bytes);
  Touch<true>(to, bytes);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, size_t bytes) {
  Touch<true>(to, bytes);
  return __real_memset(to, value, bytes);
}
}
