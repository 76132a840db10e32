// This declares a CUDA stream without CUDA's headers: what calls kernels need not be compiled by
// nvcc.
#pragma once

struct CUstream_st;

namespace legacy::cuda {

using Stream = CUstream_st*;  // cudaStream_t

}  // namespace legacy::cuda
