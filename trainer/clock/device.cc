#include "trainer/clock/device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace legacy {
namespace {

constexpr double kFloatBytes = 4;

// A Tile is the part of a result that one processor computes at a time. Small tiles read more bytes
// for each FLOP, so that they reach less of the peak.
struct Tile {
  double rows, columns;
  double efficiency;
};
constexpr std::array<Tile, 7> kTiles = {{{256, 128, 1},
                                         {128, 256, 1},
                                         {128, 128, 0.95},
                                         {128, 64, 0.85},
                                         {64, 128, 0.85},
                                         {64, 64, 0.7},
                                         {32, 32, 0.35}}};
constexpr double kMostParts = 64;     // parts of the inner dimension
constexpr double kLeastOfPart = 256;  // length of a part

// FlashAttention's backward pass makes five products of the scores' size where the forward pass
// makes two, at .8 of its rate (Dao, FlashAttention-2, 2023, section 4).
constexpr double kAttentionBackward = 2.5 / 0.8;

// Fused attention skips the blocks of scores that a causal mask leaves empty, and computes those on
// the diagonal whole (FlashAttention-2, section 3.1.1). With blocks of this size, rates that were
// measured with and without a mask (scenarios/whole_steps/devices.md) agree within 6 % in the
// median of 57.
constexpr double kCausalBlock = 256;

// Passes over the scores of attention that is not fused, reads and writes of each element: they are
// written and read by the two products, masked, normalised and dropped out (whose mask has a byte).
constexpr double kScorePasses2020 = 8.5;
constexpr double kScorePasses2022 = 6.5;

// What is copied is read and written once more.
constexpr double kCopied = 3;

// Passes over a result to which a bias is added after the product has written it. The gradient of a
// bias is the sum of the result's, which is read once more.
constexpr double kBiasPasses = 2;
constexpr double kBiasGradientPasses = 1;

// Bytes that casts of a loss move for each 8 that it reads and writes in fp32: its inputs are cast
// from 16 bits, and their gradients to 16 bits.
constexpr double kLossCasts = 6.0 / 8;

// Bytes that move for each number that is cast from bfloat16 to FP8 with one scale for its tensor:
// it is read and written, and read before that for the tensor's maximum, which compiled kernels
// find as they write the tensor.
constexpr double kFp8CastBytes = 5;
constexpr double kCompiledFp8CastBytes = 3;
// The same in Transformer Engine, which writes each number twice, the second time transposed, as
// products in FP8 on Hopper read both factors along their inner dimension. The copies serve the
// backward pass as well, and weights are kept in FP8 (its user guide: FP8 weight caching).
constexpr double kTransposedFp8CastBytes = 6;

// Returns the rate of a long training, of which the best product reaches all.
double ProductRate(const Device& device, Precision precision) {
  const double peak = device.product_flops_per_second.at(precision);
  switch (precision) {
    case Precision::kFp32:
      return peak * device.scalar_efficiency;
    case Precision::kBf16Fp8:
      return peak * device.fp8_efficiency * device.sustained;
    default:
      return peak * device.product_efficiency * device.sustained;
  }
}

double MemorySeconds(const Device& device, double bytes) {
  return bytes / (device.bytes_per_second * device.memory_efficiency);
}

double ActivationBytes(const OperationCost& operation, const ComputeOptions& options,
                       double samples) {
  const bool copied = operation.kind == "conv" && options.layout == Layout::kChannelsFirst &&
                      options.precision != Precision::kFp32;
  const double times = copied ? kCopied : 1;
  return (samples * operation.forward_bytes * times + operation.weight_bytes) / kFloatBytes *
         BytesOf(options.precision);
}

// Returns the bytes of activations that one pass over an operation reads and writes.
double PassBytes(const OperationCost& operation, const ComputeOptions& options, double samples,
                 double passes) {
  const bool casts = operation.kind == "loss" && HasSixteenBits(options.precision) &&
                     options.kernels != KernelEra::kCompiled;
  if (casts) return samples * operation.forward_bytes * (passes + kLossCasts);
  return passes * ActivationBytes(operation, options, samples);
}

// Returns the seconds of passes over the results to which biases are added. Convolutions add them
// apart, and so did products in 2020; compiled kernels add them to what they compute next.
double BiasSeconds(const Device& device, const ComputeOptions& options,
                   const OperationCost& operation, double samples, double passes) {
  double numbers = 0;
  for (const MatrixProduct& product : operation.products) {
    if (product.bias) numbers += samples * product.rows * product.columns * product.count;
  }
  return MemorySeconds(device, numbers * passes * BytesOf(options.precision));
}

double ForwardBiasSeconds(const Device& device, const ComputeOptions& options,
                          const OperationCost& operation, double samples) {
  const bool apart = options.kernels == KernelEra::k2020 ||
                     (operation.kind == "conv" && options.kernels != KernelEra::kCompiled);
  return apart ? BiasSeconds(device, options, operation, samples, kBiasPasses) : 0;
}

bool IsFused(const ComputeOptions& options) { return options.kernels >= KernelEra::k2023; }

// Returns the part of the scores that is computed.
double PartOfScores(const OperationCost& operation) {
  if (!operation.causal || operation.products.empty()) return 1;
  const MatrixProduct& scores = operation.products.front();
  const double keys = std::max(scores.rows, scores.columns);
  return std::min(1.0, (1 + kCausalBlock / keys) / 2);
}

double AttentionEfficiency(const Device& device, KernelEra kernels) {
  switch (kernels) {
    case KernelEra::k2025:
      return device.attention_efficiency_2025;
    case KernelEra::k2024:
    case KernelEra::kCompiled:
      return device.attention_efficiency_2024;
    default:
      return device.attention_efficiency;
  }
}

double FusedAttentionSeconds(const Device& device, const ComputeOptions& options,
                             const OperationCost& operation, double samples) {
  return samples * operation.forward_flops * PartOfScores(operation) /
         (device.product_flops_per_second.at(AllButProducts(options.precision)) * device.sustained *
          AttentionEfficiency(device, options.kernels));
}

// Returns the seconds of attention's passes over its scores.
double ScoreSeconds(const Device& device, const ComputeOptions& options,
                    const OperationCost& operation, double samples) {
  if (operation.products.empty()) return 0;
  const MatrixProduct& scores = operation.products.front();
  const double passes = options.kernels == KernelEra::k2020 ? kScorePasses2020 : kScorePasses2022;
  return MemorySeconds(device, samples * scores.rows * scores.columns * scores.count * passes *
                                   BytesOf(options.precision));
}

// Returns the precision of an operation's products. Frameworks leave heads and all that is not a
// linear layer as it is, and so are products here whose sizes are not known.
Precision PrecisionOf(const OperationCost& operation, const ComputeOptions& options) {
  const bool casts =
      operation.kind == "linear" && operation.block != kNoBlock && !operation.products.empty();
  return casts ? options.precision : AllButProducts(options.precision);
}

// Returns the seconds in which the inputs of an operation's products are cast: in the forward pass
// both factors, in the backward pass the gradient of the result and both factors once more. Kernels
// of 2025 cast the left factor, and the gradient.
double CastSeconds(const Device& device, const ComputeOptions& options,
                   const OperationCost& operation, double samples, bool backward) {
  if (PrecisionOf(operation, options) != Precision::kBf16Fp8) return 0;
  double numbers = 0, once = 0;
  for (const MatrixProduct& product : operation.products) {
    const double rows = samples * product.rows;
    const double factors =
        rows * product.inner + product.inner * product.columns * (product.apart ? samples : 1);
    numbers += product.count * (factors + (backward ? rows * product.columns : 0));
    once += product.count * rows * (backward ? product.columns : product.inner);
  }
  if (options.kernels == KernelEra::k2025) {
    return MemorySeconds(device, once * kTransposedFp8CastBytes);
  }
  const bool compiled = options.kernels == KernelEra::kCompiled;
  return MemorySeconds(device, numbers * (compiled ? kCompiledFp8CastBytes : kFp8CastBytes));
}

double Seconds(const Device& device, Precision precision, const MatrixProduct& product,
               double samples, double rows, double columns, double inner) {
  return ProductSeconds(device, precision, rows, columns, inner,
                        product.count * (product.apart ? samples : 1));
}

double ForwardProducts(const Device& device, Precision precision, const OperationCost& operation,
                       double samples) {
  if (operation.products.empty()) {
    return samples * operation.forward_flops / ProductRate(device, precision);
  }
  double seconds = 0;
  for (const MatrixProduct& product : operation.products) {
    const double rows = product.rows * (product.apart ? 1 : samples);
    seconds += Seconds(device, precision, product, samples, rows, product.columns, product.inner);
  }
  return seconds;
}

// The gradient of the left factor is rows x columns by columns x inner, and that of the right one
// inner x rows by rows x columns.
double BackwardProducts(const Device& device, Precision precision, const OperationCost& operation,
                        double samples) {
  if (operation.products.empty()) {
    return 2 * ForwardProducts(device, precision, operation, samples);
  }
  double seconds = 0;
  for (const MatrixProduct& product : operation.products) {
    const double rows = product.rows * (product.apart ? 1 : samples);
    seconds += Seconds(device, precision, product, samples, rows, product.inner, product.columns) +
               Seconds(device, precision, product, samples, product.inner, product.columns, rows);
  }
  return seconds;
}

}  // namespace

