// Traces: slices of one track never overlap, and add up to the step.
#include "scenarios/network/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/network/outputs.h"
#include "tests/network/network_testing.h"

namespace legacy::trace_test {
namespace {

using nlohmann::json;

struct Slice {
  double start;
  double end;
  std::string name;
};
using Tracks = std::map<std::pair<int, int>, std::vector<Slice>>;  // process and thread

Tracks TracksOf(const json& trace) {
  Tracks tracks;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double start = event["ts"];
    tracks[{event["pid"], event["tid"]}].push_back(
        {start, start + event["dur"].get<double>(), event["name"]});
  }
  return tracks;
}

// A step of three workers with buckets and a straggler has two collective calls; the second needs
// the device, and decoding follows.
TEST(Trace, DeviceAndWaitFillTheStep) {
  const PreparedExperiment prepared =
      Prepare(ExperimentWith({{"workers", "3"},
                              {"buckets", "2"},
                              {"compute", "1ms"},
                              {"stragglers", "fixed:workers=1,factor=2"}}));
  fabric::StepTraffic traffic =
      TrafficOf(prepared.experiment, prepared.algorithm, *prepared.network, 0);
  for (fabric::BucketTraffic& bucket : traffic.buckets) {
    bucket.decode = {300'000, 200'000, 100'000};
    bucket.calls.push_back(bucket.calls.front());
    bucket.calls.back().computeBefore = {50'000, 60'000, 70'000};
  }
  FlowRecorder recorder;
  fabric::StepSimulator simulator(recorder.Wrap(FactoryOf(Fidelity::kAnalytic, "")),
                                  prepared.network->request, false);
  const fabric::StepTiming timing = simulator.Simulate(traffic, 0);
  TracedStep step{"step 7", 1'000'000, &traffic, &timing, {}, recorder.Take()};
  step.encode.assign(2, {10'000, 10'000, 10'000});
  Trace trace(EndpointNames(prepared.network->topology, prepared.network->placement), {0, 1, 2});
  trace.Add(step);
  const json document = json::parse(trace.Finish());
  Tracks tracks = TracksOf(document);
  for (int worker = 0; worker < 3; ++worker) {
    std::vector<Slice> slices = tracks[{worker, 0}];
    double decode = 0;
    for (const Slice& slice : slices) {
      if (slice.name.find("decode") != std::string::npos) decode += slice.end - slice.start;
    }
    EXPECT_NEAR(decode, 2 * (worker == 0 ? 300 : worker == 1 ? 200 : 100), 1e-6);
    slices.insert(slices.end(), tracks[{worker, 1}].begin(), tracks[{worker, 1}].end());
    std::sort(slices.begin(), slices.end(),
              [](const Slice& a, const Slice& b) { return a.start < b.start; });
    double now = 1000;  // microseconds
    for (const Slice& slice : slices) {
      EXPECT_NEAR(slice.start, now, 1e-6) << slice.name;
      EXPECT_EQ(slice.name.rfind("step 7: ", 0), 0u);
      now = slice.end;
    }
    EXPECT_NEAR(now, 1000 + static_cast<double>(timing.total) / 1000, 1e-6);
  }
}

// With many flows at once, lanes keep them apart, every arrow that leaves arrives, and both ends
// show every flow.
TEST(Trace, FlowsInLanesWithArrows) {
  const PreparedExperiment prepared =
      Prepare(ExperimentWith({{"workers", "6"}, {"collective", "direct-allgather"}}));
  const std::vector<Measurement> measurements = Measure(prepared, {true, {}});
  const json document = json::parse(TraceJson(prepared, measurements, {0, 1, 2, 3, 4, 5}));
  size_t flows = 0;
  for (auto& [track, slices] : TracksOf(document)) {
    if (track.second < 100) continue;
    flows += slices.size();
    std::sort(slices.begin(), slices.end(),
              [](const Slice& a, const Slice& b) { return a.start < b.start; });
    for (size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].start, slices[i - 1].end - 1e-6);
  }
  EXPECT_EQ(flows, 2u * 30);
  std::map<int, int> arrows;
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] == "s") arrows[event["id"]] += 1;
    if (event["ph"] == "f") arrows[event["id"]] += 10;
  }
  EXPECT_EQ(arrows.size(), 30u);
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, 11) << id;
}

TEST(Trace, ShowsOnlyWhatIsAskedFor) {
  const PreparedExperiment prepared = Prepare(ExperimentWith({{"workers", "4"}}));
  const std::vector<Measurement> measurements = Measure(prepared, {true, {}});
  const json document = json::parse(TraceJson(prepared, measurements, {2}));
  for (const json& event : document["traceEvents"]) EXPECT_EQ(event["pid"], 2);
  EXPECT_EQ(TracksOf(document).count({2, 100}), 1u);
}

TEST(Trace, EndpointLists) {
  EXPECT_EQ(ParseEndpoints("0-2,5", 6, "--x"), (std::set<int>{0, 1, 2, 5}));
  EXPECT_EQ(ParseEndpoints("all", 3, "--x"), (std::set<int>{0, 1, 2}));
  for (const char* text : {"", "6", "3-1", "a", "1-", "-1"}) {
    EXPECT_NE(MessageOf([&] { ParseEndpoints(text, 6, "--x"); }).find("--x"), std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace legacy::trace_test