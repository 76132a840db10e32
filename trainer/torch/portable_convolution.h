// Convolutions whose bits do not depend on the caches of a processor.
#pragma once

namespace legacy {

// Makes LibTorch, from now on and in this whole process, compute those convolutions itself for
// which oneDNN has no kernel with AVX2. oneDNN would multiply matrices, and divide sums over
// channels by the size of the second-level cache.
void UsePortableConvolutions();

}  // namespace legacy
