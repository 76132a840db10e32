// AR-Topk makes Top-K summable. One worker broadcasts the positions of its largest error-fed
// gradients; then every worker's values at those positions are all-reduced. A worker's volume does
// not grow with N, as it does if Top-K messages are gathered. The root is chosen in turn (step mod
// N, among the active workers), or is the worker with the largest variance of its error-fed
// gradient, which a first collective call of 4 bytes per worker (a float, no header) determines.
//
// flexible-topk gathers in the steps in which gathering is faster, with the same residual. It
// decides by the closed forms of the configured algorithms and the actual lengths of messages
// (schemes/call_cost.h). Tyagi and Swany, "Flexible communication for optimal distributed learning
// over unpredictable networks" (IEEE BigData 2023).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compress/exchange.h"
#include "compress/schemes/memory.h"

namespace legacy {

// Options of ar-topk and flexible-topk.
struct ArTopKOptions {
  enum class Mode : uint8_t { kAuto, kGather, kReduce };
  std::string name = "ar-topk";
  Mode mode = Mode::kReduce;
  bool root_by_variance = false;
  // Forced coding of positions; without it, the shortest of fixed length.
  std::optional<IndexCoding> index = {};
  std::shared_ptr<const Codec> topk = {};  // codec of gathered messages
  bool error_feedback = true;
  double residual_decay = 1;

  MemoryOptions Memory() const {
    return {.kind = error_feedback ? MemoryKind::kResidual : MemoryKind::kNone,
            .decay = static_cast<float>(residual_decay)};
  }
};

// A scheme whose exchanges gather, reduce, or choose between both.
class ArTopKScheme : public Scheme {
 public:
  explicit ArTopKScheme(ArTopKOptions options) : options_(std::move(options)) {}
  std::string_view Name() const override { return options_.name; }
  const ParameterSpec& Parameter() const override;
  int64_t ElementsSent(const Unit& unit, double density) const override;
  // Returns the bytes of the broadcasting worker, positions and values, or nothing if the choice
  // depends on the network.
  std::optional<int64_t> MessageBytes(const Unit& unit, double density) const override;
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double density,
                                                        int active_workers,
                                                        const LinkEstimate& link) const override;
  SchemeTraits Traits() const override {
    return {.reads_network = options_.mode == ArTopKOptions::Mode::kAuto,
            .residual_decay = options_.residual_decay};
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override;
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

 private:
  ArTopKOptions options_;
};

}  // namespace legacy
