#include "tests/compress/counted_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <new>
#include <utility>

namespace legacy::test {
namespace {

constexpr size_t kBytes = size_t{1} << 30;
constexpr size_t kAlignment = 256;
constexpr size_t kSector = 32;

// When a sector was read and written last: the number of that launch.
struct Sector {
  uint32_t read = 0, written = 0;
};

// Null, so that nothing lies there, until memory is asked for.
constinit std::byte* memory = nullptr;
constinit Sector* sectors = nullptr;
constinit uint32_t launch = 1;
constinit int64_t moved = 0;

void* Map(size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return mapped;
}

// Sizes of blocks by their begins.
struct Blocks {
  Blocks() : free{{0, kBytes}} {
    memory = static_cast<std::byte*>(Map(kBytes));
    sectors = static_cast<Sector*>(Map(kBytes / kSector * sizeof(Sector)));
  }
  std::map<size_t, size_t> free, used;
};

Blocks& TheBlocks() {
  static Blocks blocks;
  return blocks;
}

template <bool write>
inline void Touch(const void* at, size_t bytes) {
  const size_t begin = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(memory);
  if (begin >= kBytes || bytes == 0) return;
  const size_t last = (begin + bytes - 1) / kSector;
  for (size_t i = begin / kSector; i <= last; ++i) {
    uint32_t& touched = write ? sectors[i].written : sectors[i].read;
    if (touched == launch) continue;
    touched = launch;
    moved += kSector;
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
  ++launch;
  moved = 0;
}

int64_t CountedMemory::Take() { return std::exchange(moved, 0); }

}  // namespace legacy::test

// What the compiler calls (its sanitizer.def), as far as the kernels need it.
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
int __tsan_atomic32_fetch_add(volatile int* at, int x, int) {
  return __atomic_fetch_add(at, x, __ATOMIC_SEQ_CST);
}
}
