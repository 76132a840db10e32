#include "compress/codecs/dct_codec.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/number.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"

namespace legacy {
namespace {

constexpr const char* kDctQuantiser = "fp32";  // quantiser if none is named

// Returns chunks of a vector, which are the rows of a matrix.
cpu::ChunkGrid LineGrid(int64_t numel, int64_t target) {
  if (numel == 0) return {};
  const int64_t width = cpu::ChunkLength(numel, target);
  return {.rows = numel / width, .columns = width, .height = 1, .width = width};
}

cpu::ChunkGrid MatrixGrid(int64_t rows, int64_t columns, int64_t target) {
  if (rows == 0 || columns == 0) return {};
  return {.rows = rows,
          .columns = columns,
          .height = cpu::ChunkLength(rows, target),
          .width = cpu::ChunkLength(columns, target)};
}

// Returns the rows of the most square matrix of `numel` values.
int64_t SquareRows(int64_t numel) {
  const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(numel)));
  return numel == 0 ? 0 : cpu::ChunkLength(numel, std::max<int64_t>(root, 1));
}

int64_t MultiplyAdds(const cpu::ChunkGrid& grid) {
  return grid.numel() * (grid.width + (grid.height > 1 ? grid.height : 0));
}

}  // namespace

DctCodec::DctCodec(Settings settings, std::optional<cpu::ChunkGrid> grid)
    : settings_(std::move(settings)), grid_(grid), name_("dct") {
  if (Quantises()) name_.append("+").append(quantiser().Name());
}

const ParameterSpec& DctCodec::Parameter() const {
  constexpr double kPublished = 32.0 / (64 * 64);
  static const ParameterSpec spec = [] {
    ParameterSpec density = DensityParameter();
    density.fallback = kPublished;
    density.help = "fraction of each chunk's coefficients that is sent; at least one";
    return density;
  }();
  return settings_.k > 0 ? NoParameter() : spec;
}

std::unique_ptr<Codec> DctCodec::ForUnit(const Unit& unit) const {
  if (settings_.shape == DctShape::kLine || unit.shape.size() < 2 || unit.numel == 0) {
    return nullptr;
  }
  const int64_t rows = unit.shape.front();
  return std::make_unique<DctCodec>(settings_,
                                    MatrixGrid(rows, unit.numel / rows, settings_.chunk));
}

cpu::ChunkGrid DctCodec::GridOf(int64_t numel) const {
  assert(!grid_ || grid_->numel() == numel);
  if (grid_) return *grid_;
  if (settings_.shape != DctShape::kMatrix || numel == 0) return LineGrid(numel, settings_.chunk);
  const int64_t rows = SquareRows(numel);
  return MatrixGrid(rows, numel / rows, settings_.chunk);
}

int64_t DctCodec::KeptOf(const cpu::ChunkGrid& grid, double density) const {
  constexpr int64_t kValueBits = 32;
  const int64_t all = grid.size();
  const int64_t kept = std::min(settings_.k > 0 ? settings_.k : KeptCount(all, density), all);
  const bool longer = kept * (BitsPerPosition(all) + kValueBits) > all * kValueBits;
  return longer ? all : kept;
}

// Chunks that are too small to be divided are sent whole at any density, but make no codec one that
// only rounds.
bool DctCodec::Linear(int64_t, double density) const {
  return quantiser().Linear() && settings_.k == 0 && density == 1;
}

bool DctCodec::AllowsErrorFeedback(double) const {
  return quantiser().AllowsErrorFeedback(Fixed());
}

int64_t DctCodec::ElementsSent(int64_t numel, double density) const {
  const cpu::ChunkGrid grid = GridOf(numel);
  return grid.chunks() * KeptOf(grid, density);
}

namespace {

// Returns the bytes of the positions of `kept` coefficients of each chunk.
int64_t PositionBytes(const cpu::ChunkGrid& grid, int64_t kept) {
  if (kept == grid.size()) return 0;
  return cpu::PackedBytes(grid.chunks() * kept, BitsPerPosition(grid.size()));
}

}  // namespace

