// FFT sparsification (Wang et al., "FFT-based Gradient Sparsification for the Distributed Training
// of Deep Neural Networks", HPDC 2020) cuts the spectrum of a unit to its strongest bins. Their
// coefficients are quantised, by default to range-based floats of 10 bits.
//
//   theta   fraction of the bins that is dropped
//   pieces  chunks and falling powers of two (cpu/spectrum.h), never padded: padding spreads a unit
//           over more bins
//   kept    max(1, ceil((1 - theta) bins)) of the largest w |X|^2, over all pieces together; ties
//           to the lower bin. w = 1 if a coefficient is real, else 2, so that the dropped sum is
//           the error: ||x - C(x)||^2 <= (1 - kept / bins) ||x||^2. A number of bins for each
//           piece would drop more energy.
//   bytes   header, whose count is the number of bins; positions among the bins of all pieces, in
//           the index coding (none if all are kept); real and imaginary part of each bin, one
//           segment. The imaginary part of a real coefficient is sent as 0, so that the length
//           follows from numel and theta alone. Receivers refuse other numbers, but ignore what
//           quantisers make of 0 that do not keep it (Quantiser::KeepsZeros).
//
// A receiver adds the spectra of all messages, and one inverse transform makes their mean.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compress/codec.h"
#include "compress/cpu/spectrum.h"
#include "compress/quantiser.h"

namespace legacy {

// Returns the number of selected bins of `bins`: the exact decimal product, rounded up, although (1
// - 0.85) * 40 exceeds 6 in double precision.
int64_t KeptBins(int64_t bins, double theta);

// A codec that transforms, selects and quantises.
class FftCodec : public Codec {
 public:
  // `chunk` is a power of two within SpectrumPlan's limits. `index` is the forced coding of
  // positions; without it, the shortest is used.
  FftCodec(std::unique_ptr<Quantiser> quantiser, int64_t chunk, std::optional<IndexCoding> index);
  std::string_view Name() const override { return name_; }  // "fft", "fft+fp16"
  const ParameterSpec& Parameter() const override;
  bool Linear(int64_t numel, double theta) const override;
  bool AllowsErrorFeedback(double theta) const override;
  // Returns two values for each kept bin.
  int64_t ElementsSent(int64_t numel, double theta) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double theta) const override;
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  WorkList DecodeWork(int64_t numel, double theta) const override;
  WorkList FeedbackWork(int64_t numel, double theta, Feeding feeding) const override;
  WorkList ErrorWork(int64_t numel, std::span<const double> thetas) const override;
  WorkList FinishWork(int64_t numel, double theta) const override;
  // Throws Error on magnitudes above 2^100 too, as sums over them could overflow.
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
  // The sum has the real parts of all bins, then their imaginary parts.
  int64_t SumSize(int64_t numel) const override { return 2 * plan_.Bins(numel); }
  void Accumulate(ByteSpan message, int64_t numel, const CodecContext& context,
                  std::span<float> sum) const override;
  void MeanOf(std::span<const float> sum, float divisor, const CodecContext& context,
              std::span<float> mean) const override;
  // Takes one transform for all thetas.
  std::vector<double> SquaredErrors(std::span<const float> values, std::span<const double> thetas,
                                    const CodecContext& context) const override;

  const Quantiser& quantiser() const { return *quantiser_; }
  const cpu::SpectrumPlan& plan() const { return plan_; }
  std::optional<IndexCoding> index() const { return index_; }

 private:
  struct Spectrum;
  struct Bins;  // bins of a message
  Bins Read(ByteSpan message, int64_t numel, const CodecContext& context) const;
  void CheckRealBins(const Bins& bins, int64_t numel) const;
  Spectrum Transform(std::span<const float> values, uint32_t unit) const;
  double QuantisationError(const Spectrum& spectrum, std::span<const uint32_t> kept,
                           const CodecContext& context) const;
  Header HeaderOf(int64_t numel, const CodecContext& context) const;
  bool Quantises() const { return quantiser_->Type() != ValueType::kFloat32; }
  double Fixed() const { return quantiser_->Parameter().fallback; }  // the quantiser's parameter

  std::unique_ptr<Quantiser> quantiser_;
  cpu::SpectrumPlan plan_;
  std::optional<IndexCoding> index_;
  std::string name_;
};

}  // namespace legacy
