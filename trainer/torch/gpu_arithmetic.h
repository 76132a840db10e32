// How LibTorch computes on a GPU: in the same way in trainings and where their operations are
// measured.
#pragma once

namespace legacy {

// Makes results equal from run to run: fp32 without TF32, and algorithms whose results do not
// depend on timing, as far as there are any (the others warn). Call it before LibTorch's first work
// on a GPU, because cuBLAS reads its environment variable once.
void UseDeterministicFp32();

}  // namespace legacy
