// Users' own traces: what is read, what is refused and where, and the times of their steps.
#include "trainer/clock/ddp_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "trainer/clock/measured_clock.h"

namespace legacy::ddp_trace_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrace = R"(# by hand
legacy-trace 1
workers 2
layer conv 100   # elements
layer bn 4
layer fc 1000
method dense
step 3
  compute 0.5
  bucket fc
    ready 0.25
    send all-reduce 4000
  bucket bn..conv
    ready 0.5
    send all-reduce 416
step
  compute 0.5 1
  rate 0.1
  loss nan
  accuracy 0.75 1.5
  bucket conv..fc
    ready 0.5 0.75
    elements 11
    encode 0.125
    send broadcast 0 80
    decode 0.25
    encode 0.5
    send all-gather 7 9
    decode 1
method topk
step
  compute 2
)";

class DdpTraceFile : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }

  DdpTrace Read(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
    return ReadDdpTrace(path_);
  }
  // Returns the message of reading after `old` (which must be there) is replaced by `fresh`,
  // without the path.
  std::string After(const std::string& old, const std::string& fresh) const {
    std::string text = kTrace;
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return Refusal(text.replace(at, old.size(), fresh));
  }
  std::string Refusal(const std::string& text) const {
    try {
      Read(text);
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(path_.string() + ":"), 0u) << message;
      return message.substr(path_.string().size() + 1);
    }
    return "no error";
  }

  const fs::path path_ =
      fs::path(::testing::TempDir()) / ("ddp-trace-" + std::to_string(getpid()) + ".trace");
};