std::optional<int64_t> DctCodec::MessageBytes(const Unit& unit, double density) const {
  const cpu::ChunkGrid grid = GridOf(unit.numel);
  const int64_t kept = KeptOf(grid, density);
  const auto segment = quantiser().SegmentBytes(grid.chunks() * kept, Fixed());
  if (!segment) return std::nullopt;
  return kExtendedHeaderBytes + PositionBytes(grid, kept) + *segment;
}

// The largest magnitude is found first.
WorkList DctCodec::EncodeWork(int64_t numel, const CodecContext& context) const {
  const int64_t values = ElementsSent(numel, context.parameter);
  WorkList work = {{"norm", numel},
                   {"dct.multiply", MultiplyAdds(GridOf(numel))},
                   {"dct.select", numel},
                   {"sparse.encode", values}};
  if (Quantises()) AddWork(QuantiseWork(quantiser(), values, Fixed()), work);
  return work;
}

WorkList DctCodec::DecodeWork(int64_t numel, double density) const {
  const int64_t values = ElementsSent(numel, density);
  // The pass that transforms back reads messages in fp32.
  if (!Quantises())
    return {Moved(PositionBytes(GridOf(numel), KeptOf(GridOf(numel), density)) + 4 * values)};
  WorkList work = {{"sparse.decode", values}};
  AddWork(DequantiseWork(quantiser(), values, Fixed()), work);
  return work;
}

WorkList DctCodec::FinishWork(int64_t numel, double) const {
  return {{"dct.multiply", MultiplyAdds(GridOf(numel))}, {"mean", numel}};
}

// The worker's own coefficients are transformed back and subtracted.
WorkList DctCodec::FeedbackWork(int64_t numel, double density, Feeding feeding) const {
  WorkList work = {{"dct.multiply", MultiplyAdds(GridOf(numel))}, {"feedback", numel}};
  if (Quantises()) {
    AddWork(DequantiseWork(quantiser(), ElementsSent(numel, density), Fixed()), work);
  }
  if (feeding == Feeding::kGradient) work.push_back({"accumulate", numel});
  return work;
}

WorkList DctCodec::ErrorWork(int64_t numel, std::span<const double> densities) const {
  WorkList work = {{"norm", numel}, {"dct.multiply", MultiplyAdds(GridOf(numel))}, {"copy", numel}};
  for (const double density : densities) {
    const int64_t values = ElementsSent(numel, density);
    AddWork({{"dct.select", numel}, {"norm", numel}}, work);
    if (!Quantises()) continue;
    AddWork(QuantiseWork(quantiser(), values, Fixed()), work);
    AddWork(DequantiseWork(quantiser(), values, Fixed()), work);
  }
  return work;
}

ExtendedHeader DctCodec::HeaderOf(const cpu::ChunkGrid& grid, const CodecContext& context) const {
  return {
      .header = {.unit = context.unit,
                 .numel = static_cast<uint32_t>(grid.numel()),
                 .count = static_cast<uint32_t>(grid.chunks() * KeptOf(grid, context.parameter))},
      .method = ExtendedMethod::kDct,
      .values = static_cast<uint8_t>(quantiser().Type())};
}

std::vector<float> DctCodec::Transform(std::span<const float> values, const cpu::ChunkGrid& grid,
                                       uint32_t unit) const {
  CheckedMagnitude(values, kLargestValue, unit, name_);
  std::vector<float> coefficients(values.size());
  cpu::ChunkDct(grid).Forward(values, coefficients);
  return coefficients;
}

DctCodec::Kept DctCodec::Select(std::span<const float> coefficients, const cpu::ChunkGrid& grid,
                                int64_t k) const {
  Kept kept;
  if (k == grid.size()) {
    kept.positions.resize(coefficients.size());
    std::iota(kept.positions.begin(), kept.positions.end(), 0u);
    kept.values.assign(coefficients.begin(), coefficients.end());
    return kept;
  }
  std::vector<cpu::TopKSegment> chunks(static_cast<size_t>(grid.chunks()));
  for (size_t c = 0; c < chunks.size(); ++c) {
    chunks[c] = {static_cast<int64_t>(c) * grid.size(), grid.size(), k, 0};
  }
  cpu::TopKSelector selector;
  const cpu::TopKResult result = selector.Select(coefficients, chunks);
  kept.values.assign(result.values.begin(), result.values.end());
  kept.positions.assign(result.indices.begin(), result.indices.end());
  for (size_t i = 0; i < kept.positions.size(); ++i) {
    kept.positions[i] += static_cast<uint32_t>(chunks[i / static_cast<size_t>(k)].offset);
  }
  return kept;
}

