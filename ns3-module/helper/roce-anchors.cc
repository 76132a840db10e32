/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-anchors.h"

#include "packet-engine-helper.h"
#include "roce-trial.h"

#include "fabric/roce/telemetry.h"
#include "fabric/step/step.h"

#include <cmath>
#include <utility>

namespace legacy
{
namespace fabric
{

namespace
{

constexpr int64_t kRate = 100'000'000'000;
constexpr TimeNs kDelay = 1000;

/// Returns the option texts that give frames the sizes of ASTRA-sim's on paths of `switches`
/// switches. With HPCC, ASTRA-sim's frames always have room for the telemetry of five switches, and
/// ours have only that of the switches that they pass. The rest is added to the header, so that
/// sizes are equal from the last switch on.
std::string SizesOf(const RoceAnchor& anchor, int switches)
{
    const bool telemetry = anchor.options.find("hpcc") != std::string::npos;
    const int64_t records = telemetry ? IntBytes(switches) : 0;
    const int64_t header = (telemetry ? 78 : 36) - records;
    const int64_t ack = (telemetry ? 76 : 48) - records;
    return "roce:mtu=1000,ack=1,message-header=0,header=" + std::to_string(header) +
           ",ack-bytes=" + std::to_string(ack) + "," + anchor.options;
}

RoceAnchorResult RunIncast(const RoceAnchor& anchor)
{
    RoceTrial trial(RoceStar(anchor.senders + 1, kRate, kDelay), SizesOf(anchor, 1));
    for (int i = 0; i < anchor.senders; ++i)
    {
        trial.Send({i, anchor.senders, anchor.bytes});
    }
    trial.RunUntil();
    return {trial.Last(), trial.Sum(&LinkCounters::pauses), trial.Sum(&LinkCounters::drops)};
}

/// The victim's flow is sent last.
RoceAnchorResult RunVictim(const RoceAnchor& anchor)
{
    const int hosts = anchor.senders + 1;
    RoceTrial trial(RoceTrunk(hosts, 2, kRate, 4 * kRate, kDelay), SizesOf(anchor, 2));
    for (int i = 0; i < anchor.senders; ++i)
    {
        trial.Send({i, hosts, anchor.bytes});
    }
    trial.Send({anchor.senders, hosts + 1, anchor.bytes});
    trial.RunUntil();
    return {
        trial.Arrived().back(), trial.Sum(&LinkCounters::pauses), trial.Sum(&LinkCounters::drops)};
}

RoceAnchorResult RunRing(const RoceAnchor& anchor)
{
    const Topology topology = RoceStar(anchor.senders, kRate, kDelay);
    PlacementRequest workers;
    workers.workers = anchor.senders;
    const Placement placement = MakePlacement(workers, topology);
    EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = MakeTransport(SizesOf(anchor, 1));
    CallTraffic call;
    call.collective.algorithm = CollectiveAlgorithm::RingAllReduce;
    call.collective.bytes.assign(anchor.senders, anchor.bytes);
    BucketTraffic bucket;
    bucket.ready.assign(anchor.senders, 0);
    bucket.calls.push_back(call);
    StepTraffic traffic;
    traffic.workers = anchor.senders;
    traffic.deviceFree.assign(anchor.senders, 0);
    traffic.buckets.push_back(bucket);
    StepSimulator simulator(MakePacketEngine, request);
    const StepTiming& timing = simulator.Simulate(traffic, 0);
    RoceAnchorResult result{timing.total};
    for (const LinkCounters& link : timing.links)
    {
        result.pauses += link.pauses;
        result.drops += link.drops;
    }
    return result;
}

} // namespace

bool RoceAnchorResult::Holds(const RoceAnchor& anchor) const
{
    return std::abs(Ratio(anchor) - 1) <= anchor.tolerance && drops == 0 &&
           2 * pauses >= anchor.pauses && pauses <= 2 * anchor.pauses;
}

std::vector<RoceAnchor> RoceAnchors()
{
    constexpr auto kIncast = RoceAnchorTraffic::Incast;
    constexpr auto kVictim = RoceAnchorTraffic::Victim;
    constexpr double kNone = 0.005;
    constexpr double kHpcc = 0.01;
    constexpr double kDcqcn = 0.02;
    const std::string none = "cc=none";
    const std::string hpcc = "cc=hpcc:stages=0+ai=40Mbps";
    const std::string dcqcn = "cc=dcqcn:parameters=hpcc";
    const std::string small = ",buffer=2MiB";
    const std::string large = ",buffer=32MiB";
    return {
        {"1 kB, none", kIncast, 1, 1'000, none, 2'166, 0, kNone},
        {"1 MB, none", kIncast, 1, 1'000'000, none, 85'083, 0, kNone},
        {"100 MB, hpcc", kIncast, 1, 100'000'000, hpcc, 9'074'501, 0, kHpcc},
        {"8 to 1, none, 32 MiB", kIncast, 8, 1'000'000, none + large, 666'083, 0, kNone},
        {"8 to 1, none, 2 MiB", kIncast, 8, 1'000'000, none + small, 666'083, 200, kNone},
        {"8 to 1, hpcc, 32 MiB", kIncast, 8, 1'000'000, hpcc + large, 739'635, 0, kHpcc},
        {"8 to 1, dcqcn, 32 MiB", kIncast, 8, 1'000'000, dcqcn + large, 1'101'427, 0, kDcqcn},
        {"victim, none, 2 MiB", kVictim, 5, 2'000'000, none + small, 778'718, 296, kNone},
        {"victim, hpcc, 32 MiB", kVictim, 5, 2'000'000, hpcc + large, 191'606, 0, kHpcc},
        {"ring all-reduce, 8 x 8 MB, none",
         RoceAnchorTraffic::Ring,
         8,
         8'000'000,
         none,
         1'245'814,
         0,
         kNone},
    };
}

RoceAnchorResult RunRoceAnchor(const RoceAnchor& anchor)
{
    switch (anchor.traffic)
    {
    case RoceAnchorTraffic::Victim:
        return RunVictim(anchor);
    case RoceAnchorTraffic::Ring:
        return RunRing(anchor);
    default:
        return RunIncast(anchor);
    }
}

} // namespace fabric
} // namespace legacy
