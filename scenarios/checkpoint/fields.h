// The fields of values that checkpoints hold (archive.h).
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
void Fields(Archive& archive, EngineCounters& c) {
  archive(c.events, c.packets, c.flows, c.retransmitTimeouts, c.rateFloors);
}

template <class Archive>
void Fields(Archive& archive, LinkCounters& c) {
  archive(c.bytes, c.backgroundBytes, c.packets, c.drops, c.marks, c.maxQueueBytes, c.busy, c.peak);
}

template <class Archive>
void Fields(Archive& archive, CollectiveSpec& c) {
  archive(c.algorithm, c.root, c.bytes, c.pullBytes, c.servers, c.group, c.sumBytes, c.parents,
          c.firstAggregator, c.pairBytes, c.order, c.pieceBytes, c.window);
}

template <class Archive>
void Fields(Archive& archive, CallTraffic& c) {
  archive(c.collective, c.computeBefore);
}

template <class Archive>
void Fields(Archive& archive, BucketTraffic& b) {
  archive(b.ready, b.calls, b.decode);
}

template <class Archive>
void Fields(Archive& archive, StepTraffic& t) {
  archive(t.workers, t.deviceFree, t.buckets);
}

template <class Archive>
void Fields(Archive& archive, StepSimulator::State& s) {
  archive(s.fresh, s.memoised, s.totals, s.known);
}

}  // namespace legacy::fabric

namespace legacy {

template <class Archive>
void Fields(Archive& archive, Work& w) {
  archive(w.kernel, w.elements, w.launches, w.sets, w.alike);
}

template <class Archive>
void Fields(Archive& archive, CollectiveCall& c) {
  archive(c.reduction, c.collective, c.root, c.encode, c.decode);
}

template <class Archive>
void Fields(Archive& archive, PlannedCall& c) {
  archive(c.call, c.bytes);
}

template <class Archive>
void Fields(Archive& archive, SentCall& c) {
  archive(static_cast<CollectiveCall&>(c), c.bytes);
}

template <class Archive>
void Fields(Archive& archive, BucketWork& b) {
  archive(b.layers, b.elements, b.calls);
}

template <class Archive>
void Fields(Archive& archive, StepWork& w) {
  archive(w.step, w.workers, w.batch_size, w.whole_gradient, w.buckets, w.active_workers);
}

template <class Archive>
void Fields(Archive& archive, UnitOutcome& u) {
  archive(u.parameter, u.elements, u.bytes);
}

template <class Archive>
void Fields(Archive& archive, StepOutcome& o) {
  archive(o.step, o.learning_rate, o.loss, o.work, o.units);
}

template <class Archive>
void Fields(Archive& archive, DecisionGrounds& g) {
  archive(g.error, g.budget, g.gain, g.seconds, g.reason);
}

template <class Archive>
void Fields(Archive& archive, Decision& d) {
  archive(d.step, d.number, d.unit, d.parameter, d.grounds);
}

template <class Archive>
void Fields(Archive& archive, Evaluation& e) {
  archive(e.loss, e.metrics);
}

template <class Archive>
void Fields(Archive& archive, Unit& u) {
  archive(u.id, u.name, u.shape, u.offset, u.numel);
}

template <class Archive>
void Fields(Archive& archive, OperationCost& c) {
  archive(c.kind, c.forward_flops, c.forward_bytes, c.weight_bytes, c.parameters);
}

template <class Archive>
void Fields(Archive& archive, BackendReport& r) {
  archive(r.device, r.name, r.compression, r.steps);
}

template <class Archive>
void Fields(Archive& archive, Probe& p) {
  archive(p.squared, p.kept);
}

}  // namespace legacy
