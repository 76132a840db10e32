// Compares flow with packet fidelity on a line whose rate changes over time.
#include <algorithm>
#include <cmath>

#include "base/draws.h"
#include "base/error.h"
#include "base/hash.h"
#include "ns3-module/fabric/schedule/link-trace.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/validation/validation_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

constexpr int kTraces = 20;
constexpr double kMedianPercent = 10;

// Returns a drawn trace of a mobile line: one value per second for a minute, lognormal around 8
// Mbit/s (sigma 0.7), correlated over a few seconds (autoregressive, 0.8), and 0 in one of 20
// seconds.
std::string DrawnTrace(uint64_t number) {
  constexpr int kSeconds = 60;
  constexpr double kMedianMbps = 8;
  constexpr double kSigma = 0.7;
  constexpr double kLikeness = 0.8;
  const auto hash = [&](uint64_t second, uint64_t what) {
    return HashWords({number, second, what, 0x7472});
  };
  std::string text = "steps:";
  double state = NormalDraw(hash(kSeconds, 0));
  for (uint64_t second = 0; second < kSeconds; ++second) {
    state = kLikeness * state + std::sqrt(1 - kLikeness * kLikeness) * NormalDraw(hash(second, 0));
    const bool out = second > 0 && UnitInterval(hash(second, 1)) < 0.05;
    const double mbps = out ? 0 : kMedianMbps * std::exp(kSigma * state);
    text += std::to_string(second) + "s=" + std::to_string(std::llround(mbps * 1000)) + "kbps,";
  }
  return text + "period=60s";
}

// A ScheduleCase is a download over one trace.
struct ScheduleCase {
  std::string name;
  std::string schedule;
  std::string bytes;
  std::string delay;  // delay of each of the two links
  bool quick = false;
};

std::vector<ScheduleCase> Cases(const std::string& file) {
  std::vector<std::pair<std::string, std::string>> traces;
  for (int i = 0; i < kTraces; ++i) {
    const std::string number = std::to_string(i);
    traces.emplace_back("trace " + number, file.empty() ? DrawnTrace(static_cast<uint64_t>(i))
                                                        : "csv:" + file + ":trace=" + number);
  }
  std::vector<ScheduleCase> cases;
  for (const auto& [name, schedule] : traces) {
    for (const char* bytes : {"1MB", "5MB"}) {
      for (const auto& [trip, delay] : {std::pair("20 ms", "5ms"), std::pair("100 ms", "25ms")}) {
        cases.push_back({name + ", " + bytes + ", " + trip, schedule, bytes, delay,
                         name == "trace 0" && file.empty()});
      }
    }
  }
  return cases;
}

ValidationRow DownloadRow(const ScheduleCase& one) {
  const auto measured = [&](const std::string& fidelity) {
    const ValidationCase experiment{
        "topo=star workers=2 bandwidth=100Mbps transport=wan connections=cold "
        "collective=broadcast bytes=" +
            one.bytes + " delay=" + one.delay + " changes=hub>host1@" + one.schedule,
        one.quick, 0};
    return Measure(Prepare(ExperimentOf(experiment, {fidelity})), {}).front();
  };
  const Measurement packet = measured("packet");
  const double packets = InSeconds(packet.Time());
  const double flow = InSeconds(measured("flow").Time());
  const double analytic = InSeconds(measured("analytic").Time());
  return {one.name,
          FormatFixed(packets, 4),
          FormatFixed(flow, 4),
          FormatFixed(analytic, 4),
          FormatFixed(100 * (flow / packets - 1), 2),
          FormatFixed(100 * (analytic / packets - 1), 2),
          std::to_string(packet.timing.counters.retransmitTimeouts)};
}

}  // namespace

SectionResult ValidateSchedules(const SectionRun& run) {
  constexpr int kFlow = 4;
  constexpr int kAnalytic = 5;
  std::vector<ScheduleCase> cases = Cases(run.traces);
  if (run.sample) std::erase_if(cases, [](const ScheduleCase& one) { return !one.quick; });
  std::vector<std::string> names;
  for (const ScheduleCase& one : cases) names.push_back(one.name);
  SectionResult result;
  result.csv = {"schedules",
                {"case", "packet (s)", "flow (s)", "analytic (s)", "flow - packet (%)",
                 "analytic - packet (%)", "time-outs"},
                {}};
  result.csv.rows = ForkRows(run, names, [&](int i) { return DownloadRow(cases[i]); });
  if (run.sample) return result;
  ValidationTable summary{"schedules-summary",
                          {"fidelity", "cases", "median (%)", "90th percentile (%)", "worst (%)"},
                          {}};
  for (const auto& [name, column] : {std::pair("flow", kFlow), std::pair("analytic", kAnalytic)}) {
    summary.rows.push_back({name, std::to_string(cases.size()),
                            FormatFixed(AbsolutePercentile(result.csv.rows, column, 0.5), 1),
                            FormatFixed(AbsolutePercentile(result.csv.rows, column, 0.9), 1),
                            FormatFixed(AbsolutePercentile(result.csv.rows, column, 1), 1)});
  }
  const double median = AbsolutePercentile(result.csv.rows, kFlow, 0.5);
  result.Expect(median <= kMedianPercent, "schedules: median error of flow is " +
                                              FormatFixed(median, 1) + " %, above " +
                                              FormatFixed(kMedianPercent, 0));
  result.document = {summary};
  return result;
}

}  // namespace legacy
