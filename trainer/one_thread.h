// Parallelism is over workers only: each thread computes with one intra-op thread, since LibTorch's
// sums differ between one and two.
#pragma once

namespace legacy {

// One intra-op thread for LibTorch and OpenBLAS on the calling thread; called by every thread that
// computes.
void UseOneThread();

}  // namespace legacy
