// Measurements of an experiment side by side: times over repetitions, differences between
// fidelities, and how tables write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/network/fidelity.h"
#include "scenarios/network/measure.h"

namespace legacy {

// Returns the sum in nanoseconds, which need not fit TimeNs.
double SumOf(const std::vector<TimeNs>& times);

// RepeatedTimes are those at one fidelity, over its repetitions.
struct RepeatedTimes {
  double least = 0;  // seconds
  double mean = 0;
  double most = 0;
};
RepeatedTimes TimesOf(const std::vector<const Measurement*>& measurements);

// Returns the measurements at one fidelity.
std::vector<const Measurement*> MeasurementsAt(const std::vector<Measurement>& all,
                                               Fidelity fidelity);

// Returns the fidelity with which others are compared.
Fidelity ReferenceOf(const std::vector<Fidelity>& fidelities);
// Returns the difference relative to the reference; nothing for the reference itself.
std::optional<double> DifferenceOf(const PreparedExperiment& prepared,
                                   const std::vector<Measurement>& measurements,
                                   const Measurement& m);

// LinkStats are sums over all links, and the longest queue.
struct LinkStats {
  int64_t bytes = 0;
  int64_t drops = 0;
  int64_t marks = 0;
  int64_t max_queue_bytes = 0;
};
LinkStats StatsOf(const std::vector<fabric::LinkCounters>& links);

// Returns the protocol of the first bucket, which may have been chosen.
fabric::Protocol ProtocolOf(const PreparedExperiment& prepared);

// Return a difference, a rate and a time as tables show them.
std::string DifferenceText(const std::optional<double>& ratio);
std::string RateText(double bits_per_second);
std::string TimeText(double seconds);

}  // namespace legacy