TEST_F(DdpTraceFile, IsReadWhole) {
  const DdpTrace trace = Read(kTrace);
  EXPECT_EQ(trace.workers, 2);
  ASSERT_EQ(trace.layers.size(), 3u);
  EXPECT_EQ(trace.layers[1].numel, 4);
  EXPECT_EQ(trace.layers[2].offset, 104);
  ASSERT_EQ(trace.trainings.size(), 2u);
  EXPECT_EQ(trace.trainings[0].method, "dense");
  EXPECT_EQ(trace.trainings[0].Steps(), 4);
  const TraceStep& first = trace.trainings[0].steps[0];
  EXPECT_EQ(first.count, 3);
  EXPECT_EQ(first.buckets[1].elements, 104);
  EXPECT_EQ(first.buckets[1].layers.front(), std::pair(1, 0));
  EXPECT_FALSE(first.loss || first.buckets[0].sent);
  EXPECT_TRUE(first.metrics.empty());
  const TraceStep& last = trace.trainings[0].steps[1];
  EXPECT_EQ(last.compute.Of(0), 0.5);
  EXPECT_EQ(last.compute.Of(1), 1);
  EXPECT_TRUE(std::isnan(*last.loss));
  EXPECT_EQ(*last.learning_rate, 0.1);
  ASSERT_EQ(trace.metrics.size(), 1u);
  EXPECT_EQ(trace.metrics[0].name, "accuracy");
  EXPECT_TRUE(trace.metrics[0].fraction);
  EXPECT_EQ(last.metrics, std::vector{0.75});
  EXPECT_EQ(*last.test_loss, 1.5);
  EXPECT_EQ(*last.buckets[0].sent, 11);
  EXPECT_TRUE(trace.trainings[1].steps[0].buckets.empty());

  const StepWork work = WorkOf(trace, last, 3);
  EXPECT_EQ(work.step, 3);
  EXPECT_EQ(work.buckets[0].layers, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(work.buckets[0].elements, 1104);
  const std::vector<SentCall>& calls = work.buckets[0].calls;
  EXPECT_EQ(calls[0].collective, Collective::kBroadcast);
  EXPECT_EQ(calls[0].root, 1);
  EXPECT_EQ(calls[1].bytes, (std::vector<int64_t>{7, 9}));
  EXPECT_EQ(work.MessageBytes(1), 89);
  EXPECT_EQ(WorkOf(trace, first, 0).buckets[1].layers, (std::vector<int>{1, 0}));
  EXPECT_EQ(WorkOf(trace, first, 0).buckets[0].calls[0].reduction, Reduction::kSum);
}

TEST_F(DdpTraceFile, LayersHaveShapes) {
  const DdpTrace trace =
      Read("legacy-trace 1\nworkers 1\nlayer a 64x3x7x7\nlayer b 10\nstep\ncompute 1\n");
  EXPECT_EQ(trace.layers[0].shape, (std::vector<int64_t>{64, 3, 7, 7}));
  EXPECT_EQ(trace.layers[0].numel, 9408);
  EXPECT_EQ(trace.layers[1].shape, (std::vector<int64_t>{10}));
  EXPECT_EQ(trace.layers[1].offset, 9408);
}

TEST_F(DdpTraceFile, NeedsOnlyTheRequiredLines) {
  const DdpTrace trace = Read("legacy-trace 1\r\nworkers 4\r\nlayer a 1\r\nstep\r\ncompute 1\r\n");
  EXPECT_EQ(trace.trainings[0].method, kUnnamedMethod);
}

TEST_F(DdpTraceFile, IsPricedAsTheDeviceQueueRuns) {
  const DdpTrace trace = Read(kTrace);
  const MeasuredClock clock(trace.trainings[0], 1, 1);
  const StepWork work = WorkOf(trace, trace.trainings[0].steps[1], 3);
  constexpr TimeNs kMs = 1'000'000;
  const PricedStep step = clock.Price(work, {});
  const fabric::BucketTraffic& bucket = step.traffic.buckets[0];
  EXPECT_EQ(bucket.ready, (std::vector{625 * kMs, 875 * kMs}));  // ready + encode
  EXPECT_EQ(step.traffic.deviceFree, (std::vector{625 * kMs, 1125 * kMs}));
  EXPECT_EQ(step.compute, (std::vector{500 * kMs, 1000 * kMs}));
  EXPECT_EQ(step.encode, (std::vector{125 * kMs, 125 * kMs}));
  EXPECT_EQ(step.late_encode, (std::vector{500 * kMs, 500 * kMs}));
  EXPECT_EQ(bucket.calls[1].computeBefore, (std::vector{750 * kMs, 750 * kMs}));
  EXPECT_EQ(bucket.decode, (std::vector{1000 * kMs, 1000 * kMs}));

  // Devices have twice the speed, codecs four times, and one worker is a straggler.
  const std::vector<double> factors = {1, 3};
  const PricedStep fast = MeasuredClock(trace.trainings[0], 2, 4).Price(work, factors);
  EXPECT_EQ(fast.compute, (std::vector{250 * kMs, 1500 * kMs}));
  EXPECT_EQ(fast.encode, (std::vector<TimeNs>{31'250'000, 93'750'000}));
  EXPECT_EQ(fast.traffic.buckets[0].decode, (std::vector{250 * kMs, 750 * kMs}));
  EXPECT_EQ(clock.ComputeTimes(3, 1, 1, factors), (std::vector{500 * kMs, 3000 * kMs}));
  EXPECT_EQ(clock.ComputeTimes(2, 1, 1, factors), (std::vector{500 * kMs, 1500 * kMs}));
}

TEST_F(DdpTraceFile, MistakesNameTheLine) {
  const struct {
    const char* old;
    const char* fresh;
    const char* message;
  } cases[] = {
      {"legacy-trace 1", "legacy-trace 2", "2:14: version: got '2'; allowed: 1"},
      {"legacy-trace 1", "step", "2:1: first line: got 'step'; allowed: legacy-trace 1"},
      {"workers 2", "workers 0", "3:9: workers: got '0'; allowed: a whole number from 1 to 65536"},
      {"workers 2", "workers 99999999999999999999", "3:9: workers"},
      {"workers 2", "workers 2\nworkers 2", "4:1: keyword: got 'workers'; allowed: workers once"},
      {"workers 2", "", "8:1: keyword: got 'step'; allowed: workers and layers"},
      {"layer bn", "layer conv", "5:7: layer: got 'conv'; allowed: each name once"},
      {"layer bn", "layer b..n", "5:7: layer: got 'b..n'"},
      {"layer bn 4", "layer bn 4.5", "5:10: elements: got '4.5'"},
      {"layer bn 4", "layer bn 4x", "5:12: elements: got ''; allowed: a whole number from 1"},
      {"layer bn 4", "layer bn 4x0x2", "5:12: elements: got '0'"},
      {"layer bn 4", "layer bn 65536x65536", "5:16: elements: got '65536'"},
      {"layer bn 4", "layer bn", "5:9: end of line: got ''; allowed: layer NAME ELEMENTS"},
      {"method topk", "method dense", "30:8: method: got 'dense'; allowed: each name once"},
      {"method dense", "method dense\nmethod x", "8:1: method's end"},
      {"step 3", "step 0", "8:6: steps: got '0'"},
      {"step 3", "step 3 4", "8:8: word: got '4'; allowed: no more than step [COUNT]"},
      {"compute 0.5 1", "compute 0.5 1 2", "17:17: 3 values: got '2'; allowed: one, or one for"},
      {"compute 0.5\n", "compute inf\n", "9:11: seconds: got 'inf'; allowed: a number from 0 to"},
      {"compute 0.5\n", "compute -1\n", "9:11: seconds: got '-1'"},
      {"  compute 2\n", "", "31:5: step's end"},
      {"ready 0.5\n", "ready 0.2\n", "14:11: ready of worker 0: got '0.2'; allowed: at least 0.25"},
      {"ready 0.5 0.75", "ready 0.5 1.1",
       "22:15: ready of worker 1: got '1.1'; allowed: at most 1"},
      {"    ready 0.25\n", "", "11:5: keyword: got 'send'; allowed: ready before send"},
      {"bucket fc\n", "bucket fe\n", "10:10: layer: got 'fe'"},
      {"bucket bn..conv", "bucket bn..conv bn",
       "13:19: layer: got 'bn'; allowed: each layer in one"},
      {"bucket bn..conv", "bucket conv..fc",
       "13:10: layer: got 'conv..fc'; allowed: each layer in"},
      {"all-reduce 4000", "all-reduce 4000 400", "12:26: bytes: got '400'; allowed: 4000, as the"},
      {"all-reduce 4000", "reduce 4000",
       "12:10: collective: got 'reduce'; allowed: all-reduce, all-gather"},
      {"all-reduce 4000", "all-reduce -1", "12:21: bytes: got '-1'"},
      {"broadcast 0 80", "broadcast 8 80",
       "25:22: bytes: got '80'; allowed: 0, as one worker alone"},
      {"accuracy 0.75", "accuracy 75", "20:12: accuracy: got '75'; allowed: a number from 0 to 1"},
      {"    encode 0.5\n    send all-gather 7 9\n    decode 1\n", "    encode 0.5\n",
       "28:1: bucket's end: got 'method'; allowed: send"},
      {"    decode 1\n", "    decode 1\n    decode 1\n", "30:5: keyword: got 'decode'"},
      {"loss nan", "loss\tsmall", "19:8: number: got 'small'; allowed: a number, nan, inf"},
      {"loss nan", "lost 1", "19:3: keyword: got 'lost'; allowed: accuracy, bucket, compute"},
      {"loss nan", "loss \x01", "19:8: word: got '?'; allowed: printable"},
      {"loss nan", "loss \xE9", "19:8: word: got '?'; allowed: printable"},
  };
  for (const auto& entry : cases) {
    const std::string message = After(entry.old, entry.fresh);
    EXPECT_EQ(message.find(entry.message), 0u) << entry.fresh << "\n" << message;
  }
  EXPECT_EQ(Refusal("").find("1:1: first line"), 0u);
  EXPECT_EQ(Refusal("legacy-trace 1\nworkers 2\nlayer a 1\n").find("3:10: end of file"), 0u);
  EXPECT_NE(Refusal(std::string("legacy-trace 1\0", 15)), "no error");
}

constexpr const char* kMetrics = R"(legacy-trace 1
workers 1
layer a 1
metric perplexity lower
metric top5 higher fraction
step
  compute 1
  metric perplexity 120.5 4.75
step
  compute 1
  accuracy 0.5
  metric top5 0.75
)";

