// DCT sparsification, as DeMo has it (Peng, Kingma et al., "DeMo: Decoupled Momentum Optimization",
// ICLR 2026), sends the largest coefficients of the cosine transform of each chunk (cpu/dct.h).
//
//   matrix   a unit's first dimension x the rest; or a line of all values; or, if the unit has one
//            dimension, the most square matrix of its values
//   chunk    h x w: the largest divisors of both dimensions up to `chunk`, never padded
//   kept     the k largest |c| of each chunk, ties to the lower position; k as given, or
//            max(1, floor(density h w)). A chunk whose positions and fp32 values would take more
//            bytes than it has is sent whole.
//   payload  positions in their chunks, ascending, as one stream of b = ceil(log2 h w) bits each
//            (none if chunks are sent whole); then the values in that order, one segment of the
//            quantiser: ceil(C k b / 8) + 4 C k bytes for C chunks in fp32
//
// The header's count is C k. A receiver adds the coefficients of all messages, and one inverse
// transform makes their mean.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compress/codec.h"
#include "compress/cpu/dct.h"
#include "compress/quantiser.h"

namespace legacy {

// A DctShape says which units are taken for matrices: those of two dimensions and more (kAuto),
// none (kLine), or all (kMatrix).
enum class DctShape : uint8_t { kAuto, kLine, kMatrix };

// A codec that transforms, selects and quantises.
class DctCodec : public Codec {
 public:
  static constexpr int64_t kMostChunk = 1024;
  // Sums over a chunk of values or coefficients up to these limits are finite.
  static constexpr float kLargestValue = 0x1p100f;
  static constexpr float kLargestCoefficient = 0x1p111f;

  struct Settings {
    std::shared_ptr<const Quantiser> quantiser;
    int64_t chunk = 64;
    DctShape shape = DctShape::kAuto;
    int64_t k = 0;  // coefficients of a chunk; 0: as many as the density says
  };

  explicit DctCodec(Settings settings, std::optional<cpu::ChunkGrid> grid = std::nullopt);
  std::string_view Name() const override { return name_; }  // "dct", "dct+fp16"
  const ParameterSpec& Parameter() const override;
  bool Linear(int64_t numel, double density) const override;
  bool AllowsErrorFeedback(double density) const override;
  int64_t ElementsSent(int64_t numel, double density) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double density) const override;
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  WorkList DecodeWork(int64_t numel, double density) const override;
  WorkList FinishWork(int64_t numel, double density) const override;
  WorkList FeedbackWork(int64_t numel, double density, Feeding feeding) const override;
  WorkList ErrorWork(int64_t numel, std::span<const double> densities) const override;
  // Throws Error on magnitudes above kLargestValue too.
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                             const CodecContext& context,
                             std::vector<uint32_t>* sent) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
  // The sum is that of coefficients, as ChunkDct orders them.
  void Accumulate(ByteSpan message, int64_t numel, const CodecContext& context,
                  std::span<float> sum) const override;
  void MeanOf(std::span<const float> sum, float divisor, const CodecContext& context,
              std::span<float> mean) const override;
  // Takes one transform for all densities.
  std::vector<double> SquaredErrors(std::span<const float> values,
                                    std::span<const double> densities,
                                    const CodecContext& context) const override;
  std::unique_ptr<Codec> ForUnit(const Unit& unit) const override;

  // Selected coefficients of a unit; positions are those among all coefficients.
  struct Kept {
    std::vector<uint32_t> positions;
    std::vector<float> values;
  };
  // Reads and checks a message.
  Kept Read(ByteSpan message, int64_t numel, const CodecContext& context) const;
  // Returns the chunks of a unit of `numel` elements.
  cpu::ChunkGrid GridOf(int64_t numel) const;
  // Returns the number of coefficients that are kept of each chunk.
  int64_t KeptOf(const cpu::ChunkGrid& grid, double density) const;
  // Returns the header of a message.
  ExtendedHeader HeaderOf(const cpu::ChunkGrid& grid, const CodecContext& context) const;
  int64_t chunk() const { return settings_.chunk; }
  const Quantiser& quantiser() const { return *settings_.quantiser; }

 private:
  std::vector<float> Transform(std::span<const float> values, const cpu::ChunkGrid& grid,
                               uint32_t unit) const;
  Kept Select(std::span<const float> coefficients, const cpu::ChunkGrid& grid, int64_t k) const;
  Message Write(const Kept& kept, const cpu::ChunkGrid& grid, const CodecContext& context) const;
  bool Quantises() const { return quantiser().Type() != ValueType::kFloat32; }
  double Fixed() const { return quantiser().Parameter().fallback; }  // the quantiser's parameter

  Settings settings_;
  std::optional<cpu::ChunkGrid> grid_;  // of the unit, if it is known
  std::string name_;
};

}  // namespace legacy
