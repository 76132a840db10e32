// Work of rows that code all values of their vectors: encoding, error feedback, and decoding the
// messages of kCodedWorkers workers.
//
// A Coded is a case's vectors with the messages of all workers:
//   Coded(c, seed, arena)          prepares all but the messages' contents
//   Encode(device)                 writes the first worker's messages
//   Subtract(device, residual)     subtracts them
//   Decode(device, mean)           writes the mean of all workers' messages
//   messages, table->stride()      and the bytes from a worker to the next
#pragma once

#include <memory>

#include "compress/cuda/bench/setup.h"
#include "compress/unit.h"

namespace legacy::bench {

inline constexpr int kCodedWorkers = 8;

// Returns the bytes of that many workers' messages of a scheme or codec.
template <class Method>
double MessageBytes(const Case& c, const Method& method, double parameter, int workers) {
  double bytes = 0;
  for (const int64_t length : c.lengths) {
    Unit unit;
    unit.numel = length;
    bytes += static_cast<double>(*method.MessageBytes(unit, parameter));
  }
  return bytes * workers;
}

template <class Coded>
Work Encodes(const Case& c, uint32_t seed, Arena& arena) {
  const auto coded = std::make_shared<Coded>(c, seed, arena);
  return Runs([=](StreamDevice device) { coded->Encode(device); });
}

template <class Coded>
Work Subtracts(const Case& c, uint32_t seed, Arena& arena) {
  const auto coded = std::make_shared<Coded>(c, seed, arena);
  coded->Encode(StreamDevice(nullptr));
  float* const residual = Input(c, seed + kOtherSeed, arena);
  return Runs([=](StreamDevice device) { coded->Subtract(device, residual); });
}

template <class Coded>
Work Decodes(const Case& c, uint32_t seed, Arena& arena) {
  const auto coded = std::make_shared<Coded>(c, seed, arena);
  coded->Encode(StreamDevice(nullptr));
  const int64_t stride = coded->table->stride();
  for (int w = 1; w < kCodedWorkers; ++w) {
    CopyBytes(coded->messages, coded->messages + w * stride, stride);
  }
  float* const mean = arena.New<float>(c.elements());
  return Runs([=](StreamDevice device) { coded->Decode(device, mean); });
}

}  // namespace legacy::bench
