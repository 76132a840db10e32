#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <fstream>

#include "ns3-module/fabric/schedule/link-trace-yaml.h"
#include "ns3-module/fabric/schedule/link-trace.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::link_trace_test {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
constexpr double kMegabit = 1e6;

std::string FileOf(const std::string& text) {
  const std::string path = OwnFolder() + "link_trace_test.csv";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Returns the message about a file with `text`, without its path.
std::string ErrorOf(const std::string& text, const std::string& keys = "",
                    const std::string& type = "csv") {
  const std::string path = FileOf(text);
  std::string message = MessageOf([&] { ParseSchedule(type + ":" + path + keys, "link"); });
  const size_t at = message.find(path);
  if (at != std::string::npos) message.replace(at, path.size(), "FILE");
  return message;
}

LinkSchedule Parse(const std::string& text, int64_t rate = 1'000'000) {
  return ParseSchedule(text, "link").For(rate);
}

double FinishMs(const LinkSchedule& schedule, double start, double bytes) {
  return static_cast<double>(schedule.Finish(static_cast<TimeNs>(start * 1e9), bytes * 8)) / 1e6;
}

TEST(LinkTrace, OneCurveInFourFormsHasTheTimesOfTheSpecification) {
  // 2 Mbit/s for 1 s, 0 for 1 s, 8 Mbit/s for 1 s, repeating. Mahimahi's lines are deliveries of
  // 1,500 bytes: 2 Mbit/s is not a whole number of them, so it has a curve of its own below.
  const std::string csv = FileOf("time_s,mbps\n0,2\n1,0\n2,8\n");
  const YAML::Node list = YAML::Load(
      "[{at: 0s, rate: 2Mbps}, {at: 1s, rate: 0}, {at: 2s, rate: 8 Mbit/s}, {period: 3s}]");
  const YAML::Node map = YAML::Load("{csv: '" + csv + "', column: mbps}");
  for (const LinkSchedule& schedule :
       {Parse("csv:" + csv), Parse("steps:0s=2Mbps,1s=0Mbps,2s=8Mbps,period=3s"),
        ReadSchedule("file.yaml", list).For(1), ReadSchedule("file.yaml", map).For(1)}) {
    EXPECT_DOUBLE_EQ(FinishMs(schedule, 0, 125'000), 500);
    EXPECT_DOUBLE_EQ(FinishMs(schedule, .5, 125'000), 1000);
    EXPECT_DOUBLE_EQ(FinishMs(schedule, .5, 250'000), 2125);
    EXPECT_DOUBLE_EQ(FinishMs(schedule, 1.2, 1e6), 3000);
    EXPECT_DOUBLE_EQ(FinishMs(schedule, 0, 5e6), 12'000);
    EXPECT_EQ(schedule.RateAt(kSecond * 3 / 2), 0);
  }
}

TEST(LinkTrace, MahimahiAgreesWithCsvOfTheSameCurve) {
  // 12 Mbit/s is a delivery a millisecond; 1.2 Mbit/s is one in ten.
  std::string stamps;
  for (int ms = 1; ms < 500; ++ms) stamps += std::to_string(ms) + "\n";
  stamps.insert(0, "0\n");
  for (int ms = 500; ms < 1000; ms += 10) stamps += std::to_string(ms) + "\r\n";
  stamps += "1000\n";  // one more, at the end of the period
  const std::string path = OwnFolder() + "link_trace_test.mahi";
  std::ofstream(path, std::ios::binary) << stamps;
  const LinkSchedule mahimahi = Parse("mahimahi:" + path + ":bin=100ms");
  EXPECT_EQ(mahimahi.RateAt(0), 12'000'000);
  EXPECT_EQ(mahimahi.RateAt(kSecond / 2), 1'200'000);
  EXPECT_EQ(mahimahi.RateAt(kSecond * 95 / 100), 1'320'000);
  EXPECT_EQ(mahimahi.RateAt(kSecond), 12'000'000);
  const std::string csv = FileOf("time_s,mbps\n0,12\n.5,1.2\n.9,1.32\n");
  const LinkSchedule rows = Parse("csv:" + csv);
  // The median gap of the rows is .45 s; until .9 s both are the same.
  for (double bytes : {1e3, 1e5, 7e5, 7.5e5}) {
    EXPECT_DOUBLE_EQ(FinishMs(mahimahi, 0, bytes), FinishMs(rows, 0, bytes)) << bytes;
  }
  // All bits of the period, whatever the bins are.
  for (const char* bin : {"1ms", "70ms", "100ms", "3s"}) {
    const LinkSchedule binned = Parse("mahimahi:" + path + ":bin=" + bin);
    EXPECT_NEAR(binned.Bits(0, kSecond), 551 * 12'000, 20) << bin;
  }
}

TEST(LinkTrace, AveragesEqualTimesAndHoldsTheLastValueForTheMedianGap) {
  const LinkSchedule schedule = Parse("csv:" + FileOf("time_s,mbps\n5,1\n5,3\n6,4\n8,10\n11,1\n"));
  EXPECT_EQ(schedule.RateAt(0), 2'000'000);  // the file's first time is the trace's 0
  EXPECT_EQ(schedule.RateAt(kSecond), 4'000'000);
  EXPECT_EQ(schedule.RateAt(6 * kSecond), 1'000'000);
  EXPECT_EQ(schedule.RateAt(8 * kSecond), 2'000'000);  // gaps 1, 2, 3 s: again after 6 + 2 s
  EXPECT_EQ(schedule.NextChange(6 * kSecond), 8 * kSecond);
}

TEST(LinkTrace, ScalesShiftsAndAddsOutages) {
  const std::string csv = FileOf("trace,time_s,mbps,up\na,0,1,9\na,1,3,9\nb,0,5,2\nb,2,7,4\n");
  const LinkSchedule mean = Parse("csv:" + csv + ":trace=b,scale=mean,offset=2s", 12'000'000);
  EXPECT_EQ(mean.MeanRate(), 12'000'000);
  EXPECT_EQ(mean.RateAt(0), 14'000'000);
  EXPECT_EQ(Parse("csv:" + csv + ":trace=1,column=up,scale=.5").RateAt(3 * kSecond), 2'000'000);
  const LinkSchedule out = Parse("csv:" + csv + ";outage:from=500ms,for=1s", 1);
  EXPECT_EQ(out.RateAt(kSecond / 4), 1'000'000);
  EXPECT_EQ(out.RateAt(kSecond / 2), 0);
  EXPECT_EQ(out.RateAt(kSecond * 3 / 2), 3'000'000);
  const LinkSchedule own = Parse("outage:from=60s,for=30s", 5'000'000);
  EXPECT_EQ(own.RateAt(59 * kSecond), 5'000'000);
  EXPECT_EQ(own.NextChange(0), 60 * kSecond);
  EXPECT_EQ(own.RateAt(90 * kSecond), 5'000'000);
  EXPECT_EQ(Parse("outage:from=1m", 5).Finish(0, 1e9), kNever);
  EXPECT_EQ(ReadSchedule("f", YAML::Load("{from: 60s, for: 30s}")).For(5).RateAt(60 * kSecond), 0);
}

TEST(LinkTrace, RefusesWhatUploadsOfDownloadTestsAre) {
  const std::string text = "time_s,dl_mbps,ul_mbps\n0,50,.1\n1,60,.2\n";
  EXPECT_EQ(ErrorOf(text, ":column=ul_mbps"),
            "link: column of FILE: got 'ul_mbps'; allowed: dl_mbps; while something was "
            "downloaded, uploads were acknowledgements, which say nothing of the line "
            "(yes_acks=on takes them all the same)");
  const std::string path = FileOf(text);
  EXPECT_EQ(Parse("csv:" + path + ":column=ul_mbps,yes_acks=on").RateAt(0), 100'000);
  EXPECT_EQ(Parse("csv:" + path).RateAt(0), 50'000'000);  // dl_mbps is what is left
}

TEST(LinkTrace, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf("time_s,mbps\n0,1\n2,1\n1,1\n"),
            "FILE:4: time_s: got '1'; allowed: times that do not go back within a trace");
  EXPECT_EQ(ErrorOf("time_s,mbps\n3,1\n"),
            "FILE:2: times of a trace: got '1'; allowed: two or more different ones, as their gaps "
            "say how long the last value holds");
  EXPECT_EQ(ErrorOf("trace,time_s,mbps\na,0,1\na,1,1\nb,0,1\nb,0,2\n").substr(0, 26),
            "FILE:4: times of a trace: ");
  EXPECT_EQ(ErrorOf("time_s,mbps\n0,1\n1,nan\n"),
            "FILE:3: mbps: got 'nan'; allowed: a number from 0 to 1000000000");
  EXPECT_EQ(ErrorOf("time_s,mbps\n0,1\n1,-2\n").substr(0, 20), "FILE:3: mbps: got '-");
  EXPECT_EQ(ErrorOf("time_s,mbps\n0,0\n1,0\n"),
            "FILE:2: link schedule: rates: got 'all 0'; allowed: at least one above 0 bit/s");
  EXPECT_EQ(ErrorOf("time_s,rate\n0,1\n"), "FILE:1: column: got 'mbps'; allowed: time_s, rate");
  EXPECT_EQ(ErrorOf("time_s,mbps\n"), "FILE: no rows");
  EXPECT_EQ(ErrorOf("time_s,mbps\n0,1\n1,1\n", ":trace=3"),
            "link: trace: got '3'; allowed: a trace's name, or its number from 0 to 0");
  EXPECT_NE(
      ErrorOf("time_s,mbps\n0,1\n1,1\n", ":tracks=3").find("unknown key of csv: got 'tracks'"),
      std::string::npos);
  EXPECT_EQ(ErrorOf("5\n4\n", "", "mahimahi"),
            "FILE:2: got '4'; allowed: a whole number of milliseconds, not before that of the line "
            "above");
  EXPECT_EQ(ErrorOf("0\n", "", "mahimahi").substr(0, 24), "FILE: its last line: got");
  const auto text_error = [](const char* text) {
    return MessageOf([&] { ParseSchedule(text, "link"); });
  };
  EXPECT_EQ(text_error("lte.csv"),
            "link: got 'lte.csv'; allowed: csv:FILE, mahimahi:FILE, steps:0s=RATE,... or "
            "outage:from=TIME,for=TIME");
  EXPECT_EQ(text_error("steps:1s=5Mbps").substr(0, 28), "link: link schedule: points:");
  EXPECT_EQ(text_error("steps:0s=5Mbps,5").substr(0, 13), "link: got '5'");
  EXPECT_EQ(text_error("steps:0s=0furlongs").substr(0, 22), "link: got '1furlongs';");
  EXPECT_EQ(text_error("outage:from=1s,for=0s"), "link: for: got '0s'; allowed: above 0 s");
  EXPECT_EQ(text_error("outage:from=1s;outage:from=2s;steps:0s=1Mbps"),
            "link: got 'steps:0s=1Mbps'; allowed: outages after ';'");
  EXPECT_EQ(MessageOf([] {
              ReadSchedule("net.yaml", YAML::Load("[{at: 0s, rate: 1Mbps}, {at: 1s, rte: 2}]"));
            }),
            "net.yaml:1:25: rate: got 'nothing'; allowed: a rate with its unit, 1bps to 1000Tbps, "
            "such as 1Gbps or 400 Mbit/s");
}

// The first trace of each set: how many there are, how long it is, and when 1 MB has left.
struct Oracle {
  const char* file;
  size_t traces;
  double period;
  double one_megabyte;
};

class SharedTraces : public ::testing::TestWithParam<Oracle> {};

TEST_P(SharedTraces, HaveTheCountsAndTimesOfTheSpecification) {
  const Oracle& oracle = GetParam();
  TraceRequest request;
  request.file = SharedData("bandwidth_traces/" + std::string(oracle.file));
  if (request.file.empty()) GTEST_SKIP() << "shared/data/bandwidth_traces is absent";
  const std::vector<Trace> traces = ReadTraces(request);
  EXPECT_EQ(traces.size(), oracle.traces);
  const LinkSchedule& first = traces.front().schedule;
  const auto period = static_cast<TimeNs>(oracle.period * 1e9);
  EXPECT_NEAR(first.Bits(0, period), first.Bits(period, 2 * period), 8);
  EXPECT_NEAR(first.Bits(0, period) / oracle.period, static_cast<double>(first.MeanRate()), 8);
  EXPECT_NEAR(static_cast<double>(first.Finish(0, 8 * kMegabit)) / 1e9, oracle.one_megabyte, 2e-6);
}

INSTANTIATE_TEST_SUITE_P(
    All, SharedTraces,
    ::testing::Values(Oracle{"hsdpa_norway_3g.csv.gz", 80, 155.250, 1.832650},
                      Oracle{"oboe.csv.gz", 428, 178.480, 2.531474},
                      Oracle{"fcc_broadband.csv.gz", 88, 180, 10.039598},
                      Oracle{"puffer_2022-02-18_sample.csv.gz", 60, 1921.379, 5.861548},
                      Oracle{"5g_ireland_download.csv.gz", 21, 2282, 6.224784}),
    [](const auto& info) { return std::string(info.param.file).substr(0, 4); });

TEST(LinkTrace, TenMegabytesOverNorwaysFirstTrace) {
  TraceRequest request;
  request.file = SharedData("bandwidth_traces/hsdpa_norway_3g.csv.gz");
  if (request.file.empty()) GTEST_SKIP() << "shared/data/bandwidth_traces is absent";
  const LinkSchedule first = ReadTraces(request).front().schedule;
  EXPECT_NEAR(static_cast<double>(first.Finish(0, 80 * kMegabit)) / 1e9, 19.360649, 2e-6);
}

}  // namespace
}  // namespace legacy::fabric::link_trace_test