TEST_F(DdpTraceFile, DeclaresMetricsWithTheirDirections) {
  const DdpTrace trace = Read(kMetrics);
  EXPECT_EQ(trace.metrics,
            (std::vector<Metric>{{"perplexity", "perplexity", Metric::Better::kLower, false},
                                 {"top5", "top5", Metric::Better::kHigher, true},
                                 {"accuracy", "accuracy", Metric::Better::kHigher, true}}));
  const std::vector<TraceStep>& steps = trace.trainings[0].steps;
  ASSERT_EQ(steps[0].metrics.size(), 3u);  // one of them is known later
  EXPECT_EQ(steps[0].metrics[0], 120.5);
  EXPECT_TRUE(std::isnan(steps[0].metrics[1]) && std::isnan(steps[0].metrics[2]));
  EXPECT_EQ(steps[0].test_loss, 4.75);
  EXPECT_TRUE(std::isnan(steps[1].metrics[0]));
  EXPECT_EQ(steps[1].metrics[1], 0.75);
  EXPECT_EQ(steps[1].metrics[2], 0.5);
}

TEST_F(DdpTraceFile, RefusesMetricsThatAreNone) {
  const auto after = [&](const std::string& old, const std::string& fresh) {
    std::string text = kMetrics;
    return Refusal(text.replace(text.find(old), old.size(), fresh));
  };
  EXPECT_EQ(after("perplexity lower", "perplexity down"),
            "4:19: direction: got 'down'; allowed: higher, lower");
  EXPECT_EQ(after("higher fraction", "higher percent"),
            "5:20: unit: got 'percent'; allowed: fraction");
  EXPECT_EQ(after("metric top5", "metric perplexity"),
            "5:8: metric: got 'perplexity'; allowed: each name once");
  EXPECT_EQ(after("metric top5 h", "metric Top5 h"),
            "5:8: metric: got 'Top5'; allowed: small letters, digits and _, the first a letter");
  EXPECT_EQ(after("top5 higher fraction", "accuracy lower").find("5:1: accuracy: got 'metric'; "),
            0u);
  EXPECT_EQ(after("  metric perplexity 120.5", "  metric bleu 1").find("8:10: metric: got 'bleu'"),
            0u);
  EXPECT_EQ(after("top5 0.75", "top5 75"), "12:15: top5: got '75'; allowed: a number from 0 to 1");
  EXPECT_EQ(after("120.5", "-1").find("8:21: perplexity: got '-1'; allowed: a number from 0"), 0u);
  EXPECT_EQ(after("metric top5 0.75", "accuracy 0.5").find("12:3: keyword: got 'accuracy'"), 0u);
  EXPECT_EQ(after("  accuracy 0.5\n  metric top5 0.75", "  accuracy 0.5 1\n  metric top5 0.75 1"),
            "12:20: test loss: got '1'; allowed: one in a step");
  std::string many = "legacy-trace 1\n";
  for (int i = 0; i < 65; ++i) many += "metric m" + std::to_string(i) + " lower\n";
  EXPECT_EQ(Refusal(many).find("66:1: metrics: got 'metric'; allowed: at most 64"), 0u);
}

// Short lines must not ask for more memory than there is.
TEST_F(DdpTraceFile, RefusesShortLinesForHugeCounts) {
  const std::string head = "legacy-trace 1\nworkers 65536\nlayer a 1\n";
  std::string text = head + "step\ncompute 1\nbucket a\nready 1\n";
  for (int i = 0; i < 257; ++i) text += "send all-reduce 1\n";
  EXPECT_NE(Refusal(text).find("messages of a step"), std::string::npos);
  EXPECT_NE(Refusal(head + "step 9999999\ncompute 1\nstep 2\ncompute 1\n").find("steps of a train"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::ddp_trace_test