#include "trainer/torch/heap.h"

#include <cstdlib>
#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace legacy {

void KeepFreedMemory() {
#ifdef __GLIBC__
  // Larger blocks come from the system directly. Older versions of glibc take no larger threshold.
  constexpr int kLargestBlock = 32 << 20;
  // The size of the heap of a thread's arena. With this much to spare, an empty heap is not given
  // back.
  constexpr int kArenaHeap = 64 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestBlock);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, kArenaHeap);
#endif
}

void ReturnFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace legacy
