// What validation compares: one function for each section, from nothing to its tables.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/recorded_table.h"

namespace legacy {

// How a section runs.
struct SectionRun {
  bool sample = false;  // only the quick cases
  int processes = 1;
  std::function<void(const std::string& line)> progress;
};

struct SectionResult {
  ValidationTable csv;                    // all cases
  std::vector<ValidationTable> document;  // for docs/validation.md; empty for a sample
  std::vector<std::string> misses;        // targets that do not hold, one line each
};

// The row of each case, each simulated in a process of its own; `names` of the cases are for
// progress.
std::vector<ValidationRow> ForkRows(const SectionRun& run, const std::vector<std::string>& names,
                                    const std::function<ValidationRow(int)>& work);

// Packet runs against other people's figures: SimGrid's ns-3 timings to all printed digits, Mathis'
// formula within 20 %.
SectionResult ValidateSimGrid(const SectionRun& run);
SectionResult ValidateMathis(const SectionRun& run);
// The constant of ASTRA-sim's regression test, exactly.
SectionResult ValidateAstraSim(const SectionRun& run);
// A ring's bus bandwidth on 400 Gbit/s against what headers and ACKs leave, within 1 %.
SectionResult ValidateBusBandwidth(const SectionRun& run);
// Every collective on a star against its closed form.
SectionResult ValidateCollectives(const SectionRun& run);
// Flow against packet over the cases of validation_cases.h: median error at most 5 % uncongested,
// 15 % congested.
SectionResult ValidateFidelity(const SectionRun& run);

// ASTRA-sim 2's analytical, congestion-unaware ring of `workers` (its sources: astra-sim/system/
// collective/Ring.cc and the analytical network backend; https://github.com/astra-sim/astra-sim).
struct AstraRing {
  int workers = 8;
  int64_t bytes = 1 << 20;
  double link_gib_per_second = 50;  // of 2^30 bytes
  int64_t latency_ns = 500;
  int64_t endpoint_delay_ns = 10;
  int splits = 4;                    // chunks of the collective, one after another
  double memory_gb_per_second = 50;  // of 10^9 bytes
};

// splits x [2 (N-1) step + 10 + (N-1) 3 floor(c / memory)] with c = bytes / splits / N and
// step = floor(latency + c / link) + endpoint delay: N - 1 of the steps also reduce, which reads
// two chunks and writes one; 10 ns are its cost of a stream.
int64_t AstraRingAllReduceNs(const AstraRing& ring);

}  // namespace legacy
