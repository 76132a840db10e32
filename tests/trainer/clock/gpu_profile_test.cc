#include "trainer/clock/gpu_profile.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace legacy::gpu_profile_test {
namespace {

Profile Base() {
  return {.name = "base",
          .source = "datasheet (x)",
          .launch_seconds = 1e-6,
          .operations = {{"conv", {1e12, 1e11}}},
          .kernels = {{"copy", {1, 1}}, {"topk.encode", {1, 1}}, {"histogram", {1, 1}}}};
}

std::string Result(const std::string& profile, const std::string& elements,
                   const std::string& seconds, const std::string& more = "") {
  return R"({"kernel": "k", "profile": ")" + profile + R"(", "profile_elements": )" + elements +
         R"(, "input": "student-t", "vectors": 1, "seconds": )" + seconds + more + "}";
}

std::string Document(const std::string& results) {
  return R"({"program": "legacy-bench-gpu", "command": "legacy-bench-gpu --json=x", "date": "2030-01-02",
    "device": {"name": "A GPU", "driver": "1.2", "cuda": "13.0"}, "results": [)" +
         results + "]}";
}

TEST(GpuProfile, TakesLinesFromTheSmallestToTheLargest) {
  const std::string results =
      Result("copy", "1e3", "3e-6") + "," + Result("copy", "1e5", "9") + "," +
      Result("copy", "1.001e6", "1.003e-3") + "," +
      Result("topk.encode", "1000", "2e-6", R"(, "ratio": 0.01)") + "," +
      Result("topk.encode", "3000", "4e-6", R"(, "ratio": 0.01)") + "," +
      Result("topk.encode", "9000", "1", R"(, "ratio": 0.1)") + "," +
      Result("histogram", "1000", "5e-6") + "," +
      R"({"kernel": "k", "profile": "histogram", "profile_elements": 9e9, "input": "student-t", "vectors": 1,
          "skipped": "memory"},
         {"kernel": "k", "profile": "histogram", "profile_elements": 2e3, "input": "zeros", "vectors": 1,
          "seconds": 1},
         {"kernel": "k", "profile": "histogram", "profile_elements": 2e3, "input": "student-t", "vectors": 161,
          "seconds": 1},
         {"kernel": "other", "input": "student-t", "vectors": 1, "seconds": 1})";
  const Profile profile = GpuProfile(Document(results), "gpu.json", Base(), false, "mine");
  EXPECT_EQ(profile.name, "mine");
  EXPECT_EQ(profile.kernels.at("copy").launch_seconds, 2e-6);
  EXPECT_EQ(profile.kernels.at("copy").seconds_per_element, 1e-9);
  EXPECT_EQ(profile.kernels.at("topk.encode").launch_seconds, 1e-6);
  EXPECT_EQ(profile.kernels.at("topk.encode").seconds_per_element, 1e-9);
  EXPECT_EQ(profile.kernels.at("histogram").launch_seconds, 1) << "one size alone: as in the base";
  EXPECT_EQ(profile.operations.at("conv").flops_per_second, 1e12);
  EXPECT_EQ(
      profile.source,
      "measured (A GPU, driver 1.2, CUDA 13.0; legacy-bench-gpu --json=x; 2030-01-02; kernels "
      "measured: copy, topk.encode; all else as base: datasheet (x))");
  EXPECT_EQ(ParseProfile(FormatProfile(profile), "text").source, profile.source);
  const Profile with = GpuProfile(Document(results), "gpu.json", Base(), true, "mine");
  EXPECT_NE(
      with.source.find(
          "2030-01-02; operations by LibTorch on that machine, in fp32 without TF32; kernels"),
      std::string::npos);
}

TEST(GpuProfile, RefusesOtherTexts) {
  const std::string two = Result("copy", "1", "1") + "," + Result("copy", "2", "2");
  EXPECT_NO_THROW(GpuProfile(Document(two), "gpu.json", Base(), false, "mine"));
  for (const std::string& text :
       {std::string("{"), std::string("{}"), std::string(R"({"program": "ls"})"), Document(""),
        Document(Result("copy", "1", "1")), Document(Result("copy", "\"a\"", "1") + "," + two),
        Document(Result("warp", "1", "1") + "," + Result("warp", "2", "2"))}) {
    EXPECT_THROW(GpuProfile(text, "gpu.json", Base(), false, "mine"), Error) << text;
  }
}

}  // namespace
}  // namespace legacy::gpu_profile_test