// The exchange of Ok-Topk.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "compress/schemes/exchange_base.h"
#include "compress/schemes/sparse/entries.h"
#include "compress/schemes/sparse/oktopk.h"

namespace legacy {

class OkTopKExchange : public ExchangeBase {
 public:
  OkTopKExchange(const OkTopKOptions& options, const Unit& unit, int workers);

  void Begin(const UnitStep& context) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  std::vector<int64_t> PartBytes(int worker, ByteSpan message) const override;
  void FinishCall() override;
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override;

  Bytes Save() const override;
  void Load(ByteSpan state) override;
  void SaveShared(StateWriter& out) const override;
  void LoadShared(StateReader& in) override;

 private:
  enum CallIndex {
    kBoundsCall,
    kCountsCall,
    kPartsCall,
    kRegionCountsCall,
    kMagnitudesCall,
    kSelectedCall,
    kBalanceCall,
    kGatherCall,
    kDone
  };

  int64_t Count() const;
  OkTopKStep Step() const { return {options_, unit().numel, Count(), ActiveWorkers()}; }
  size_t IndexOf(int worker) const;
  // Returns the bounds of the region of the worker with that index.
  std::pair<int64_t, int64_t> Region(size_t index) const;
  std::span<const float> RegionSums(size_t index) const;
  CollectiveCall DescribeCall() const;
  int NextIndex() const;

  void FindSet(int worker, std::span<const float> gradient);
  std::vector<uint64_t> OwnBounds(int worker) const;
  std::vector<uint32_t> Numbers(int worker) const;
  Message EncodeParts(int worker);
  Message EncodeMagnitudes(size_t index) const;
  Message EncodeBalance(size_t index) const;
  SparseEntries SelectedIn(size_t index) const;
  // Returns how many of the selected values of worker `from` worker `to` gathers.
  int64_t Moved(size_t from, size_t to) const;

  void AccumulateBounds(ByteSpan message);
  void AccumulateNumbers(ByteSpan message);
  void AccumulateParts(ByteSpan message);
  void AccumulateMagnitudes(ByteSpan message);
  void AccumulateBalance(ByteSpan message);
  void AccumulateGathered(ByteSpan message);
  void FinishBounds();
  void FinishMagnitudes();
  void FinishSelected();
  void FinishStep();
  bool Selects(float sum) const { return global_ > 0 && std::abs(sum) >= global_; }
  static int64_t Sum(const std::vector<std::vector<uint32_t>>& numbers);

  OkTopKOptions options_;
  // State that all workers share; thresholds of workers are the first number of their CodecState.
  float global_ = 0;              // tg; 0: not known
  std::vector<uint32_t> bounds_;  // between regions

  // State of the step.
  int call_ = kDone;
  bool exact_ = false;       // true if thresholds are found
  bool new_bounds_ = false;  // true if bounds are found
  bool balances_ = false;
  size_t accumulated_ = 0;                      // messages of this call so far
  std::vector<std::vector<uint32_t>> sets_;     // positions, by worker
  std::vector<uint64_t> bound_sums_;            // of all workers
  std::vector<std::vector<uint32_t>> counts_;   // values of each active worker in each region
  std::vector<std::vector<uint32_t>> numbers_;  // of the call's workers
  std::vector<float> sums_;                     // region sums
  std::vector<float> magnitudes_;
  std::vector<uint32_t> selected_;   // values of each region
  std::vector<SparseEntries> held_;  // what each active worker gathers
  std::vector<float> result_;
  int64_t sent_ = 0;  // values that travel, of all workers
};

}  // namespace legacy
