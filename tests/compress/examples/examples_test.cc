// The worked examples of docs/compressors.md: they run, and the handbook shows these very lines.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "compress/codecs/sparse_codec.h"
#include "compress/schemes/codec_scheme.h"
#include "tests/compress/examples/block_sparsifier.h"
#include "tests/compress/examples/rate_policy.h"
#include "tests/compress/test_data.h"

namespace legacy::examples_test {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Examples, BlockSparsifierTakesPartInEverything) {
  auto codec = std::make_unique<SparseCodec>(std::make_unique<example::BlockSparsifier>(),
                                             MakeQuantiser({"fp16"}), std::nullopt);
  EXPECT_EQ(codec->Name(), "blocks+fp16");
  const CodecScheme scheme(std::move(codec), {});
  const auto exchange = scheme.Open(test::MakeUnit(1000), 2);
  std::vector<float> gradient(1000, 0.25f);
  for (int i = 640; i < 704; ++i) gradient[i] = 8;
  const auto mean = test::RunStep(*exchange, {.parameter = 0.05}, {gradient, gradient});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(mean[i], i >= 640 && i < 704 ? 8 : 0) << i;
  EXPECT_EQ(exchange->ElementsSent(), 64);
  EXPECT_EQ(exchange->Residual(1)[0], 0.25f);
}

TEST(Examples, RatePolicyFollowsTheRate) {
  example::RatePolicy policy(0.1);
  const std::vector<Unit> units = test::MakeUnits({10, 20});
  std::vector<double> parameters(2);
  const auto at = [&](double rate) {
    policy.Decide({.learning_rate = rate}, units, parameters);
    return parameters[1];
  };
  EXPECT_DOUBLE_EQ(at(1), 0.1);
  EXPECT_DOUBLE_EQ(at(0.5), 0.05);
  EXPECT_DOUBLE_EQ(at(0.001), 0.01);
  example::RatePolicy resumed(0.1);
  resumed.Load(policy.Save());
  resumed.Decide({.learning_rate = 0.5}, units, parameters);
  EXPECT_DOUBLE_EQ(parameters[0], 0.05);
}

TEST(Examples, TheHandbookShowsThem) {
  const std::string handbook = ReadFile(LEGACY_ROOT "/docs/compressors.md");
  for (const char* name : {"block_sparsifier.h", "rate_policy.h"}) {
    const std::string source =
        ReadFile(std::string(LEGACY_ROOT "/tests/compress/examples/") + name);
    const size_t begin = source.find("\nclass ") + 1;
    const std::string shown = source.substr(begin, source.find("\n};", begin) + 3 - begin);
    EXPECT_NE(handbook.find("```cpp\n" + shown + "\n```"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace legacy::examples_test