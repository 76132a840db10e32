#include "compress/codecs/fft_codec.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/number.h"
#include "compress/checks.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/cpu/fft_rules.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"

namespace legacy {
namespace {

using cpu::SpectrumPlan;

constexpr const char* kFftQuantiser = "rbf";  // quantiser if none is named

}  // namespace

int64_t KeptBins(int64_t bins, double theta) {
  if (bins == 0) return 0;
  // Relative rounding error of 1 - theta and of the product.
  constexpr double kRoundingError = 4e-16;
  const auto all = static_cast<double>(bins);
  const double kept = std::ceil((1 - theta) * all - all * kRoundingError - 1e-9);
  return std::clamp(static_cast<int64_t>(kept), int64_t{1}, bins);
}

struct FftCodec::Spectrum {
  Spectrum(int64_t elements, int64_t size)
      : numel(elements),
        bins(size),
        re(std::make_unique_for_overwrite<float[]>(size)),
        im(std::make_unique_for_overwrite<float[]>(size)),
        power(std::make_unique_for_overwrite<float[]>(size)) {}

  std::vector<uint32_t> Strongest(int64_t count) const {
    return cpu::SelectTopK(std::span(power.get(), bins), count);
  }
  std::vector<float> At(std::span<const uint32_t> positions) const {
    std::vector<float> coefficients(2 * positions.size());
    for (size_t i = 0; i < positions.size(); ++i) {
      coefficients[2 * i] = re[positions[i]];
      coefficients[2 * i + 1] = im[positions[i]];
    }
    return coefficients;
  }

