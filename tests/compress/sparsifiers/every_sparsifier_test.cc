// Properties of every row of SparsifierTable().
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/density.h"
#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::every_sparsifier_test {
namespace {

using test::ContextOf;
using test::SparsifierOf;

// Returns all names, and variants whose code differs.
std::vector<std::string> Everything() {
  std::vector<std::string> texts = {"topk:rule=kth",
                                    "randomk:seed=worker",
                                    "redsync:small=0,large=0",
                                    "redsync:small=0,large=0,compatible=on,eps=0.2",
                                    "redsync:small=0",
                                    "redsync:quantised=on,small=0",
                                    "redsync:quantised=on,small=0,large=0",
                                    "sidco:fit=pareto",
                                    "sidco:stages=3",
                                    "adacomp:bin=7",
                                    "cat:stop=maximum,c1=2"};
  for (const SparsifierRow& row : SparsifierTable()) texts.push_back(row.info.name);
  return texts;
}

// Over several steps with state, the selection and the new residual make up e, bit for bit except
// for the sign of zeros.
TEST(EverySparsifier, ConservesBitForBit) {
  for (const std::string& text : Everything()) {
    const auto sparsifier = SparsifierOf(text);
    if (!sparsifier->Traits().allows_error_feedback) continue;
    for (const int64_t n : {0, 1, 2, 31, 33, 1000}) {
      const auto inputs = test::HardInputs(n);
      for (const double parameter : test::SomeParameters(sparsifier->Parameter())) {
        CodecState state;
        std::vector<float> residual(n);
        for (uint64_t step = 0; step < inputs.size(); ++step) {
          std::vector<float> e = residual;
          for (int64_t i = 0; i < n; ++i) e[i] += inputs[step][i];
          const int64_t count = parameter <= 1 ? KeptCount(n, parameter) : n;
          const Selection selection = sparsifier->SelectWithFeedback(
              inputs[step], residual, count, ContextOf(parameter, step, &state));
          ASSERT_EQ(selection.positions.size(), selection.values.size());
          int64_t next = 0;
          std::vector<float> whole = residual;
          for (size_t i = 0; i < selection.positions.size(); ++i) {
            const int64_t position = selection.positions[i];
            ASSERT_GE(position, next) << text;
            ASSERT_LT(position, n) << text;
            ASSERT_EQ(residual[position], 0) << text;
            whole[position] = selection.values[i];
            next = position + 1;
          }
          ASSERT_EQ(whole, e) << text << " n " << n << " " << parameter << " step " << step;
        }
      }
    }
  }
}

TEST(EverySparsifier, SelectsTheSameWithAndWithoutAResidual) {
  for (const std::string& text : Everything()) {
    const auto sparsifier = SparsifierOf(text);
    for (const auto& input : test::HardInputs(700)) {
      auto residual = input;
      const auto context = ContextOf(sparsifier->Parameter().fallback);
      const Selection plain = sparsifier->Select(input, 7, context);
      const Selection fed = sparsifier->SelectWithFeedback({}, residual, 7, context);
      ASSERT_EQ(plain.positions, fed.positions) << text;
      ASSERT_EQ(plain.values, fed.values) << text;
    }
  }
}

TEST(EverySparsifier, RefusesNonFiniteValuesWithFeedbackToo) {
  for (const std::string& text : Everything()) {
    const auto sparsifier = SparsifierOf(text);
    const auto context = ContextOf(sparsifier->Parameter().fallback);
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::nanf("")}) {
      auto values = test::Normals(500, 1);
      values[444] = bad;
      std::vector<float> residual(500);
      EXPECT_THROW(sparsifier->Select(values, 5, context), Error) << text;
      try {
        sparsifier->SelectWithFeedback(values, residual, 5, context);
        FAIL() << text;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("unit 3, element 444"), std::string::npos)
            << text << ": " << error.what();
      }
    }
  }
}

