// The exchange of PowerSGD.
#pragma once

#include <vector>

#include "compress/schemes/exchange_base.h"
#include "compress/schemes/matrices/powersgd.h"

namespace legacy {

// All-reduces both factors one after the other.
class PowerSgdExchange : public ExchangeBase {
 public:
  // Copies `scheme`.
  PowerSgdExchange(const PowerSgdScheme& scheme, const PowerSgdOptions& options, const Unit& unit,
                   int workers);

  void Begin(const UnitStep& context) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override;
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override { return scheme_.ElementsSent(unit(), step().parameter); }

 protected:
  void CheckShared(std::span<const float> shared) const override;

 private:
  enum CallIndex { kLeftCall, kRightCall, kWholeCall, kDone };

  void PrepareBasis();
  Header CallHeader() const;
  void Reconstruct();
  void KeepBasis();

  PowerSgdScheme scheme_;
  bool warm_start_;
  MatrixShape shape_;
  int64_t rank_ = 0;  // rank of this step
  int call_ = kDone;
  std::vector<float> sum_;   // sum of the call's messages
  std::vector<float> left_;  // P, orthonormal
  std::vector<float> mean_;
};

}  // namespace legacy
