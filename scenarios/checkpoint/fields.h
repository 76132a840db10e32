// The fields of values that checkpoints and journals hold (archive.h). A binding has as many names
// as its struct has members, so that a new member is an error here until it is written too.
#pragma once

#include "compress/decision.h"
#include "compress/exchange.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/checkpoint/archive.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/step_work.h"
#include "trainer/step_source.h"

namespace legacy::fabric {

template <class Archive>
void Fields(Archive& archive, RoceCounters& c) {
  auto& [cnps, naks, resent, reordered, watchdogDrops, maxBuffer, bufferBytes, maxHeadroom] = c;
  archive(cnps, naks, resent, reordered, watchdogDrops, maxBuffer, bufferBytes, maxHeadroom);
}

template <class Archive>
void Fields(Archive& archive, SkipCounters& c) {
  auto& [bytes, skippedBytes, checked, difference, largest] = c;
  archive(bytes, skippedBytes, checked, difference, largest);
}

template <class Archive>
void Fields(Archive& archive, EngineCounters& c) {
  auto& [events, packets, flows, retransmitTimeouts, rateFloors, roce, skipped] = c;
  archive(events, packets, flows, retransmitTimeouts, rateFloors, roce, skipped);
}

template <class Archive>
void Fields(Archive& archive, LinkCounters& c) {
  auto& [bytes, backgroundBytes, packets, drops, marks, maxQueueBytes, busy, peak, pauses, paused,
         pauseRoot] = c;
  archive(bytes, backgroundBytes, packets, drops, marks, maxQueueBytes, busy, peak, pauses, paused,
          pauseRoot);
}

template <class Archive>
void Fields(Archive& archive, HopSlice& s) {
  auto& [payload, headers] = s;
  archive(payload, headers);
}

template <class Archive>
void Fields(Archive& archive, HopTimes& h) {
  auto& [launch, pace, factors] = h;
  archive(launch, pace, factors);
}

template <class Archive>
void Fields(Archive& archive, CollectiveSpec& c) {
  auto& [algorithm, root, bytes, members, pullBytes, serve, servers, slots, blockBytes, group,
         channels, protocol, gpus, pace, sumBytes, slices, hops, parents, firstAggregator,
         pairBytes, order, relays, pieceBytes, window] = c;
  archive(algorithm, root, bytes, members, pullBytes, serve, servers, slots, blockBytes, group,
          channels, protocol, gpus, pace.inside, pace.across, sumBytes, slices, hops, parents,
          firstAggregator, pairBytes, order, relays, pieceBytes, window);
}

template <class Archive>
void Fields(Archive& archive, CallTraffic& c) {
  auto& [collective, computeBefore] = c;
  archive(collective, computeBefore);
}

template <class Archive>
void Fields(Archive& archive, BucketTraffic& b) {
  auto& [ready, calls, decode] = b;
  archive(ready, calls, decode);
}

template <class Archive>
void Fields(Archive& archive, StepTraffic& t) {
  auto& [workers, deviceFree, buckets, contention] = t;
  archive(workers, deviceFree, buckets, contention);
}

template <class Archive>
void Fields(Archive& archive, StepSimulator::State& s) {
  auto& [fresh, memoised, totals, known] = s;
  archive(fresh, memoised, totals, known);
}

}  // namespace legacy::fabric

namespace legacy {

template <class Archive>
void Fields(Archive& archive, Work& w) {
  auto& [kernel, elements, launches, sets, alike] = w;
  archive(kernel, elements, launches, sets, alike);
}

template <class Archive>
void Fields(Archive& archive, HopSlice& s) {
  auto& [payload, headers] = s;
  archive(payload, headers);
}

template <class Archive>
void Fields(Archive& archive, Hops& h) {
  auto& [order, slices, work] = h;
  archive(order, slices, work);
}

template <class Archive>
void Fields(Archive& archive, BlockStream& b) {
  auto& [bytes, slots] = b;
  archive(bytes, slots);
}

template <class Archive>
void Fields(Archive& archive, CollectiveCall& c) {
  auto& [reduction, collective, root, encode, decode, pull, serve, hops, blocks] = c;
  archive(reduction, collective, root, encode, decode, pull, serve, hops, blocks);
}

template <class Archive>
void Fields(Archive& archive, PlannedCall& c) {
  auto& [call, bytes, parts] = c;
  archive(call, bytes, parts);
}

template <class Archive>
void Fields(Archive& archive, SentCall& c) {
  archive(static_cast<CollectiveCall&>(c), c.bytes, c.pair_bytes);
}

template <class Archive>
void Fields(Archive& archive, BucketWork& b) {
  auto& [layers, elements, calls] = b;
  archive(layers, elements, calls);
}

template <class Archive>
void Fields(Archive& archive, StepWork& w) {
  auto& [step, workers, batch_size, passes, whole_gradient, update, buckets, active_workers,
         local_steps] = w;
  archive(step, workers, batch_size, passes, whole_gradient, update, buckets, active_workers,
          local_steps);
}

template <class Archive>
void Fields(Archive& archive, UnitOutcome& u) {
  auto& [parameter, elements, bytes] = u;
  archive(parameter, elements, bytes);
}

template <class Archive>
void Fields(Archive& archive, StepOutcome& o) {
  auto& [step, learning_rate, loss, work, units] = o;
  archive(step, learning_rate, loss, work, units);
}

template <class Archive>
void Fields(Archive& archive, DecisionGrounds& g) {
  auto& [error, budget, gain, seconds, reason] = g;
  archive(error, budget, gain, seconds, reason);
}

template <class Archive>
void Fields(Archive& archive, Decision& d) {
  auto& [step, number, unit, parameter, grounds] = d;
  archive(step, number, unit, parameter, grounds);
}

template <class Archive>
void Fields(Archive& archive, Evaluation& e) {
  auto& [loss, metrics] = e;
  archive(loss, metrics);
}

template <class Archive>
void Fields(Archive& archive, Unit& u) {
  auto& [id, name, shape, offset, numel] = u;
  archive(id, name, shape, offset, numel);
}

template <class Archive>
void Fields(Archive& archive, MatrixProduct& p) {
  auto& [rows, columns, inner, count, apart, bias] = p;
  archive(rows, columns, inner, count, apart, bias);
}

template <class Archive>
void Fields(Archive& archive, OperationCost& c) {
  auto& [kind, forward_flops, forward_bytes, weight_bytes, parameters, products, block] = c;
  archive(kind, forward_flops, forward_bytes, weight_bytes, parameters, products, block);
}

template <class Archive>
void Fields(Archive& archive, BackendReport& r) {
  auto& [device, name, compression, steps] = r;
  archive(device, name, compression, steps);
}

template <class Archive>
void Fields(Archive& archive, Probe& p) {
  auto& [squared, kept] = p;
  archive(squared, kept);
}

}  // namespace legacy
