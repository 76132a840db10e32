#include "compress/cuda/bench/report.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace legacy::bench::report_test {
namespace {

Work NoWork(const Case&, uint32_t, Arena&) { return {}; }

constexpr Row kRow = {"topk.feedback",
                      "topk.encode",
                      [](const Case& c) { return c.elements(); },
                      true,
                      [](const Case& c) { return 12.0 * static_cast<double>(c.elements()); },
                      NoWork};

TEST(GpuBenchCase, ResNet50HasItsTensors) {
  const Case of{.input = "", .size = "", .lengths = LengthsOf("resnet50"), .ratio = 0.01};
  EXPECT_EQ(of.lengths.size(), 161u);
  EXPECT_EQ(of.elements(), 25557032);
  EXPECT_EQ(of.lengths.front(), 3 * 64 * 7 * 7);
  EXPECT_EQ(of.EachKept()[1], 1) << "one of 64 at least";
  EXPECT_EQ(of.EachKept()[0], 94);
  const std::vector<Shape> shapes = ShapesOf("resnet50");
  EXPECT_EQ(shapes.front(), Shape({64, 3, 7, 7}));
  EXPECT_EQ(shapes.back(), Shape({1000}));
}

TEST(GpuBenchCase, NumbersAreMatricesAsNearToSquaresAsCanBe) {
  EXPECT_EQ(ShapesOf("1e6"), std::vector<Shape>({{1000, 1000}}));
  EXPECT_EQ(ShapesOf("1e5"), std::vector<Shape>({{250, 400}}));
  EXPECT_EQ(ShapesOf("7"), std::vector<Shape>({{1, 7}}));
}

TEST(GpuBenchCase, SizesAreWholeNumbers) {
  EXPECT_EQ(LengthsOf("1e5"), std::vector<int64_t>{100000});
  for (const char* size : {"", "0", "1.5", "-3", "5e9", "1e5x", "nan", "resnet"}) {
    EXPECT_THROW(LengthsOf(size), Error) << size;
  }
}

TEST(GpuBenchReport, JsonHasWhatAProfileNeeds) {
  const Case of{.input = "student-t", .size = "1e6", .lengths = {1000000}, .ratio = 0.01};
  const Measurement measured{.row = &kRow,
                             .of = of,
                             .bytes = 12e6,
                             .seconds = 5e-6,
                             .graph_seconds = 4.5e-6,
                             .copy_seconds = 4e-6,
                             .fastest_seconds = 4.75e-6,
                             .skipped = {}};
  const Measurement skipped{.row = &kRow, .of = of, .bytes = 12e6, .skipped = "no \"room\""};
  RunInfo run;
  run.device.name = "A GPU";
  run.device.driver = "1.2";
  run.device.cuda = "13.0";
  run.date = "2030-01-02";
  run.command = "legacy-bench-gpu";
  run.options.turns = 5;
  const std::vector<Measurement> all = {measured, skipped};
  EXPECT_EQ(ToJson(run, all), R"({"program": "legacy-bench-gpu",
  "command": "legacy-bench-gpu",
  "date": "2030-01-02",
  "device": {"name": "A GPU", "driver": "1.2", "cuda": "13.0", "multiprocessors": 0, "memory_bytes": 0, "cache_bytes": 0},
  "turns": 5,
  "results": [
    {"kernel": "topk.feedback", "profile": "topk.encode", "profile_elements": 1e+06, "input": "student-t", "size": "1e6", "elements": 1e+06, "vectors": 1, "ratio": 0.01, "bytes": 1.2e+07, "seconds": 5e-06, "fastest_seconds": 4.75e-06, "graph_seconds": 4.5e-06, "copy_seconds": 4e-06},
    {"kernel": "topk.feedback", "profile": "topk.encode", "profile_elements": 1e+06, "input": "student-t", "size": "1e6", "elements": 1e+06, "vectors": 1, "ratio": 0.01, "bytes": 1.2e+07, "skipped": "no \"room\""}]}
)");
  EXPECT_DOUBLE_EQ(measured.ShareOfCopy(), 0.8);
  EXPECT_DOUBLE_EQ(measured.BytesPerSecond(), 2.4e12);
}

}  // namespace
}  // namespace legacy::bench::report_test