#include "scenarios/network/compared_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/number.h"

namespace legacy {

double SumOf(const std::vector<TimeNs>& times) {
  return static_cast<double>(std::accumulate(times.begin(), times.end(), WideTime{0}));
}

RepeatedTimes TimesOf(const std::vector<const Measurement*>& measurements) {
  RepeatedTimes times{INFINITY, 0, 0};
  for (const Measurement* m : measurements) {
    const double seconds = InSeconds(m->Time());
    times.least = std::min(times.least, seconds);
    times.most = std::max(times.most, seconds);
    times.mean += seconds / static_cast<double>(measurements.size());
  }
  return times;
}

std::vector<const Measurement*> MeasurementsAt(const std::vector<Measurement>& all,
                                               Fidelity fidelity) {
  std::vector<const Measurement*> at;
  for (const Measurement& m : all) {
    if (m.fidelity == fidelity) at.push_back(&m);
  }
  return at;
}

Fidelity ReferenceOf(const std::vector<Fidelity>& fidelities) {
  const bool packet = std::ranges::find(fidelities, Fidelity::kPacket) != fidelities.end();
  return packet ? Fidelity::kPacket : fidelities.front();
}

std::optional<double> DifferenceOf(const PreparedExperiment& prepared,
                                   const std::vector<Measurement>& measurements,
                                   const Measurement& m) {
  const Fidelity reference = ReferenceOf(prepared.experiment.fidelities);
  if (m.fidelity == reference) return std::nullopt;
  for (const Measurement& other : measurements) {
    if (other.fidelity == reference && other.repetition == m.repetition && other.Time() > 0) {
      return InSeconds(m.Time()) / InSeconds(other.Time()) - 1;
    }
  }
  return std::nullopt;
}

LinkStats StatsOf(const std::vector<fabric::LinkCounters>& links) {
  LinkStats stats;
  for (const fabric::LinkCounters& link : links) {
    stats.bytes += link.bytes;
    stats.drops += link.drops;
    stats.marks += link.marks;
    stats.max_queue_bytes = std::max(stats.max_queue_bytes, link.maxQueueBytes);
  }
  return stats;
}

fabric::Protocol ProtocolOf(const PreparedExperiment& prepared) {
  return SpecOf(prepared.experiment, prepared.algorithm, *prepared.network, 0).protocol;
}

std::string DifferenceText(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:+.2f} %", 100 * *ratio) : "reference";
}

std::string RateText(double bits_per_second) { return FormatRate(std::llround(bits_per_second)); }

std::string TimeText(double seconds) { return FormatTime(std::llround(1e9 * seconds)); }

}  // namespace legacy