  int64_t numel;
  int64_t bins;
  float scale = 1;  // scale of `power`
  std::unique_ptr<float[]> re, im, power;
};

FftCodec::FftCodec(std::unique_ptr<Quantiser> quantiser, int64_t chunk,
                   std::optional<IndexCoding> index)
    : quantiser_(std::move(quantiser)), plan_(chunk), index_(index), name_("fft") {
  if (quantiser_->Name() != kFftQuantiser) name_.append("+").append(quantiser_->Name());
}

const ParameterSpec& FftCodec::Parameter() const {
  static const ParameterSpec spec{.name = "theta",
                                  .minimum = 0,
                                  .maximum = 1,
                                  .integer = false,
                                  .fallback = 0.85,
                                  .help = "fraction of the spectrum that is dropped",
                                  .volume_falls = true};
  return spec;
}

bool FftCodec::Linear(int64_t numel, double theta) const {
  const int64_t bins = plan_.Bins(numel);
  return quantiser_->Linear() && KeptBins(bins, theta) == bins;
}

bool FftCodec::AllowsErrorFeedback(double) const {
  return quantiser_->AllowsErrorFeedback(Fixed());
}

int64_t FftCodec::ElementsSent(int64_t numel, double theta) const {
  return 2 * KeptBins(plan_.Bins(numel), theta);
}

std::optional<int64_t> FftCodec::MessageBytes(const Unit& unit, double theta) const {
  const int64_t bins = plan_.Bins(unit.numel);
  const int64_t kept = KeptBins(bins, theta);
  const IndexCoding coding = PositionCoding(index_, bins, kept);
  const auto segment = quantiser_->SegmentBytes(2 * kept, Fixed());
  if (!segment || coding == IndexCoding::kDelta) return std::nullopt;
  return HeaderBytes(quantiser_->Type()) + IndexBytes(coding, bins, kept) + *segment;
}

WorkList FftCodec::EncodeWork(int64_t numel, const CodecContext& context) const {
  // Bytes of a selected bin: twice as many bins as are sent are listed, and read again.
  constexpr int64_t kListed = 98;
  const int64_t values = ElementsSent(numel, context.parameter);
  WorkList work = {
      {"fft.encode", numel}, {"sparse.encode", values / 2}, Moved(kListed * values / 2)};
  if (Quantises()) AddWork(QuantiseWork(*quantiser_, values, Fixed()), work);
  return work;
}

// Takes one spectrum. For each parameter, its strongest bins are summed and quantised.
WorkList FftCodec::ErrorWork(int64_t numel, std::span<const double> thetas) const {
  // Bytes of a selected bin: its position, and one and a half candidates of 4 and 8 bytes, are
  // written and read; a power and two coefficients are read, each in a sector.
  constexpr int64_t kListed = 8 + 16 + 8, kSector = 32;
  const int64_t sectors = Quantises() ? 3 : 1;
  const int64_t bins = plan_.Bins(numel);
  WorkList work = {{"fft.forward", numel}, {"norm", bins}};
  for (const double theta : thetas) {
    const int64_t values = ElementsSent(numel, theta);
    AddWork(TopKWork(bins), work);
    AddWork(Work{"norm", values / 2}, work);
    AddWork(Moved((kListed + sectors * kSector) * values / 2), work);
    if (!Quantises()) continue;
    AddWork(QuantiseWork(*quantiser_, values, Fixed()), work);
    AddWork(DequantiseWork(*quantiser_, values, Fixed()), work);
    AddWork(Work{"norm", values}, work);
  }
  return work;
}

WorkList FftCodec::DecodeWork(int64_t numel, double theta) const {
  const int64_t values = ElementsSent(numel, theta);
  WorkList work = {{"fft.decode", values / 2},
                   PositionsWork(index_, plan_.Bins(numel), values / 2)};
  if (Quantises()) AddWork(DequantiseWork(*quantiser_, values, Fixed()), work);
  return work;
}

// The worker's own message is not read. Quantised coefficients are decoded in place and transformed
// back into the residual, which is read and written.
WorkList FftCodec::FeedbackWork(int64_t numel, double theta, Feeding feeding) const {
  // Bytes of a bin: its coefficients are written and read.
  constexpr int64_t kTransformed = 19;
  const int64_t values = ElementsSent(numel, theta);
  WorkList work;
  if (Quantises()) work = DequantiseWork(*quantiser_, values, Fixed());
  AddWork({{"fft.inverse", numel}, Moved(4 * numel + kTransformed * values / 2)}, work);
  if (feeding == Feeding::kGradient) work.push_back({"accumulate", numel});
  return work;
}

WorkList FftCodec::FinishWork(int64_t numel, [[maybe_unused]] double theta) const {
  return {{"fft.inverse", numel, 1}};
}

Header FftCodec::HeaderOf(int64_t numel, const CodecContext& context) const {
  const int64_t bins = plan_.Bins(numel);
  const int64_t kept = KeptBins(bins, context.parameter);
  return {.codec = static_cast<uint8_t>(CodecId::kFft),
          .index = PositionCoding(index_, bins, kept),
          .values = quantiser_->Type(),
          .unit = context.unit,
          .numel = static_cast<uint32_t>(numel),
          .count = static_cast<uint32_t>(kept)};
}

FftCodec::Spectrum FftCodec::Transform(std::span<const float> values, uint32_t unit) const {
  const float largest = CheckedMagnitude(values, SpectrumPlan::kLargestValue, unit, "fft");
  const int64_t numel = CheckedNumel(values);
  Spectrum spectrum(numel, plan_.Bins(numel));
  spectrum.scale = cpu::SpectrumScale(largest);
  plan_.Forward(values, spectrum.scale, spectrum.re.get(), spectrum.im.get(), spectrum.power.get());
  return spectrum;
}

Message FftCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  CheckParameter(Parameter(), context.parameter);
  const Spectrum spectrum = Transform(values, context.unit);
  const Header header = HeaderOf(spectrum.numel, context);
  const std::vector<uint32_t> kept = spectrum.Strongest(header.count);
  Message message = StartMessage(header, 4 * int64_t{header.count});
  WriteIndices(header.index, spectrum.bins, kept, message.bytes);
  quantiser_->Encode(spectrum.At(kept), Fixed(), context, message.bytes);
  return message;
}

struct FftCodec::Bins {
  std::vector<uint32_t> positions;  // ascending
  std::vector<float> coefficients;  // real and imaginary part of each bin
};

FftCodec::Bins FftCodec::Read(ByteSpan message, int64_t numel, const CodecContext& context) const {
  const Header header = HeaderOf(numel, context);
  ByteSpan rest = CheckedPayload(message, header);
  Bins bins;
  const int64_t all = plan_.Bins(numel);
  if (header.index != IndexCoding::kNone) {
    bins.positions = ReadIndices(header.index, all, header.count, rest);
  } else {
    bins.positions.resize(all);
    std::iota(bins.positions.begin(), bins.positions.end(), 0u);
  }
  bins.coefficients.resize(2 * bins.positions.size());
  quantiser_->Decode(rest, Fixed(), bins.coefficients);
  const float largest = cpu::AbsMax(bins.coefficients);
  if (!(largest <= SpectrumPlan::kLargestCoefficient)) {
    throw Error("message: coefficient", FormatNumber(largest),
                "at most " + FormatNumber(SpectrumPlan::kLargestCoefficient));
  }
  if (quantiser_->KeepsZeros()) CheckRealBins(bins, numel);
  return bins;
}

