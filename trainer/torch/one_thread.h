// Parallelism is over workers only: each thread computes with one intra-op thread, as LibTorch's
// sums differ between one and two.
#pragma once

namespace legacy {

// Makes LibTorch and OpenBLAS use one intra-op thread on the calling thread. Every thread that
// computes calls it.
void UseOneThread();

}  // namespace legacy