// Selecting from a looser selection gives part of it.
TEST(EverySparsifier, SelectsFromASelection) {
  const auto input = DrawGradient("student-t:n=20000,seed=2");
  for (const std::string& text : Everything()) {
    const auto sparsifier = SparsifierOf(text);
    const bool density = sparsifier->Parameter().name == "density";
    const double loose = density ? 0.05 : sparsifier->Parameter().fallback;
    const double tight = density ? 0.005 : 2.0;
    if (sparsifier->Parameter().name.empty()) continue;
    const Selection outer = sparsifier->Select(input, 1000, ContextOf(loose));
    const Selection inner = sparsifier->Select(outer.values, 100, ContextOf(tight));
    EXPECT_GT(inner.positions.size(), 0u) << text;
    EXPECT_LT(inner.positions.size(), outer.positions.size()) << text;
    if (text != "topk") continue;
    const Selection direct = sparsifier->Select(input, 100, ContextOf(tight));
    EXPECT_EQ(inner.values, direct.values);
    for (size_t i = 0; i < 100; ++i) {
      ASSERT_EQ(outer.positions[inner.positions[i]], direct.positions[i]);
    }
  }
}

// If the parameter does not fix the number of values, the header's number is used once the bytes
// agree with it.
TEST(EverySparsifier, RefusesCountsThatContradictTheBytes) {
  const auto input = test::Normals(5000, 3);
  for (const SparsifierRow& row : SparsifierTable()) {
    for (const char* index : {"", ":index=u32", ":index=bitmap", ":index=delta"}) {
      if (row.info.name == "randomk" && *index) continue;
      const auto codec = MakeCodec(row.info.name + index);
      const auto context = ContextOf(codec->Parameter().fallback);
      const Bytes good = codec->Encode(input, context).bytes;
      for (const uint32_t count : {0u, 1u, 49u, 51u, 4999u, 5000u, 5001u, 0xFFFFFFFFu}) {
        Bytes bad = good;
        std::memcpy(bad.data() + 12, &count, sizeof count);
        if (bad == good) continue;
        std::vector<float> sum(5000, 1.0f);
        EXPECT_THROW(codec->DecodeAdd(bad, context, sum), Error) << codec->Name() << count;
        EXPECT_EQ(sum, std::vector<float>(5000, 1.0f));
      }
    }
  }
}

// With a quantiser after the sparsifier, value + residual is e up to the rounding of one
// subtraction.
TEST(EverySparsifier, ConservesThroughAQuantiser) {
  for (const SparsifierRow& row : SparsifierTable()) {
    const auto codec = MakeCodec(row.info.name + "+bf16");
    const auto input = DrawGradient("laplace:n=3000,seed=8");
    auto residual = input;
    const auto context = ContextOf(codec->Parameter().fallback);
    const Message message = codec->EncodeWithFeedback({}, residual, context);
    std::vector<float> decoded(input.size());
    codec->DecodeAdd(message.bytes, context, decoded);
    for (size_t i = 0; i < input.size(); ++i) {
      const double ulp = 0x1p-23 * std::abs(double{input[i]});
      ASSERT_NEAR(double{decoded[i]} + residual[i], input[i], 4 * ulp) << row.info.name;
    }
  }
}

TEST(EverySparsifier, ContractsWhereItKeepsTheLargest) {
  for (const char* text : {"topk", "topk:rule=kth", "redsync:small=0", "redsync:small=0,large=0"}) {
    const auto sparsifier = SparsifierOf(text);
    for (const auto& input : test::HardInputs(1000)) {
      for (const double density : {0.001, 0.01, 0.1, 0.9}) {
        auto residual = input;
        const int64_t count = KeptCount(1000, density);
        sparsifier->SelectWithFeedback({}, residual, count, ContextOf(density));
        const double bound = (1 - static_cast<double>(count) / 1000) * test::SquaredOf(input);
        EXPECT_LE(test::SquaredOf(residual), bound * (1 + 1e-6)) << text;
      }
    }
  }
}

}  // namespace
}  // namespace legacy::every_sparsifier_test