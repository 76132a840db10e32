// Inputs and slow oracles that several tests of compress/ share.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "compress/codec.h"
#include "compress/exchange.h"
#include "compress/unit.h"

namespace legacy::test {

inline std::vector<float> Normals(int64_t n, uint64_t seed) {
  RandomStream stream({.seed = seed});
  std::vector<float> values(n);
  for (float& x : values) x = static_cast<float>(stream.Normal());
  return values;
}

// Returns inputs of length n that are hard for Top-K.
inline std::vector<std::vector<float>> HardInputs(int64_t n) {
  std::vector<std::vector<float>> inputs = {Normals(n, 1), std::vector<float>(n, 0.0f),
                                            std::vector<float>(n, -2.5f)};
  auto& zero_heavy = inputs.emplace_back(Normals(n, 2));
  for (int64_t i = 0; i < n; ++i) zero_heavy[i] *= i % 10 == 3;
  auto& signed_zeros = inputs.emplace_back(n, 0.0f);
  for (int64_t i = 0; i < n; i += 2) signed_zeros[i] = -0.0f;
  auto& denormals = inputs.emplace_back(n);
  for (int64_t i = 0; i < n; ++i) denormals[i] = std::ldexp((i % 2 ? 1.0f : -1.0f), -149 + i % 20);
  auto& ties = inputs.emplace_back(Normals(n, 3));  // few distinct magnitudes
  for (float& x : ties) x = std::round(x);
  auto& close = inputs.emplace_back(n);  // they differ in the last bits only
  for (int64_t i = 0; i < n; ++i)
    close[i] = std::bit_cast<float>(0x3F800000u + uint32_t(i * 7 % 5));
  auto& one = inputs.emplace_back(n, 0.0f);
  if (n > 0) one[n / 2] = -1e30f;
  return inputs;
}

inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || !std::memcmp(a.data(), b.data(), a.size_bytes()));
}

// Sorts fully by (magnitude falling, index rising).
inline std::vector<uint32_t> SortedTopK(std::span<const float> values, int64_t k) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(
      order, [&](uint32_t a, uint32_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  order.resize(k);
  std::ranges::sort(order);
  return order;
}

inline Unit MakeUnit(int64_t numel, uint32_t id = 0) {
  Unit unit;
  unit.id = id;
  unit.name = std::to_string(id);
  unit.shape = {numel};
  unit.numel = numel;
  return unit;
}

inline std::vector<Unit> MakeUnits(const std::vector<int64_t>& sizes) {
  std::vector<Unit> units;
  int64_t offset = 0;
  for (const int64_t numel : sizes) {
    units.push_back(MakeUnit(numel, static_cast<uint32_t>(units.size())));
    units.back().offset = offset;
    offset += numel;
  }
  return units;
}

// Returns the values of a parameter that tests try: its ends, its default and one between.
inline std::vector<double> SomeParameters(const ParameterSpec& spec) {
  if (spec.name.empty()) return {1};
  const double middle = spec.minimum + (spec.maximum - spec.minimum) * 0.4;
  return {spec.minimum, spec.fallback, spec.integer ? std::round(middle) : middle, spec.maximum};
}

// Returns the scheme of that name, with error feedback unless a value that is tried forbids it.
inline std::unique_ptr<Scheme> AnyScheme(const std::string& name) {
  std::unique_ptr<Scheme> scheme = MakeScheme(name, {});
  try {
    for (const double parameter : SomeParameters(scheme->Parameter())) {
      scheme->Open(MakeUnit(4), 1)->Begin({.parameter = parameter});
    }
  } catch (const Error&) {
    scheme = MakeScheme(name, {.error_feedback = false});
  }
  return scheme;
}

// Returns the sum of squares of the worker's residual.
inline double ResidualSquared(const Exchange& exchange, int worker) {
  double sum = 0;
  for (const float x : exchange.Residual(worker)) sum += double{x} * x;
  return sum;
}

// One whole step of the context's active workers; returns the mean, and the messages of all calls
// in `messages`.
inline std::vector<float> RunStep(Exchange& exchange, const UnitStep& context,
                                  const std::vector<std::vector<float>>& gradients,
                                  std::vector<Message>* messages = nullptr) {
  std::vector<int> active_workers = context.info.active_workers;
  for (size_t w = 0; context.info.active_workers.empty() && w < gradients.size(); ++w) {
    active_workers.push_back(static_cast<int>(w));
  }
  exchange.Begin(context);
  for (bool first = true; exchange.NextCall(); first = false) {
    std::vector<Message> sent;
    for (const int w : active_workers) {
      sent.push_back(exchange.Encode(w, first ? gradients[w] : std::span<const float>()));
    }
    for (size_t i = 0; i < sent.size(); ++i) exchange.Accumulate(active_workers[i], sent[i].bytes);
    exchange.FinishCall();
    if (messages) messages->insert(messages->end(), sent.begin(), sent.end());
  }
  std::vector<float> mean(gradients[0].size());
  exchange.Mean(mean);
  return mean;
}

}  // namespace legacy::test
