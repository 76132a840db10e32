#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compress/codec.h"
#include "compress/gradients/gradients.h"
#include "tests/compress/test_data.h"
#include "tests/fuzz/targets.h"

namespace legacy::fuzz {
namespace {

constexpr uint32_t kMostElements = 300;

struct Case {
  std::unique_ptr<Codec> codec;
  CodecContext context;
  size_t numel = 0;
};

// Takes a case in the order in which CodecSeeds writes them.
Case TakeCase(Input& input) {
  Case one;
  one.codec = MakeCodec(CodecTexts()[input.Below(static_cast<uint32_t>(CodecTexts().size()))]);
  const std::vector<double> parameters = test::SomeParameters(one.codec->Parameter());
  one.context.parameter = parameters[input.Take(1) % parameters.size()];
  one.numel = input.Below(kMostElements + 1);
  return one;
}

}  // namespace

void FuzzCodec(ByteSpan bytes) {
  Input input(bytes);
  const Case one = TakeCase(input);
  const std::vector<float> before(one.numel, 1.0f);
  std::vector<float> sum = before;
  try {
    one.codec->DecodeAdd(input.Rest(), one.context, sum);
    Require(std::ranges::all_of(sum, [](float x) { return std::isfinite(x); }));
  } catch (const Error&) {
    Require(sum == before);  // refused before anything was added
  }
}

std::vector<Bytes> CodecSeeds() {
  std::vector<Bytes> seeds;
  for (uint32_t text = 0; text < CodecTexts().size(); ++text) {
    for (uint32_t parameter = 0; parameter < 2; ++parameter) {
      for (const uint32_t numel : {1u, 40u, 131u}) {
        const Bytes choice = Output().Put(text).Put(parameter, 1).Put(numel).Take();
        Input input(choice);
        const Case one = TakeCase(input);
        const auto values = DrawGradient("gaussian:n=" + std::to_string(numel));
        seeds.push_back(
            Output().Put(choice).Put(one.codec->Encode(values, one.context).bytes).Take());
      }
    }
  }
  return seeds;
}

}  // namespace legacy::fuzz
