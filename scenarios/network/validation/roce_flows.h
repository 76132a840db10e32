// Flows of RoCEv2 on small fabrics, and what the checks of RoCEv2 measure of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ns3-module/fabric/topology/topology.h"
#include "ns3-module/helper/roce-trial.h"

namespace legacy::roce_validation {

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kRate = 100 * kGbps;
constexpr TimeNs kDelay = 1000;
constexpr TimeNs kMs = 1'000'000;
constexpr int64_t kEndless = int64_t{1} << 40;  // bytes of a flow that does not end

// Returns the time that a message of `bytes` takes on the wire, with its headers.
double WireNanoseconds(const fabric::RoceTrial& trial, int64_t bytes, int64_t rate = kRate);

// Returns the rates of long flows over the line that they share, between two times. Each sender has
// one flow, so that the bytes of its link are the flow's.
std::vector<double> SharesBetween(fabric::RoceTrial& trial, int senders, TimeNs from, TimeNs until);

// Hosts 0 to 2 send through a trunk, host 3 through a port of its own; all to host 4. HPCC is fair
// to flows of one round trip: there the link of host 3 is as long as the trunk and a link are.
fabric::Topology TwoPorts(int64_t trunk, bool same_trip);

// Returns the shares of a long flow of each of these hosts, from `from` until twice that time.
std::vector<double> SharesOfPorts(const std::string& options, const fabric::Topology& topology,
                                  TimeNs from);

// Five flows go to one host and a victim to another over a link of four times their rate. Returns
// the victim's mean rate over the line's.
double VictimRate(const std::string& options);

// N long flows of 1,000-byte frames to one receiver, sampled.
struct LongFlows {
  std::vector<double> shares;  // of the line
  double queue = 0;            // mean bytes
  double queue99 = 0;          // 99th percentile
  double marks = 0;            // share of frames
  int64_t pauses = 0;
};
// Returns what such flows do between two times at a line of `rate`. All begin at 0 but flow 1,
// which begins at `second`.
LongFlows RunLong(const std::string& options, int flows, int64_t rate, TimeNs from, TimeNs until,
                  TimeNs second = 0);

// Returns the share of the line that all flows have together.
double SumOf(const LongFlows& flows);

}  // namespace legacy::roce_validation
