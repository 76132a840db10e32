// Sums and differences of the counters of engines.
#include "step.h"

#include <algorithm>

namespace legacy::fabric
{

void Add(EngineCounters& sum, const EngineCounters& other, int64_t times)
{
    sum.events += times * other.events;
    sum.packets += times * other.packets;
    sum.flows += times * other.flows;
    sum.retransmitTimeouts += times * other.retransmitTimeouts;
    sum.rateFloors += times * other.rateFloors;
    sum.roce.cnps += times * other.roce.cnps;
    sum.roce.naks += times * other.roce.naks;
    sum.roce.resent += times * other.roce.resent;
    sum.roce.reordered += times * other.roce.reordered;
    sum.roce.watchdogDrops += times * other.roce.watchdogDrops;
    sum.roce.maxHeadroom = std::max(sum.roce.maxHeadroom, other.roce.maxHeadroom);
    if (other.roce.maxBuffer > sum.roce.maxBuffer)
    {
        sum.roce.maxBuffer = other.roce.maxBuffer;
        sum.roce.bufferBytes = other.roce.bufferBytes;
    }
    sum.skipped.bytes += times * other.skipped.bytes;
    sum.skipped.skippedBytes += times * other.skipped.skippedBytes;
    sum.skipped.checked += times * other.skipped.checked;
    sum.skipped.difference += static_cast<double>(times) * other.skipped.difference;
    sum.skipped.largest = std::max(sum.skipped.largest, other.skipped.largest);
}

EngineCounters Difference(EngineCounters after, const EngineCounters& before)
{
    after.events -= before.events;
    after.packets -= before.packets;
    after.flows -= before.flows;
    after.retransmitTimeouts -= before.retransmitTimeouts;
    after.rateFloors -= before.rateFloors;
    after.roce.cnps -= before.roce.cnps;
    after.roce.naks -= before.roce.naks;
    after.roce.resent -= before.roce.resent;
    after.roce.reordered -= before.roce.reordered;
    after.roce.watchdogDrops -= before.roce.watchdogDrops;
    after.skipped.bytes -= before.skipped.bytes;
    after.skipped.skippedBytes -= before.skipped.skippedBytes;
    after.skipped.checked -= before.skipped.checked;
    after.skipped.difference -= before.skipped.difference;
    return after;
}

std::vector<LinkCounters> Difference(std::vector<LinkCounters> after,
                                     const std::vector<LinkCounters>& before)
{
    for (size_t i = 0; i < before.size(); ++i)
    {
        after[i].bytes -= before[i].bytes;
        after[i].backgroundBytes -= before[i].backgroundBytes;
        after[i].packets -= before[i].packets;
        after[i].drops -= before[i].drops;
        after[i].marks -= before[i].marks;
        after[i].busy -= before[i].busy;
        after[i].pauses -= before[i].pauses;
        after[i].paused -= before[i].paused;
    }
    return after;
}

void Add(std::vector<LinkCounters>& sums, const std::vector<LinkCounters>& step, int64_t times)
{
    sums.resize(step.size());
    for (size_t i = 0; i < step.size(); ++i)
    {
        sums[i].bytes += times * step[i].bytes;
        sums[i].backgroundBytes += times * step[i].backgroundBytes;
        sums[i].packets += times * step[i].packets;
        sums[i].drops += times * step[i].drops;
        sums[i].marks += times * step[i].marks;
        sums[i].busy += times * step[i].busy;
        sums[i].pauses += times * step[i].pauses;
        sums[i].paused += times * step[i].paused;
        sums[i].pauseRoot = step[i].pauseRoot < 0 ? sums[i].pauseRoot : step[i].pauseRoot;
        sums[i].maxQueueBytes = std::max(sums[i].maxQueueBytes, step[i].maxQueueBytes);
        sums[i].peak = std::max(sums[i].peak, step[i].peak);
    }
}

} // namespace legacy::fabric
