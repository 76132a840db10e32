#include "compress/codecs/blocks_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"

namespace legacy {
int64_t KeptBlocks(int64_t blocks, double density) {
  if (blocks == 0) return 0;
  constexpr double kRoundingError = 4e-16;
  const auto all = static_cast<double>(blocks);
  const double kept = std::ceil(density * all - all * kRoundingError - 1e-9);
  return std::clamp(static_cast<int64_t>(kept), int64_t{1}, blocks);
}

const ParameterSpec& BlocksCodec::Parameter() const {
  static const ParameterSpec spec = [] {
    ParameterSpec density = DensityParameter();
    density.help = "fraction of the blocks that is sent";
    return density;
  }();
  return spec;
}

BlockLayout LayoutBlocks(int64_t numel, int64_t block, double density) {
  BlockLayout layout{.numel = numel, .block = std::max<int64_t>(1, std::min(block, numel))};
  layout.blocks = (numel + layout.block - 1) / layout.block;
  layout.kept = KeptBlocks(layout.blocks, density);
  return layout;
}

int64_t BlocksCodec::ElementsSent(int64_t numel, double density) const {
  return std::min(numel, LayoutOf(numel, density).Values());
}

ExtendedHeader BlocksCodec::HeaderOf(const BlockLayout& layout, uint32_t unit) const {
  return {.header = {.index = layout.All() ? IndexCoding::kNone
                                           : ShortestIndexCoding(layout.blocks, layout.kept),
                     .unit = unit,
                     .numel = static_cast<uint32_t>(layout.numel),
                     .count = static_cast<uint32_t>(layout.kept)},
          .method = ExtendedMethod::kOmniBlocks};
}

int64_t BlocksCodec::Payload(const BlockLayout& layout) const {
  const IndexCoding coding = HeaderOf(layout, 0).header.index;
  const int64_t positions =
      coding == IndexCoding::kNone ? 0 : IndexBytes(coding, layout.blocks, layout.kept);
  return positions + int64_t{sizeof(float)} * layout.Values();
}

std::optional<int64_t> BlocksCodec::MessageBytes(const Unit& unit, double density) const {
  return kExtendedHeaderBytes + Payload(LayoutOf(unit.numel, density));
}

WorkList BlocksCodec::EncodeWork(int64_t numel, const CodecContext& context) const {
  const BlockLayout layout = LayoutOf(numel, context.parameter);
  return {{"blocks.norm", numel}, {"blocks.select", layout.blocks}, {"copy", layout.Values()}};
}

WorkList BlocksCodec::DecodeWork(int64_t numel, double density) const {
  return {{"accumulate", LayoutOf(numel, density).Values()}};
}

// The sum is written, and the blocks that are sent are cleared.
WorkList BlocksCodec::FeedbackWork(int64_t numel, double density, Feeding feeding) const {
  WorkList work;
  if (feeding == Feeding::kGradient) AddWork(Work{"accumulate", numel}, work);
  AddWork(Moved(int64_t{sizeof(float)} * LayoutOf(numel, density).Values()), work);
  return work;
}

std::vector<double> BlockSquares(std::span<const float> values, const BlockLayout& layout) {
  std::vector<double> squares(static_cast<size_t>(layout.blocks));
  for (size_t i = 0; i < squares.size(); ++i) {
    const auto position = static_cast<uint32_t>(i);
    squares[i] = cpu::SquaredNorm(values.subspan(static_cast<size_t>(layout.Begin(position)),
                                                 static_cast<size_t>(layout.Size(position))));
  }
  return squares;
}

std::vector<uint32_t> BlocksCodec::Select(std::span<const float> values, const BlockLayout& layout,
                                          uint32_t unit) const {
  CheckFinite(values, unit);
  if (!layout.All()) return cpu::SelectLargest(BlockSquares(values, layout), layout.kept);
  std::vector<uint32_t> all(static_cast<size_t>(layout.blocks));
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

Message BlocksCodec::Pack(std::span<const float> values, std::span<const uint32_t> positions,
                          const BlockLayout& layout, uint32_t unit) const {
  const ExtendedHeader header = HeaderOf(layout, unit);
  Message message = StartMessage(header, Payload(layout));
  if (layout.All()) {
    AppendFloats(values, message.bytes);
    return message;
  }
  WriteIndices(header.header.index, layout.blocks, positions, message.bytes);
  for (const uint32_t position : positions) {
    const auto size = static_cast<size_t>(layout.Size(position));
    AppendFloats(values.subspan(static_cast<size_t>(layout.Begin(position)), size), message.bytes);
    const size_t rest = static_cast<size_t>(layout.block) - size;
    message.bytes.resize(message.bytes.size() + sizeof(float) * rest);
  }
  return message;
}

Message BlocksCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  CheckParameter(Parameter(), context.parameter);
  const BlockLayout layout = LayoutOf(CheckedNumel(values), context.parameter);
  return Pack(values, Select(values, layout, context.unit), layout, context.unit);
}

Message BlocksCodec::EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                        const CodecContext& context,
                                        std::vector<uint32_t>* sent) const {
  CheckParameter(Parameter(), context.parameter);
  if (!gradient.empty()) cpu::Add(gradient, residual);
  const BlockLayout layout = LayoutOf(CheckedNumel(residual), context.parameter);
  const std::vector<uint32_t> positions = Select(residual, layout, context.unit);
  Message message = Pack(residual, positions, layout, context.unit);
  if (sent != nullptr) sent->clear();
  for (const uint32_t position : positions) {
    const auto begin = static_cast<size_t>(layout.Begin(position));
    const auto size = static_cast<size_t>(layout.Size(position));
    std::ranges::fill(residual.subspan(begin, size), 0.0f);
    for (size_t i = 0; sent != nullptr && !layout.All() && i < size; ++i) {
      sent->push_back(static_cast<uint32_t>(begin + i));
    }
  }
  return message;
}

void BlocksCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                            std::span<float> sum) const {
  const BlockLayout layout = LayoutOf(CheckedNumel(sum), context.parameter);
  const ExtendedHeader header = HeaderOf(layout, context.unit);
  ByteSpan payload = CheckedPayload(message, header, Payload(layout));
  std::vector<uint32_t> positions;
  if (!layout.All()) {
    positions = ReadIndices(header.header.index, layout.blocks, layout.kept, payload);
  }
  if (layout.All()) return AddSegment(payload, sum);
  CheckFiniteSegment(payload);
  // Only the last block may have a rest, which is zeros.
  if (positions.back() + 1 == static_cast<uint32_t>(layout.blocks)) {
    for (int64_t i = layout.Size(positions.back()); i < layout.block; ++i) {
      const auto at = static_cast<size_t>(layout.Values() - layout.block + i);
      if (std::bit_cast<uint32_t>(FloatAt(payload, at)) == 0) continue;
      throw Error("message: the rest of the last block is not 0");
    }
  }
  size_t at = 0;
  for (const uint32_t position : positions) {
    const auto block = sum.subspan(static_cast<size_t>(layout.Begin(position)),
                                   static_cast<size_t>(layout.Size(position)));
    for (size_t i = 0; i < block.size(); ++i) block[i] += FloatAt(payload, at + i);
    at += static_cast<size_t>(layout.block);
  }
}

std::vector<double> BlocksCodec::SquaredErrors(std::span<const float> values,
                                               std::span<const double> densities,
                                               const CodecContext&) const {
  const auto numel = static_cast<int64_t>(values.size());
  std::vector<double> squares = BlockSquares(values, LayoutOf(numel, 1));
  std::ranges::sort(squares);
  std::vector<double> errors;
  for (const double density : densities) {
    CheckParameter(Parameter(), density);
    const int64_t left = std::ssize(squares) - LayoutOf(numel, density).kept;
    errors.push_back(std::accumulate(squares.begin(), squares.begin() + left, 0.0));
  }
  return errors;
}

WorkList BlocksCodec::ErrorWork(int64_t numel, std::span<const double> densities) const {
  return densities.empty() ? WorkList() : WorkList{{"blocks.norm", numel}};
}

CodecRow BlocksRow() {
  static const std::vector<OptionSpec> options = {
      {"block", "256", "1 to 1048576", "number of consecutive elements that are sent together"}};
  return {{.name = "blocks",
           .help = "sends the blocks of consecutive elements with the largest norms",
           .paper = "Fei et al., Efficient Sparse Collective Communication and its Application to "
                    "Accelerate Distributed Deep Learning (OmniReduce), SIGCOMM 2021",
           .options = options},
          /*takes_quantiser=*/false,
          [](std::span<const Stage> stages) -> std::unique_ptr<Codec> {
            const OptionReader own(stages.front(), options);
            return std::make_unique<BlocksCodec>(own.Integer("block", 1, kLargestBlock));
          }};
}

}  // namespace legacy
