#include "scenarios/codec/gradient_source.h"

#include <limits>

#include "scenarios/codec/layer_list.h"
#include "tests/codec/codec_testing.h"
#include "tests/message_of.h"

namespace legacy::gradient_source_test {
namespace {

using GradientSourceTest = CodecFiles;

GradientOptions Files(const std::vector<std::string>& files) {
  GradientOptions options;
  options.files = files;
  return options;
}

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

TEST_F(GradientSourceTest, OneFileServesEveryWorkerAndStep) {
  GradientOptions options = Files({WriteValues("g", {1, 2, 3})});
  options.workers = 3;
  options.steps = 2;
  GradientSource source(options);
  EXPECT_EQ(source.workers(), 3);
  ASSERT_EQ(source.units().size(), 1u);
  EXPECT_EQ(source.units()[0].shape, std::vector<int64_t>{3});
  for (int64_t step = 0; step < 2; ++step) {
    const auto gradients = source.AtStep(step);
    ASSERT_EQ(gradients.size(), 3u);
    for (const auto gradient : gradients) EXPECT_EQ(Copy(gradient), (std::vector<float>{1, 2, 3}));
  }
  EXPECT_EQ(GradientSource(Files({Path("g")})).workers(), kDefaultWorkers);
}

TEST_F(GradientSourceTest, FilesHoldWorkersAndSteps) {
  GradientOptions options = Files({WriteValues("a", {1, 2, 3, 4}), WriteValues("b", {5, 6, 7, 8})});
  options.shape = "2";
  GradientSource source(options);
  EXPECT_EQ(source.workers(), 2);
  EXPECT_EQ(source.steps(), 2);
  EXPECT_EQ(Copy(source.AtStep(1)[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(Copy(source.AtStep(1)[1]), (std::vector<float>{7, 8}));
  EXPECT_EQ(Copy(source.AtStep(0)[1]), (std::vector<float>{5, 6}));
}

TEST_F(GradientSourceTest, LayersLieOneAfterTheOther) {
  GradientOptions options = Files({WriteValues("g", std::vector<float>(10))});
  options.layers = WriteFile("layers", "# a model\n\nconv.weight 2x3\nconv.bias\t4\n");
  const GradientSource source(options);
  ASSERT_EQ(source.units().size(), 2u);
  EXPECT_EQ(source.units()[0].name, "conv.weight");
  EXPECT_EQ(source.units()[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(source.units()[1].id, 1u);
  EXPECT_EQ(source.units()[1].offset, 6);
  EXPECT_EQ(source.units()[1].numel, 4);
}

TEST_F(GradientSourceTest, DrawnGradientsDifferBetweenWorkersAndSteps) {
  GradientSource source(Drawn("gaussian", 2, 2, "4x5"));
  const auto first = source.AtStep(0);
  ASSERT_EQ(first[0].size(), 20u);
  EXPECT_NE(Copy(first[0]), Copy(first[1]));
  const std::vector<float> before = Copy(first[0]);
  EXPECT_NE(before, Copy(source.AtStep(1)[0]));
  EXPECT_EQ(before, Copy(source.AtStep(0)[0]));
}

TEST_F(GradientSourceTest, MistakesSayWhereAndWhat) {
  const auto says = [](const GradientOptions& options) {
    return MessageOf([&] { GradientSource source(options); });
  };
  const std::string good = WriteValues("good", {1, 2, 3, 4, 5, 6});
  const std::string longer = WriteValues("longer", {1, 2, 3, 4, 5, 6, 7});
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(says(Files({WriteFile("odd", "abcde")})),
            Path("odd") + ": length: got '5 bytes'; allowed: a multiple of 4: raw float32 values");
  EXPECT_EQ(says(Files({WriteValues("nan", {0, 1, kNan})})),
            Path("nan") + ": value 2: got 'nan'; allowed: finite numbers");
  EXPECT_EQ(says(Files({WriteValues("inf", {-kInfinity})})),
            Path("inf") + ": value 0: got '-inf'; allowed: finite numbers");
  EXPECT_EQ(says(Files({WriteFile("empty", "")})), Path("empty") + ": is empty");
  EXPECT_EQ(says(Files({Path("none")})),
            Path("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(says(Files({folder_.string()})), folder_.string() + ": cannot be read: Is a directory");
  EXPECT_NE(says(Files({good, longer})).find("got '7 values'; allowed: 6"), std::string::npos);
  EXPECT_NE(says({}).find("got 0 sources"), std::string::npos);

  GradientOptions options = Files({good});
  options.shape = "4";
  EXPECT_NE(says(options).find("a multiple of the 4"), std::string::npos);
  options.shape = "2";
  options.steps = 4;
  EXPECT_NE(says(options).find("--steps: got '4'; allowed: up to 3"), std::string::npos);
  options.steps = 0;
  options.layers = good;
  EXPECT_NE(says(options).find("either this or --layers"), std::string::npos);
  options = Files({good, good});
  options.workers = 3;
  EXPECT_NE(says(options).find("--workers: got '3'; allowed: 2"), std::string::npos);
  EXPECT_NE(says(Drawn("gaussian:n=7", 1, 1, "2x3")).find("got '7 values'; allowed: 6"),
            std::string::npos);
  EXPECT_NE(says(Drawn("gaussian:n=0")).find("at least one value"), std::string::npos);
  GradientOptions real;
  real.real = "no-such-model";
  EXPECT_NE(says(real).find("gradient: got 'no-such-model'"), std::string::npos);
}

TEST(LayerList, RefusesWhatIsNoShapeOrLayer) {
  const std::vector<std::string> shapes = {"",   "x",          "3x",          "3x0",
                                           "-1", "4294967296", "65536x65536", "3,4"};
  for (const std::string& shape : shapes) {
    EXPECT_NE(MessageOf([&] { ParseShape(shape, "--shape"); }).find("--shape: got '" + shape + "'"),
              std::string::npos)
        << shape;
  }
  const auto says = [](const char* text) { return MessageOf([&] { ParseLayers(text, "model"); }); };
  EXPECT_NE(says("a 3\nb\n").find("model:2: got 'b'"), std::string::npos);
  EXPECT_NE(says("a 3 4\n").find("model:1"), std::string::npos);
  EXPECT_NE(says("a 3y4\n").find("model:1: got '3y4'"), std::string::npos);
  EXPECT_EQ(says("# nothing\n"), "model: has no layers");
}

}  // namespace
}  // namespace legacy::gradient_source_test