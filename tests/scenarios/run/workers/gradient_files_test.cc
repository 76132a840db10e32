#include "scenarios/run/workers/gradient_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "scenarios/run/workers/comparison.h"

namespace legacy::gradient_files_test {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Scenario Small() {
  Scenario scenario;
  scenario.workers = 2;
  scenario.batch = 4;
  scenario.steps = 4;
  scenario.evaluate_every = 4;
  scenario.train_limit = 100;
  scenario.test_limit = 20;
  scenario.topology = "star";
  scenario.stragglers = "none";
  scenario.fidelity = "analytic";
  scenario.policies = {"dense", "topk"};
  scenario.pictures = false;
  scenario.gradient_steps = "0,3";
  return scenario;
}

class GradientFilesTest : public ::testing::Test {
 protected:
  GradientFilesTest()
      : folder_(fs::path(::testing::TempDir()) / ("legacy-gradients-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~GradientFilesTest() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(GradientFilesTest, AreWhatWorkerZeroComputed) {
  Scenario scenario = Small();
  scenario.out = folder_.string();
  RunComparison(scenario, "legacy-scenario", "test", never);
  const fs::path gradients = folder_ / "gradients";
  EXPECT_EQ(Read(gradients / "layers.txt").substr(0, 20), "conv1.weight 8x1x5x5");
  const std::string dense = Read(gradients / "dense-seed1-step0.f32");
  EXPECT_EQ(dense.size(), 4 * 71786u);
  // The first step's gradient does not depend on the compression; later steps have other weights.
  EXPECT_EQ(dense, Read(gradients / "topk-seed1-step0.f32"));
  EXPECT_NE(Read(gradients / "dense-seed1-step3.f32"), Read(gradients / "topk-seed1-step3.f32"));
  EXPECT_FALSE(fs::exists(gradients / "dense-seed1-step1.f32"));
}

TEST_F(GradientFilesTest, TakeChosenLayersAndRefuseOthers) {
  const std::vector<Unit> layers = {{0, "conv.weight", {2, 3}, 0, 6}, {1, "fc.bias", {4}, 6, 4}};
  Scenario scenario = Small();
  scenario.gradient_layers = "bias";
  const GradientFiles files(scenario, layers, folder_);
  std::vector<float> gradient(10);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i);
  files.Write("a/b", 7, 3, 1, gradient);  // another worker's gradient
  files.Write("a/b", 7, 3, 0, gradient);
  const std::string bytes = Read(folder_ / "gradients/a_b-seed7-step3.f32");
  ASSERT_EQ(bytes.size(), 16u);
  EXPECT_EQ(std::memcmp(bytes.data(), gradient.data() + 6, 16), 0);
  EXPECT_EQ(Read(folder_ / "gradients/layers.txt"), "fc.bias 4\n");
  scenario.gradient_layers = "bias,pool";
  EXPECT_THROW(GradientFiles(scenario, layers, folder_), Error);
  scenario.gradient_layers = "all";
  scenario.gradient_steps = "9";
  EXPECT_THROW(GradientFiles(scenario, layers, folder_), std::exception);
}

}  // namespace
}  // namespace legacy::gradient_files_test