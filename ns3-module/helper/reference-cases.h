/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_REFERENCE_CASES_H
#define LEGACY_REFERENCE_CASES_H

#include "base/units.h"

#include <cstdint>
#include <string>
#include <vector>

// This header includes no ns-3 headers, because the rest of the project is C++20, and the headers
// of ns-3 3.37 are not.

namespace legacy
{
namespace fabric
{

/// A long NewReno flow over one link that loses packets at random.
struct MathisCase
{
    double lossRate = 1e-3;            ///< fraction of packets lost in each direction
    TimeNs roundTrip = 50'000'000;     ///< round trip without queueing
    TimeNs duration = 180'000'000'000; ///< measured time, after the warm-up
    TimeNs warmUp = 20'000'000'000;  ///< time of the first slow start and its losses, not measured
    int64_t rateBps = 1'000'000'000; ///< rate of the link
    uint64_t seed = 1;
};

/// The measured goodput, and MSS / RTT sqrt(1.5 / p) (Mathis, Semke, Mahdavi, Ott, ACM CCR 27(3),
/// 1997).
struct MathisResult
{
    double lossRate = 0;
    TimeNs roundTrip = 0;
    double goodputBps = 0; ///< measured payload, bits per second
    double formulaBps = 0;
};

/**
 * \ingroup legacy
 * \return loss rates of 1e-2, 1e-3 and 1e-4, each with round trips of 50 and of 10 ms
 */
std::vector<MathisCase> MathisCases();
/**
 * Simulates the case. Like RunSimGridCases, throws Error while another ns-3 simulation is alive in
 * this process.
 * \param reference case to simulate
 * \return measured and expected goodput
 */
MathisResult RunMathisCase(const MathisCase& reference);

/// A transfer for which SimGrid publishes the time of ns-3.
struct SimGridResult
{
    std::string name;     ///< name of the platform, or of its two hosts
    int64_t bytes = 0;    ///< bytes transferred
    double published = 0; ///< seconds, to six decimals
    double measured = 0;  ///< seconds
};

/**
 * \ingroup legacy
 * Runs SimGrid's examples/cpp/network-ns3 (s4u-network-ns3-timed) on onelink.xml and
 * small_platform.xml with SimGrid's settings: NewReno, segments of 1,000 bytes, an ACK for every
 * segment, no timestamps, and writes of at most 1,040 bytes. Each transfer lasts until the sender's
 * connection is closed.
 * \return the three transfers
 */
std::vector<SimGridResult> RunSimGridCases();

} // namespace fabric
} // namespace legacy

#endif // LEGACY_REFERENCE_CASES_H
