#include "trainer/torch/models/tensor_state.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"

namespace legacy {

void SaveTensor(const torch::Tensor& tensor, StateWriter& out) {
  const torch::Tensor values = tensor.to(torch::kCPU).contiguous();
  out.Number(static_cast<uint64_t>(values.scalar_type()));
  out.Number(static_cast<uint64_t>(values.dim()));
  for (const int64_t size : values.sizes()) out.Number(static_cast<uint64_t>(size));
  out.Blob({static_cast<const std::byte*>(values.data_ptr()), values.nbytes()});
}

torch::Tensor LoadTensor(StateReader& in) {
  const auto types = static_cast<uint64_t>(torch::ScalarType::NumOptions) - 1;
  const auto type = static_cast<torch::ScalarType>(in.Number("type of a tensor", types));
  constexpr uint64_t kMostDimensions = 16;
  constexpr uint64_t kMostElements = uint64_t{1} << 40;
  std::vector<int64_t> sizes(in.Number("dimensions of a tensor", kMostDimensions));
  uint64_t elements = 1;
  for (int64_t& size : sizes) {
    size = static_cast<int64_t>(in.Number("size of a tensor", kMostElements));
    elements = std::min(elements * static_cast<uint64_t>(size), kMostElements);
  }
  const ByteSpan bytes = in.Blob();
  if (elements * torch::elementSize(type) != bytes.size()) {
    throw Error("state: bytes of a tensor", std::to_string(bytes.size()), "those of its elements");
  }
  torch::Tensor tensor = torch::empty(sizes, type);
  if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace legacy
