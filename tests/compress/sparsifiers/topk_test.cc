#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "compress/density.h"
#include "tests/compress/model_shapes.h"
#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::topk_test {
namespace {

using test::ContextOf;
using test::SparsifierOf;

struct Volume {
  int64_t elements = 0, values = 0, bytes = 0;
};

// Returns the volume of one message for each tensor, without headers, with positions as 32-bit
// numbers.
Volume VolumeOf(const std::vector<Unit>& units, double density) {
  const auto codec = MakeCodec("topk:index=u32");
  Volume volume;
  for (const Unit& unit : units) {
    volume.elements += unit.numel;
    volume.values += codec->ElementsSent(unit.numel, density);
    volume.bytes += *codec->MessageBytes(unit, density) - kHeaderBytes;
  }
  return volume;
}

TEST(TopK, VolumeOfKnownModels) {
  struct Known {
    std::vector<Unit> units;
    size_t tensors;
    int64_t elements, values, bytes;
  };
  const Known table[] = {{test::ResNet18(10), 62, 11173962, 11193, 89544},
                         {test::ResNet18(100), 62, 11220132, 11239, 89912},
                         {test::ResNet50(), 161, 25557032, 25595, 204760},
                         {test::ResNet9(), 25, 6573120, 6580, 52640}};
  for (const Known& known : table) {
    const Volume volume = VolumeOf(known.units, 0.001);
    EXPECT_EQ(known.units.size(), known.tensors);
    EXPECT_EQ(volume.elements, known.elements);
    EXPECT_EQ(volume.values, known.values);
    EXPECT_EQ(volume.bytes, known.bytes);
  }
  // One of the tensors has one element, which is sent without its position.
  const Volume ncf = VolumeOf(test::Ncf(), 0.001);
  EXPECT_EQ(test::Ncf().size(), 12u);
  EXPECT_EQ(ncf.elements, 31832577);
  EXPECT_EQ(ncf.values, 31834);
  EXPECT_EQ(ncf.bytes, 8 * 31834 - 4);
}

TEST(TopK, FusedFeedbackIsTheSumsTopK) {
  const auto sparsifier = SparsifierOf("topk");
  const auto gradient = DrawGradient("student-t:n=50000,seed=4");
  auto residual = DrawGradient("laplace:n=50000,seed=5");
  std::vector<float> sum = residual;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  const Selection selection =
      sparsifier->SelectWithFeedback(gradient, residual, 500, ContextOf(0.01));
  EXPECT_EQ(selection.positions, test::SortedTopK(sum, 500));
  for (size_t i = 0; i < 500; ++i) EXPECT_EQ(selection.values[i], sum[selection.positions[i]]);
}

// floor(n density) + 1 values are sent, and all ties.
TEST(TopK, KthRule) {
  const auto sparsifier = SparsifierOf("topk:rule=kth");
  const auto input = DrawGradient("gaussian:n=1000,seed=1");
  const auto kept = [&](std::span<const float> values, double density) {
    const int64_t count = KeptCount(static_cast<int64_t>(values.size()), density);
    return sparsifier->Select(values, count, ContextOf(density)).positions;
  };
  EXPECT_EQ(kept(input, 0.01), test::SortedTopK(input, 11));
  EXPECT_EQ(kept(input, 0.0015), test::SortedTopK(input, 2));
  EXPECT_EQ(kept(input, 0.0005), test::SortedTopK(input, 1));
  EXPECT_EQ(kept(input, 1), test::SortedTopK(input, 1000));
  EXPECT_EQ(kept(std::vector<float>{1, -2, 2, 0, -2}, 0.2), (std::vector<uint32_t>{1, 2, 4}));
  EXPECT_EQ(kept(std::vector<float>(50), 0.02).size(), 50u);
  EXPECT_TRUE(kept({}, 0.1).empty());
  EXPECT_FALSE(MakeCodec("topk:rule=kth")->MessageBytes(test::MakeUnit(1000), 0.01));
}

TEST(TopK, ErrorsOfAllDensitiesFromOneRead) {
  const auto codec = MakeCodec("topk");
  const std::vector<double> densities = {0.0001, 0.001, 0.003, 0.01, 0.1, 0.4, 1};
  for (const char* kind : {"gaussian", "laplace", "student-t", "lognormal", "zeros"}) {
    const auto input = DrawGradient(std::string(kind) + ":n=100000,seed=3");
    auto sorted = input;
    std::ranges::sort(sorted, {}, [](float x) { return -std::abs(x); });
    const auto errors = codec->SquaredErrors(input, densities, ContextOf(0.1));
    EXPECT_TRUE(std::ranges::is_sorted(errors, std::greater<>()));
    for (size_t i = 0; i < densities.size(); ++i) {
      const auto left = std::span(sorted).subspan(KeptCount(100000, densities[i]));
      const double exact = test::SquaredOf(left);
      EXPECT_NEAR(errors[i], exact, 0.01 * exact) << kind << " " << densities[i];
    }
  }
  const std::vector<float> bad = {1, std::nanf("")};
  EXPECT_THROW(codec->SquaredErrors(bad, densities, ContextOf(0.1)), Error);
}

}  // namespace
}  // namespace legacy::topk_test