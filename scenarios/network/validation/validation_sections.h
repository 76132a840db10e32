// Validation sections are the parts of validation: one function for each section, which returns its
// tables.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/recorded_table.h"

namespace legacy {

// A SectionRun says how to run a section.
struct SectionRun {
  bool sample = false;  // true: only the quick cases
  int processes = 1;
  std::string traces;  // file of traces of a line instead of drawn ones; empty: drawn
  std::function<void(const std::string& line)> progress;
};

// A SectionResult has the tables of a section.
struct SectionResult {
  ValidationTable csv;                    // all cases
  std::vector<ValidationTable> document;  // for docs/results/validation.md; empty for a sample
  int limits = 0;                         // figures that have a limit
  std::vector<std::string> misses;        // those beyond theirs, one line each

  // Counts a figure that has a limit, and keeps the line of one that is beyond it.
  void Expect(bool within, const std::string& line) {
    ++limits;
    if (!within) misses.push_back(line);
  }
};

// Returns the row of each case, each simulated in a process of its own. Progress shows the `names`
// of the cases.
std::vector<ValidationRow> ForkRows(const SectionRun& run, const std::vector<std::string>& names,
                                    const std::function<ValidationRow(int)>& work);

// Returns the percentile `part` (0.9: the 90th) of the absolute values of a column.
double AbsolutePercentile(const std::vector<ValidationRow>& rows, int column, double part);

// Compare packet runs with published figures: SimGrid's ns-3 timings to all printed digits, Mathis'
// formula within 20 %.
SectionResult ValidateSimGrid(const SectionRun& run);
SectionResult ValidateMathis(const SectionRun& run);
// Compares with the constant of ASTRA-sim's regression test, exactly.
SectionResult ValidateAstraSim(const SectionRun& run);
// Compares all-reduces with bus bandwidths and times by size published for NCCL: large messages
// within 10 %, 1 to 64 MiB by a median of 15 % and none beyond a factor of 2.
SectionResult ValidateNccl(const SectionRun& run);
// Compares a ring's bus bandwidth on 400 Gbit/s with the share that headers and ACKs leave, within
// 1 %.
SectionResult ValidateBusBandwidth(const SectionRun& run);
// Compares every collective on a star with its closed form.
SectionResult ValidateCollectives(const SectionRun& run);
// Compares analytic with flow: every collective on nine fabrics, three of them with nodes of
// several GPUs. Analytic is at most 5 % above and 15 % below over nodes, 10 and 35 % elsewhere.
SectionResult ValidateAnalytic(const SectionRun& run);
// Compares flow with packet over the cases of validation_cases.h: the median error is at most 5 %
// uncongested, 15 % congested.
SectionResult ValidateFidelity(const SectionRun& run);
// Compares packets, those of ns-3's sockets, and flows with completion times of the Linux kernel's
// TCP (linux_tcp/): the median error is at most 5 %, the 90th percentile 15 %, and none is beyond a
// factor of 2; of flows none but those with a starved queue (LinuxCase::Starved).
SectionResult ValidateLinux(const SectionRun& run);
// Compares packets of our own TCP with those of ns-3's sockets, on fabrics, in incasts and over
// long paths with losses: the times differ by 2 % in the median and by 10 % in nine of ten cases.
SectionResult ValidateSockets(const SectionRun& run);

// Compares RoCEv2 at packet fidelity with ASTRA-sim's RDMA model, closed forms and published
// trends; each row has its own target.
SectionResult ValidateRoce(const SectionRun& run);

// Compares flow with packet over lines whose rates change: 20 traces, two sizes, two delays. The
// median error is at most 10 %.
SectionResult ValidateSchedules(const SectionRun& run);

// An AstraRing is ASTRA-sim 2's analytical, congestion-unaware ring of `workers` (its sources:
// astra-sim/system/collective/Ring.cc and the analytical network backend;
// https://github.com/astra-sim/astra-sim).
struct AstraRing {
  int workers = 8;
  int64_t bytes = 1 << 20;
  double link_gib_per_second = 50;  // GiB (2^30 bytes)
  int64_t latency_ns = 500;
  int64_t endpoint_delay_ns = 10;
  int splits = 4;                    // chunks of the collective, one after another
  double memory_gb_per_second = 50;  // GB (10^9 bytes)
};

// Returns splits x [2 (N-1) step + 10 + (N-1) 3 floor(c / memory)] with c = bytes / splits / N and
// step = floor(latency + c / link) + endpoint delay. N - 1 of the steps also reduce, which reads
// two chunks and writes one; 10 ns is ASTRA-sim's cost of a stream.
int64_t AstraRingAllReduceNs(const AstraRing& ring);

}  // namespace legacy
