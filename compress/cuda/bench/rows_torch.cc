// LibTorch operations with the same results.
#include "compress/cuda/bench/peers.h"
#include "compress/cuda/bench/setup.h"

namespace legacy::bench {
namespace {

std::vector<KeptPart> KeptParts(const Case& c) {
  const std::vector<int64_t> kept = c.EachKept();
  std::vector<KeptPart> parts;
  int64_t offset = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    parts.push_back({offset, c.lengths[i], kept[i]});
    offset += c.lengths[i];
  }
  return parts;
}

Work TorchTopK(const Case& c, uint32_t seed, Arena& arena) {
  const auto work = TorchTopKOfMagnitudes(Input(c, seed, arena), KeptParts(c));
  return {.restore = {}, .run = [=](StreamDevice) { work(); }, .capturable = false};
}

Work TorchFeedback(const Case& c, uint32_t seed, Arena& arena) {
  const float* const gradient = Input(c, seed + kOtherSeed, arena);
  const auto work = TorchTopKWithFeedback(gradient, Input(c, seed, arena), KeptParts(c));
  return {.restore = {}, .run = [=](StreamDevice) { work(); }, .capturable = false};
}

}  // namespace

std::vector<Row> TorchRows() {
  return {{"torch.topk-of-magnitudes", nullptr, nullptr, true, KeptBytes<1>, TorchTopK},
          {"torch.topk-with-feedback", nullptr, nullptr, true, KeptBytes<3>, TorchFeedback}};
}

}  // namespace legacy::bench
