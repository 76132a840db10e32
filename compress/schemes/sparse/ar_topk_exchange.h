// The exchange of AR-Topk and flexible-topk.
#pragma once

#include <vector>

#include "compress/schemes/exchange_base.h"
#include "compress/schemes/sparse/ar_topk_step.h"

namespace legacy {

// Runs the calls that ArTopKStep plans.
class ArTopKExchange : public ExchangeBase {
 public:
  ArTopKExchange(const ArTopKOptions& options, const Unit& unit, int workers);

  void Begin(const UnitStep& context) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override;
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override;

 private:
  enum CallIndex { kGatherCall, kVarianceCall, kPositionsCall, kValuesCall, kDone };

  ArTopKStep Step() const;
  int64_t Count() const { return Step().Count(); }
  Header PositionsHeader() const;
  Header ValuesHeader() const;
  void Compensate(int worker, std::span<const float> gradient);
  Message EncodePositions(int worker);
  Message EncodeValues(int worker);
  void ReadVariance(int worker, ByteSpan message);
  void ReadPositions(ByteSpan message);
  void AddValues(ByteSpan message);

  ArTopKOptions options_;
  std::vector<PlannedCall> calls_;  // calls of this step
  int first_ = kDone;               // index of the first call
  int call_ = kDone;
  bool gathers_ = false;  // true if this step gathers
  int root_ = 0;
  float largest_ = -1;  // largest variance so far
  // Positions that are reduced; empty if all messages are gathered.
  std::vector<uint32_t> support_;
  std::vector<float> sum_;  // sum at the support, or of the unit
};

}  // namespace legacy