double ProductSeconds(const Device& device, Precision precision, double rows, double columns,
                      double inner, double count) {
  const double rate = ProductRate(device, precision);
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(rows / tile.rows) * std::ceil(columns / tile.columns) * count;
    for (double parts = 1; parts <= kMostParts; parts *= 2) {
      if (parts > 1 && inner / parts < kLeastOfPart) break;
      const double waves = std::ceil(tiles * parts / device.processors);
      const double flops = 2 * tile.rows * tile.columns * inner / parts;
      double seconds = waves * device.processors * flops / (rate * tile.efficiency);
      // Partial sums are written and read in fp32.
      if (parts > 1) {
        seconds += MemorySeconds(device, 2 * kFloatBytes * rows * columns * count * parts);
      }
      least = std::min(least, seconds);
      if (tiles * parts >= device.processors) break;
    }
  }
  return least;
}

double ForwardSecondsOn(const Device& device, const ComputeOptions& options,
                        const OperationCost& operation, double samples) {
  const double memory = MemorySeconds(device, PassBytes(operation, options, samples, 1));
  const Precision precision = PrecisionOf(operation, options);
  if (operation.kind != "attention") {
    return std::max(memory, ForwardProducts(device, precision, operation, samples)) +
           ForwardBiasSeconds(device, options, operation, samples) +
           CastSeconds(device, options, operation, samples, false);
  }
  if (IsFused(options)) {
    return std::max(memory, FusedAttentionSeconds(device, options, operation, samples));
  }
  return ForwardProducts(device, precision, operation, samples) +
         ScoreSeconds(device, options, operation, samples);
}

double BackwardSecondsOn(const Device& device, const ComputeOptions& options,
                         const OperationCost& operation, double samples) {
  const double memory = MemorySeconds(device, PassBytes(operation, options, samples, 2));
  const Precision precision = PrecisionOf(operation, options);
  if (operation.kind != "attention") {
    return std::max(memory, BackwardProducts(device, precision, operation, samples)) +
           BiasSeconds(device, options, operation, samples, kBiasGradientPasses) +
           CastSeconds(device, options, operation, samples, true);
  }
  if (IsFused(options)) {
    return std::max(
        memory, kAttentionBackward * FusedAttentionSeconds(device, options, operation, samples));
  }
  return BackwardProducts(device, precision, operation, samples) +
         2 * ScoreSeconds(device, options, operation, samples);
}

}  // namespace legacy