Message DctCodec::Write(const Kept& kept, const cpu::ChunkGrid& grid,
                        const CodecContext& context) const {
  const int64_t k = KeptOf(grid, context.parameter);
  const int64_t positions = PositionBytes(grid, k);
  Message message =
      StartMessage(HeaderOf(grid, context), positions + int64_t{4} * std::ssize(kept.values));
  if (positions > 0) {
    std::vector<uint32_t> own(kept.positions);
    for (uint32_t& position : own) position %= static_cast<uint32_t>(grid.size());
    const size_t begin = message.bytes.size();
    message.bytes.resize(begin + static_cast<size_t>(positions));
    cpu::PackCodes(own, BitsPerPosition(grid.size()), std::span(message.bytes).subspan(begin));
  }
  EncodeSegment(quantiser(), kept.values, Fixed(), context, message.bytes);
  return message;
}

DctCodec::Kept DctCodec::Read(ByteSpan message, int64_t numel, const CodecContext& context) const {
  const cpu::ChunkGrid grid = GridOf(numel);
  const int64_t k = KeptOf(grid, context.parameter);
  const ByteSpan payload = CheckedPayload(message, HeaderOf(grid, context));
  const int64_t bytes = PositionBytes(grid, k);
  if (std::ssize(payload) < bytes) throw Error("message: positions end early");
  Kept kept;
  kept.positions.resize(static_cast<size_t>(grid.chunks() * k));
  if (bytes > 0) {
    cpu::UnpackCodes(payload.first(bytes), BitsPerPosition(grid.size()), kept.positions);
    const auto size = static_cast<uint32_t>(grid.size());
    for (size_t i = 0; i < kept.positions.size(); ++i) {
      const size_t chunk = i / static_cast<size_t>(k);
      const uint32_t first = static_cast<uint32_t>(chunk) * size;
      if (kept.positions[i] >= size) {
        throw Error("message: position", std::to_string(kept.positions[i]),
                    "below " + std::to_string(size) + ", the size of a chunk");
      }
      kept.positions[i] += first;
      if (i % static_cast<size_t>(k) != 0 && kept.positions[i] <= kept.positions[i - 1]) {
        throw Error("message: position " + std::to_string(kept.positions[i] - first) +
                    " of chunk " + std::to_string(chunk) + " repeats or goes back");
      }
    }
  } else {
    std::iota(kept.positions.begin(), kept.positions.end(), 0u);
  }
  kept.values.resize(kept.positions.size());
  DecodeSegment(quantiser(), payload.subspan(bytes), Fixed(), kept.values);
  const float largest = cpu::AbsMax(kept.values);
  if (!(largest <= kLargestCoefficient)) {
    throw Error("message: coefficient", FormatNumber(largest),
                "at most " + FormatNumber(kLargestCoefficient));
  }
  return kept;
}

namespace {

// Returns the vector whose coefficients are those kept, and 0 elsewhere.
std::vector<float> Restored(const DctCodec::Kept& kept, const cpu::ChunkGrid& grid) {
  std::vector<float> coefficients(static_cast<size_t>(grid.numel()));
  for (size_t i = 0; i < kept.positions.size(); ++i) {
    coefficients[kept.positions[i]] = kept.values[i];
  }
  std::vector<float> values(coefficients.size());
  cpu::ChunkDct(grid).Inverse(coefficients, values);
  return values;
}

}  // namespace

Message DctCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  CheckParameter(Parameter(), context.parameter);
  const cpu::ChunkGrid grid = GridOf(CheckedNumel(values));
  const std::vector<float> coefficients = Transform(values, grid, context.unit);
  return Write(Select(coefficients, grid, KeptOf(grid, context.parameter)), grid, context);
}

