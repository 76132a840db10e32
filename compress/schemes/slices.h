// The slices of a unit, each of which has an exchange of its own (served_slices.h,
// owners/owned_slices.h). Messages of a unit are those of its slices, one after the other. Slices
// after the first draw with seeds of their own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compress/exchange.h"
#include "compress/schemes/wrapped_scheme.h"

namespace legacy {

// The common part of exchanges of slices; a derived class joins their calls. A call takes the
// messages of those slices that still have one.
class SlicesExchange : public Exchange {
 public:
  // Opens an exchange of `scheme` for each slice; slices are in order and make up the unit.
  SlicesExchange(const Scheme& scheme, const Unit& unit, std::vector<Unit> slices, int workers);
  // Takes these, as many as there are slices.
  SlicesExchange(std::vector<std::unique_ptr<Exchange>> exchanges, const Unit& unit,
                 std::vector<Unit> slices, int workers);

  void Begin(const UnitStep& context) override;
  Probe Measure(int worker, std::span<const float> gradient) override;
  void Choose(size_t index) override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void WriteNotes(int worker, StateWriter& out) const override;
  void ReadNotes(int worker, StateReader& in) override;
  void FinishCall() override;
  void Mean(std::span<float> out) const override;
  std::span<const float> Averaged() const override { return averaged_; }
  std::span<const float> AveragedFed() const override { return fed_; }
  int64_t ElementsSent() const override;
  void RescaleResiduals(float factor) override;
  std::span<const float> Residual(int worker) const override;
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override;
  Bytes Save() const override;
  void Load(ByteSpan state) override;
  void SaveShared(StateWriter& out) const override;
  void LoadShared(StateReader& in) override;
  void SaveWorker(int worker, StateWriter& out) const override;
  void LoadWorker(int worker, StateReader& in) override;

 protected:
  std::span<const Unit> slices() const { return slices_; }
  // Opens the next call of each slice that has one, and returns these calls, by slice.
  std::span<const std::optional<CollectiveCall>> OpenCalls();
  // Returns the length of each slice's part of a worker's message in the open call.
  std::span<const int64_t> Lengths(int worker) const {
    return lengths_[static_cast<size_t>(worker)];
  }

 private:
  template <class Value>
  std::span<Value> Of(size_t slice, std::span<Value> values) const;

  std::vector<Unit> slices_;
  int64_t begin_;                                     // offset of the unit
  std::vector<std::unique_ptr<Exchange>> exchanges_;  // by slice
  std::vector<std::optional<CollectiveCall>> open_;   // by slice
  std::vector<std::vector<int64_t>> lengths_;         // by worker and slice
  std::vector<float> averaged_, fed_;
  mutable std::vector<std::vector<float>> residuals_;  // by worker, as they were last asked for
};

// Returns the values of a slice among those of its unit.
std::span<const float> ValuesOf(const Unit& slice, const Unit& unit, std::span<const float> values);

// The common part of schemes whose exchanges are those of slices. Values sent, errors and their
// work are sums over the slices.
class SlicedScheme : public WrappedScheme {
 public:
  int64_t ElementsSent(const Unit& unit, double parameter) const override;
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override;

 protected:
  using WrappedScheme::WrappedScheme;
  virtual std::vector<Unit> SlicesOf(const Unit& unit) const = 0;
  // Returns the scheme that serves the slices of a unit.
  virtual const Scheme& Serving(const Unit&) const { return *scheme(); }
};

}  // namespace legacy
