// THC: tensor homomorphic compression (Li et al., "THC: Accelerating Distributed Deep Learning
// Using Tensor Homomorphic Compression", NSDI 2024). All workers rotate, clamp and round alike, so
// that a server or a switch adds what they send as integers.
//
//   call 1   norm = max over workers of ||e_i||             24 bytes, all-reduced
//            a = R e_i sqrt(n) / norm, clamped to [-t, t]   (cpu/rotation.h; shared signs)
//            code = random rounding of a to the table       (thc_table.h)
//   call 2   sums of T(code) over the workers
//   mean     R^T ((sum / N - g / 2) (2 t / g) norm / sqrt(n))
//   residual e_i - R^T of its own decoded codes: what was clamped, and what was rounded
//
// sums=server: codes of b bits go to a parameter server, which looks T up, adds, and answers with
// the sums, of ceil(log2(g N + 1)) bits each. sums=network: any all-reduce adds, so that workers
// send T(code) in the bits of the sums from the first hop on, as others have adapted THC to rings.
//
// Messages have an extended header, whose parameter is the bits of a code or of a sum. If the norm
// is 0, all codes are 0, and the mean is.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/message.h"
#include "compress/schemes/memory.h"
#include "compress/schemes/thc_table.h"

namespace legacy {

struct ThcSettings {
  static constexpr int kMostSumBits = 16;
  static constexpr float kLargestValue = 0x1p100f;
  static constexpr float kLargestNorm = 0x1p117f;  // of 2^32 such values, with room for rounding

  std::shared_ptr<const ThcTable> table;
  int64_t block = 1024;
  bool server = false;  // true: a parameter server looks codes up
  MemoryOptions memory = {};

  int SumBits(int workers) const;
  // Returns the bits of a number that a worker sends.
  int SentBits(int workers) const { return server ? table->bits() : SumBits(workers); }
  // Throws Error if sums of that many workers could overflow.
  void CheckWorkers(int workers) const;
  // Returns the calls of a step.
  std::vector<PlannedCall> Calls(const Unit& unit, int workers) const;
};

// Returns the header of a message of norms, of codes or of sums; `parameter` is the bits of one.
ExtendedHeader ThcHeader(const Unit& unit, ExtendedMethod method, int parameter);

class ThcScheme : public Scheme {
 public:
  explicit ThcScheme(ThcSettings settings) : settings_(std::move(settings)) {}
  std::string_view Name() const override { return "thc"; }
  const ThcSettings& settings() const { return settings_; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  SchemeTraits Traits() const override {
    return {.servers = settings_.server ? 1 : 0, .residual_decay = double{settings_.memory.decay}};
  }
  int64_t ElementsSent(const Unit& unit, double) const override { return unit.numel; }
  // Sums widen with the number of workers.
  std::optional<int64_t> MessageBytes(const Unit& unit, double) const override {
    if (!settings_.server) return std::nullopt;
    const auto calls = settings_.Calls(unit, 1);
    return calls[0].bytes + calls[1].bytes;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double,
                                               int active_workers) const override {
    if (!settings_.server) return std::nullopt;
    return settings_.Calls(unit, active_workers);
  }
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double,
                                                        int active_workers,
                                                        const LinkEstimate&) const override {
    return settings_.Calls(unit, active_workers);
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double>) const override {
    return {{"norm", unit.numel}, {"thc.encode", unit.numel}};
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

 private:
  ThcSettings settings_;
};

}  // namespace legacy
