// The fields of networks, steps and what engines say of them, for archives (base/archive.h). A
// binding has as many names as its struct has members, so that a new member is an error here until
// it is written too.
#pragma once

#include "base/archive.h"
#include "fabric/engine/engine.h"
#include "fabric/engine/flow-graph.h"
#include "fabric/roce/roce-settings.h"
#include "fabric/step/step.h"

namespace legacy::fabric
{

template <class Archive>
void Fields(Archive& archive, RoceCounters& c)
{
    auto& [cnps, naks, resent, reordered, watchdogDrops, maxBuffer, bufferBytes, maxHeadroom] = c;
    archive(cnps, naks, resent, reordered, watchdogDrops, maxBuffer, bufferBytes, maxHeadroom);
}

template <class Archive>
void Fields(Archive& archive, SkipCounters& c)
{
    auto& [bytes, skippedBytes, checked, difference, largest] = c;
    archive(bytes, skippedBytes, checked, difference, largest);
}

template <class Archive>
void Fields(Archive& archive, EngineCounters& c)
{
    auto& [events, packets, flows, retransmitTimeouts, rateFloors, roce, skipped] = c;
    archive(events, packets, flows, retransmitTimeouts, rateFloors, roce, skipped);
}

template <class Archive>
void Fields(Archive& archive, LinkCounters& c)
{
    auto& [bytes,
           backgroundBytes,
           packets,
           drops,
           marks,
           maxQueueBytes,
           busy,
           peak,
           pauses,
           paused,
           pauseRoot] = c;
    archive(bytes,
            backgroundBytes,
            packets,
            drops,
            marks,
            maxQueueBytes,
            busy,
            peak,
            pauses,
            paused,
            pauseRoot);
}

template <class Archive>
void Fields(Archive& archive, LinkActivity& a)
{
    auto& [bytes, bitsPerSecond, queueBytes, paused] = a;
    archive(bytes, bitsPerSecond, queueBytes, paused);
}

template <class Archive>
void Fields(Archive& archive, RoceActivity::Pair& p)
{
    auto& [source, destination, number, bitsPerSecond, inFlight] = p;
    archive(source, destination, number, bitsPerSecond, inFlight);
}

template <class Archive>
void Fields(Archive& archive, RoceActivity& a)
{
    auto& [pairs, buffers] = a;
    archive(pairs, buffers);
}

template <class Archive>
void Fields(Archive& archive, RoceFlow& f)
{
    auto& [rateAtEnd, cnps, resent, paused, pauseRoot, victim] = f;
    archive(rateAtEnd, cnps, resent, paused, pauseRoot, victim);
}

template <class Archive>
void Fields(Archive& archive, Flow& f)
{
    auto& [source, destination, bytes, tag, more, lane, opening, channel] = f;
    archive(source, destination, bytes, tag, more, lane, opening, channel);
}

template <class Archive>
void Fields(Archive& archive, HopSlice& s)
{
    auto& [payload, headers] = s;
    archive(payload, headers);
}

template <class Archive>
void Fields(Archive& archive, HopTimes& h)
{
    auto& [launch, pace, factors] = h;
    archive(launch, pace, factors);
}

template <class Archive>
void Fields(Archive& archive, Shard& s)
{
    auto& [push, pull] = s;
    archive(push, pull);
}

template <class Archive>
void Fields(Archive& archive, CollectiveSpec& c)
{
    auto& [algorithm,
           root,
           bytes,
           members,
           pullBytes,
           serve,
           servers,
           shards,
           slots,
           blockBytes,
           group,
           channels,
           protocol,
           gpus,
           pace,
           sumBytes,
           slices,
           hops,
           parents,
           firstAggregator,
           pairBytes,
           order,
           relays,
           pieceBytes,
           window,
           times] = c;
    archive(algorithm,
            root,
            bytes,
            members,
            pullBytes,
            serve,
            servers,
            shards,
            slots,
            blockBytes,
            group,
            channels,
            protocol,
            gpus,
            pace.inside,
            pace.across,
            sumBytes,
            slices,
            hops,
            parents,
            firstAggregator,
            pairBytes,
            order,
            relays,
            pieceBytes,
            window,
            times);
}

template <class Archive>
void Fields(Archive& archive, CallTraffic& c)
{
    auto& [collective, computeBefore] = c;
    archive(collective, computeBefore);
}

template <class Archive>
void Fields(Archive& archive, BucketTraffic& b)
{
    auto& [ready, calls, decode] = b;
    archive(ready, calls, decode);
}

template <class Archive>
void Fields(Archive& archive, ShardedUnit& u)
{
    auto& [gather, gatherAgain, kept, unpack, pack, encode, first, between, reduce, sum, replicas] =
        u;
    archive(gather, gatherAgain, kept, unpack, pack, encode, first, between, reduce, sum, replicas);
}

template <class Archive>
void Fields(Archive& archive, TensorSums& s)
{
    auto& [sum, forward, recompute, backward, stream, beside] = s;
    archive(sum, forward, recompute, backward, stream, beside);
}

template <class Archive>
void Fields(Archive& archive, ShardedSegment& s)
{
    auto& [unit, forward, recompute, backward, weights, sums] = s;
    archive(unit, forward, recompute, backward, weights, sums);
}

template <class Archive>
void Fields(Archive& archive, ShardedStage& s)
{
    auto& [workers, units, chunks, update] = s;
    archive(workers, units, chunks, update);
}

template <class Archive>
void Fields(Archive& archive, ShardedTraffic& s)
{
    auto& [stages,
           schedule,
           messageBytes,
           agreement,
           agree,
           tied,
           announcements,
           announce,
           passes,
           reducesEach,
           gathers,
           prefetch,
           freesAfterUse,
           oneReduction,
           reductionsBlock,
           alone] = s;
    archive(stages,
            schedule,
            messageBytes,
            agreement,
            agree,
            tied,
            announcements,
            announce,
            passes,
            reducesEach,
            gathers,
            prefetch,
            freesAfterUse,
            oneReduction,
            reductionsBlock,
            alone);
}

template <class Archive>
void Fields(Archive& archive, StepTraffic& t)
{
    auto& [workers, deviceFree, buckets, contention, sharded] = t;
    archive(workers, deviceFree, buckets, contention, sharded);
}

template <class Archive>
void Fields(Archive& archive, StepParts& p)
{
    auto& [segments, exposed, scheduled, wait, hidden] = p;
    archive(segments, exposed, scheduled, wait, hidden);
}

template <class Archive>
void Fields(Archive& archive, BucketTiming& b)
{
    auto& [callDone, done] = b;
    archive(callDone, done);
}

template <class Archive>
void Fields(Archive& archive, StepTiming& t)
{
    auto& [buckets, parts, finish, decodeBusy, hidden, total, counters, links] = t;
    archive(buckets, parts, finish, decodeBusy, hidden, total, counters, links);
}

template <class Archive>
void Fields(Archive& archive, StepSimulator::State& s)
{
    auto& [fresh, memoised, totals, known] = s;
    archive(fresh, memoised, totals, known);
}

template <class Archive>
void Fields(Archive& archive, RatePoint& p)
{
    auto& [at, rateBps] = p;
    archive(at, rateBps);
}

template <class Archive>
void Fields(Archive& archive, Outage& o)
{
    auto& [from, until] = o;
    archive(from, until);
}

template <class Archive>
void Fields(Archive& archive, Position& p)
{
    auto& [x, y] = p;
    archive(x, y);
}

template <class Archive>
void Fields(Archive& archive, TopologyParts::Node& n)
{
    auto& [name, host, position, failures] = n;
    archive(name, host, position, failures);
}

template <class Archive>
void Fields(Archive& archive, Placement& p)
{
    auto& [description, hosts, servers, aggregators, others, parents, node] = p;
    archive(description, hosts, servers, aggregators, others, parents, node);
}

template <class Archive>
void Fields(Archive& archive, RoceStorm& s)
{
    auto& [host, from, length] = s;
    archive(host, from, length);
}

template <class Archive>
void Fields(Archive& archive, RoceSettings& s)
{
    auto& [control,
           pfc,
           recovery,
           reorder,
           qps,
           priority,
           mtu,
           vlan,
           headerBytes,
           messageBytes,
           ackBytes,
           cnpBytes,
           framesPerAck,
           acksFirst,
           windowIsBdp,
           windowBytes,
           bufferBytes,
           alpha,
           alphaByRate,
           egressAlpha,
           headroomBytes,
           xonBytes,
           quanta,
           response,
           dropsAllowed,
           ecn,
           ecnText,
           marksAtRandom,
           markAtEnqueue,
           roundTripOfFabric,
           rto,
           retries,
           switchDelay,
           watchdog,
           storm,
           train,
           idle,
           fairFloor] = s;
    archive(control,
            pfc,
            recovery,
            reorder,
            qps,
            priority,
            mtu,
            vlan,
            headerBytes,
            messageBytes,
            ackBytes,
            cnpBytes,
            framesPerAck,
            acksFirst,
            windowIsBdp,
            windowBytes,
            bufferBytes,
            alpha,
            alphaByRate,
            egressAlpha,
            headroomBytes,
            xonBytes,
            quanta,
            response,
            dropsAllowed,
            ecn,
            ecnText,
            marksAtRandom,
            markAtEnqueue,
            roundTripOfFabric,
            rto,
            retries,
            switchDelay,
            watchdog,
            storm,
            train,
            idle,
            fairFloor);
}

/// The settings of RoCEv2, which a transport points at, are written by whoever writes it.
template <class Archive>
void Fields(Archive& archive, Transport& t)
{
    auto& [preset,
           congestionControl,
           ecn,
           segmentBytes,
           headerBytes,
           ackBytes,
           segmentsPerAck,
           messageBytes,
           paddingBytes,
           initialWindow,
           minRto,
           connectionTimeout,
           delayedAckTimeout,
           socketBufferBytes,
           queueBytes,
           markBytes,
           connections,
           streams,
           attributes,
           sockets,
           train,
           roce,
           utilisation,
           telemetry,
           queuePairs,
           switchDelay,
           skip] = t;
    archive(preset,
            congestionControl,
            ecn,
            segmentBytes,
            headerBytes,
            ackBytes,
            segmentsPerAck,
            messageBytes,
            paddingBytes,
            initialWindow,
            minRto,
            connectionTimeout,
            delayedAckTimeout,
            socketBufferBytes,
            queueBytes,
            markBytes,
            connections,
            streams,
            attributes,
            sockets,
            train,
            utilisation,
            telemetry,
            queuePairs,
            switchDelay,
            skip);
    static_cast<void>(roce);
}

} // namespace legacy::fabric