// An encoder writes 0 for the imaginary part of a coefficient that is real.
void FftCodec::CheckRealBins(const Bins& bins, int64_t numel) const {
  const std::vector<float> weights = plan_.Weights(numel, bins.positions);
  for (size_t i = 0; i < weights.size(); ++i) {
    const float imaginary = bins.coefficients[2 * i + 1];
    if (weights[i] != 1 || imaginary == 0) continue;
    throw Error("message: imaginary part of bin " + std::to_string(bins.positions[i]),
                FormatNumber(imaginary), "0, as the coefficient of this bin is real");
  }
}

void FftCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                         std::span<float> sum) const {
  const Bins bins = Read(message, CheckedNumel(sum), context);
  plan_.InverseAdd(bins.positions, bins.coefficients, sum);
}

void FftCodec::Accumulate(ByteSpan message, int64_t numel, const CodecContext& context,
                          std::span<float> sum) const {
  assert(std::ssize(sum) == SumSize(numel));
  const Bins bins = Read(message, numel, context);
  const size_t all = sum.size() / 2;
  for (size_t i = 0; i < bins.positions.size(); ++i) {
    sum[bins.positions[i]] += bins.coefficients[2 * i];
    sum[all + bins.positions[i]] += bins.coefficients[2 * i + 1];
  }
}

void FftCodec::MeanOf(std::span<const float> sum, float divisor, const CodecContext&,
                      std::span<float> mean) const {
  assert(std::ssize(sum) == SumSize(std::ssize(mean)));
  plan_.Inverse(sum.data(), sum.data() + sum.size() / 2, mean);
  // Adding 0 removes the -0 of pieces for which no worker sent bins.
  for (float& x : mean) x = (0.0f + x) / divisor;
}

double FftCodec::QuantisationError(const Spectrum& spectrum, std::span<const uint32_t> kept,
                                   const CodecContext& context) const {
  const std::vector<float> sent = spectrum.At(kept);
  const std::vector<float> weights = plan_.Weights(spectrum.numel, kept);
  Bytes segment;
  quantiser_->Encode(sent, Fixed(), context, segment);
  std::vector<float> received(sent.size());
  quantiser_->Decode(segment, Fixed(), received);
  double error = 0;
  for (size_t i = 0; i < sent.size(); ++i) {
    const bool ignored = i % 2 == 1 && weights[i / 2] == 1;  // imaginary part of a real coefficient
    const double difference = static_cast<double>(sent[i]) - static_cast<double>(received[i]);
    if (!ignored) error += weights[i / 2] * difference * difference;
  }
  return error;
}

std::vector<double> FftCodec::SquaredErrors(std::span<const float> values,
                                            std::span<const double> thetas,
                                            const CodecContext& context) const {
  const Spectrum spectrum = Transform(values, context.unit);
  const double square = static_cast<double>(spectrum.scale) * static_cast<double>(spectrum.scale);
  const double total =
      std::accumulate(spectrum.power.get(), spectrum.power.get() + spectrum.bins, 0.0);
  CodecContext forgetful = context;
  forgetful.state = nullptr;
  std::vector<double> errors;
  for (const double theta : thetas) {
    CheckParameter(Parameter(), theta);
    const auto kept = spectrum.Strongest(KeptBins(spectrum.bins, theta));
    double energy = 0;
    for (const uint32_t bin : kept) energy += spectrum.power[bin];
    double error = std::max(0.0, total - energy) / square;
    if (Quantises()) {
      error += QuantisationError(spectrum, kept, forgetful);
    }
    errors.push_back(error);
  }
  return errors;
}

namespace {

std::vector<OptionSpec> OptionsOfFft() {
  return {{"chunk", "4096", "powers of two from 64 to 1048576", "number of elements per transform"},
          IndexOption()};
}

std::unique_ptr<Codec> MakeFft(std::span<const Stage> stages) {
  const std::vector<OptionSpec> specs = OptionsOfFft();
  const OptionReader options(stages.front(), specs);
  const int64_t chunk =
      options.Integer("chunk", cpu::SpectrumPlan::kLeastChunk, cpu::SpectrumPlan::kMostChunk);
  if (!std::has_single_bit(static_cast<uint64_t>(chunk))) {
    throw Error("fft: chunk", std::to_string(chunk), "powers of two from 64 to 1048576");
  }
  return std::make_unique<FftCodec>(
      MakeQuantiser(stages.size() > 1 ? stages[1] : Stage{kFftQuantiser}), chunk,
      ParseIndexCoding(options.Text(IndexOption().name)));
}

}  // namespace

CodecRow FftRow() {
  return {
      {.name = "fft",
       .help = "sends the largest coefficients of the Fourier transform",
       .paper = "Wang et al., FFT-based Gradient Sparsification for the Distributed Training of "
                "Deep Neural Networks, HPDC 2020",
       .options = OptionsOfFft()},
      /*takes_quantiser=*/true,
      MakeFft};
}

}  // namespace legacy