Message DctCodec::EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                     const CodecContext& context,
                                     std::vector<uint32_t>* sent) const {
  if (!gradient.empty()) cpu::Add(gradient, residual);
  CheckParameter(Parameter(), context.parameter);
  const cpu::ChunkGrid grid = GridOf(CheckedNumel(residual));
  const std::vector<float> coefficients = Transform(residual, grid, context.unit);
  Kept kept = Select(coefficients, grid, KeptOf(grid, context.parameter));
  Message message = Write(kept, grid, context);
  if (Quantises()) {
    const int64_t before =
        kExtendedHeaderBytes + PositionBytes(grid, KeptOf(grid, context.parameter));
    DecodeSegment(quantiser(), ByteSpan(message.bytes).subspan(before), Fixed(), kept.values);
  }
  cpu::Subtract(Restored(kept, grid), residual);
  if (sent != nullptr) sent->clear();
  return message;
}

void DctCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                         std::span<float> sum) const {
  const int64_t numel = CheckedNumel(sum);
  cpu::Add(Restored(Read(message, numel, context), GridOf(numel)), sum);
}

void DctCodec::Accumulate(ByteSpan message, int64_t numel, const CodecContext& context,
                          std::span<float> sum) const {
  assert(std::ssize(sum) == numel);
  const Kept kept = Read(message, numel, context);
  for (size_t i = 0; i < kept.positions.size(); ++i) sum[kept.positions[i]] += kept.values[i];
}

void DctCodec::MeanOf(std::span<const float> sum, float divisor, const CodecContext&,
                      std::span<float> mean) const {
  assert(sum.size() == mean.size());
  cpu::ChunkDct(GridOf(std::ssize(mean))).Inverse(sum, mean);
  for (float& x : mean) x = (0.0f + x) / divisor;  // adding 0 removes -0
}

std::vector<double> DctCodec::SquaredErrors(std::span<const float> values,
                                            std::span<const double> densities,
                                            const CodecContext& context) const {
  const cpu::ChunkGrid grid = GridOf(CheckedNumel(values));
  const std::vector<float> coefficients = Transform(values, grid, context.unit);
  std::vector<double> errors;
  for (const double density : densities) {
    CheckParameter(Parameter(), density);
    const Kept kept = Select(coefficients, grid, KeptOf(grid, density));
    std::vector<float> error = coefficients;
    for (const uint32_t position : kept.positions) error[position] = 0;
    if (Quantises()) {
      Bytes segment;
      EncodeSegment(quantiser(), kept.values, Fixed(), context, segment);
      std::vector<float> received(kept.values.size());
      DecodeSegment(quantiser(), segment, Fixed(), received);
      for (size_t i = 0; i < received.size(); ++i) {
        error[kept.positions[i]] = kept.values[i] - received[i];
      }
    }
    errors.push_back(cpu::SquaredNorm(error));
  }
  return errors;
}

namespace {

std::vector<OptionSpec> OptionsOfDct() {
  return {{"chunk", "64", "1 to 1024",
           "number of values along each side of a chunk, at most; chunks divide the unit"},
          {"shape", "auto", "auto, line, matrix",
           "what is cut into chunks: line: the unit as a vector; auto: its first dimension x the "
           "rest, or a line if there is one; matrix: likewise, but vectors as a square"},
          {"k", "0", "0 to 1048576",
           "number of coefficients that are sent of each chunk, where no policy chooses their "
           "density; 0: as many as the density says"}};
}

std::unique_ptr<Codec> MakeDct(std::span<const Stage> stages) {
  constexpr std::string_view kShapes[] = {"auto", "line", "matrix"};
  const std::vector<OptionSpec> specs = OptionsOfDct();
  const OptionReader options(stages.front(), specs);
  DctCodec::Settings settings;
  settings.quantiser = MakeQuantiser(stages.size() > 1 ? stages[1] : Stage{kDctQuantiser});
  settings.chunk = options.Integer("chunk", 1, DctCodec::kMostChunk);
  settings.shape = static_cast<DctShape>(options.Choice("shape", kShapes));
  settings.k = options.Integer("k", 0, DctCodec::kMostChunk * DctCodec::kMostChunk);
  return std::make_unique<DctCodec>(std::move(settings));
}

}  // namespace

CodecRow DctRow() {
  return {{.name = "dct",
           .help = "sends the largest coefficients of the cosine transform of each chunk",
           .paper = "Peng, Kingma et al., DeMo: Decoupled Momentum Optimization, ICLR 2026",
           .options = OptionsOfDct()},
          /*takes_quantiser=*/true,
          MakeDct};
}

}  // namespace legacy
