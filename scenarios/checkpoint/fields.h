// The fields of values that checkpoints and journals hold (archive.h). A binding has as many names
// as its struct has members, so that a new member is an error here until it is written too. Those
// of the fabric are in ns3-module/wire/fields.h.
#pragma once

#include "base/archive.h"
#include "compress/decision.h"
#include "compress/exchange.h"
#include "ns3-module/wire/fields.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/step_work.h"
#include "trainer/step_source.h"

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
void Fields(Archive& archive, ServedSlice& s) {
  auto& [sent, answered] = s;
  archive(sent, answered);
}

template <class Archive>
void Fields(Archive& archive, OwnedSlices& s) {
  auto& [owners, rows, group, stride, bytes] = s;
  archive(owners, rows, group, stride, bytes);
}

template <class Archive>
void Fields(Archive& archive, CollectiveCall& c) {
  auto& [reduction, collective, root, encode, decode, pull, serve, served, hops, blocks, owned] = c;
  archive(reduction, collective, root, encode, decode, pull, serve, served, hops, blocks, owned);
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
void Fields(Archive& archive, WeightWork& w) {
  auto& [layer, slices, encode, decode] = w;
  archive(layer, slices, encode, decode);
}

template <class Archive>
void Fields(Archive& archive, StepWork& w) {
  auto& [step, workers, batch_size, passes, whole_gradient, update, buckets, weights,
         active_workers, local_steps] = w;
  archive(step, workers, batch_size, passes, whole_gradient, update, buckets, weights,
          active_workers, local_steps);
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
  auto& [kind, forward_flops, forward_bytes, weight_bytes, parameters, products, block, cut,
         forward_sum, backward_sum, keys, experts, used, dispatch, combine, causal, masks] = c;
  archive(kind, forward_flops, forward_bytes, weight_bytes, parameters, products, block, cut,
          forward_sum, backward_sum, keys, experts, used, dispatch, combine, causal, masks);
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
