#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/topk.h"
#include "compress/density.h"
#include "compress/schemes/sparse/omnireduce.h"

namespace legacy {
namespace {

constexpr uint32_t kNoBlock = UINT32_MAX;
constexpr uint16_t kChained = 1;  // parameter of messages: blocks name the next one

int64_t OmniBlockBytes(const BlockLayout& layout, uint32_t position) {
  return kBlockOffsetBytes + int64_t{sizeof(float)} * layout.Size(position);
}

bool IsZero(ByteSpan floats) {
  for (size_t i = 0; i < floats.size() / sizeof(float); ++i) {
    if (FloatAt(floats, i) != 0) return false;
  }
  return true;
}

uint32_t NumberAt(ByteSpan bytes) {
  uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

}  // namespace

std::vector<uint32_t> OmniBlocks(std::span<const float> values, const BlockLayout& layout) {
  if (layout.blocks == 0) return {};
  const std::vector<double> squares = BlockSquares(values, layout);
  std::vector<uint32_t> positions;
  if (layout.All()) {
    positions.resize(squares.size());
    std::iota(positions.begin(), positions.end(), 0u);
  } else {
    positions = cpu::SelectLargest(squares, layout.kept);
  }
  std::erase_if(positions, [&](uint32_t position) { return squares[position] == 0; });
  if (positions.empty() || positions.front() != 0) positions.insert(positions.begin(), 0);
  return positions;
}

OmniReduceExchange::OmniReduceExchange(const OmniReduceOptions& options, const Unit& unit,
                                       int workers)
    : ExchangeBase("omnireduce", unit, workers, options.Memory()), options_(options) {}

void OmniReduceExchange::Begin(const UnitStep& context) {
  CheckParameter(DensityParameter(), context.parameter);
  feeds_ = Feeds();  // what the last step left is fed to all that follow
  SetStep(context);
  layout_ = LayoutBlocks(unit().numel, options_.block, context.parameter);
  open_ = true;
  sum_.assign(static_cast<size_t>(unit().numel), 0.0f);
  present_.assign(static_cast<size_t>(layout_.blocks), 0);
  sent_ = 0;
}

std::optional<CollectiveCall> OmniReduceExchange::NextCall() {
  if (!open_) return std::nullopt;
  return Step().Expected().call;
}

ExtendedHeader OmniHeader(const Unit& unit, int64_t blocks) {
  return {.header = {.unit = unit.id,
                     .numel = static_cast<uint32_t>(unit.numel),
                     .count = static_cast<uint32_t>(blocks)},
          .method = ExtendedMethod::kOmniBlocks,
          .parameter = kChained};
}

Message OmniReduceExchange::Encode(int worker, std::span<const float> gradient) {
  assert(std::ssize(gradient) == unit().numel);
  const bool feeds = Feeds();
  if (feeds) memory().Compensate(worker, gradient);
  const std::span<const float> e = feeds ? memory().Residual(worker) : gradient;
  CheckFinite(e, unit().id);
  const std::vector<uint32_t> positions = OmniBlocks(e, layout_);
  int64_t payload = 0;
  for (const uint32_t position : positions) payload += OmniBlockBytes(layout_, position);
  Message message = StartMessage(OmniHeader(unit(), std::ssize(positions)), payload);
  for (size_t i = 0; i < positions.size(); ++i) {
    const uint32_t next = i + 1 < positions.size() ? positions[i + 1] : kNoBlock;
    const ByteSpan number = std::as_bytes(std::span(&next, 1));
    message.bytes.insert(message.bytes.end(), number.begin(), number.end());
    const auto begin = static_cast<size_t>(layout_.Begin(positions[i]));
    const auto size = static_cast<size_t>(layout_.Size(positions[i]));
    AppendFloats(e.subspan(begin, size), message.bytes);
    if (feeds) std::ranges::fill(memory().MutableResidual(worker).subspan(begin, size), 0.0f);
  }
  return message;
}

// Returns the numbers of a message's blocks. Throws Error for bytes that no encoder writes.
std::vector<uint32_t> OmniReduceExchange::CheckedBlocks(ByteSpan message) const {
  const int64_t count = ReadExtendedHeader(message).header.count;
  const int64_t most = std::min(layout_.blocks, layout_.kept + (layout_.blocks > 0 ? 1 : 0));
  if (count > most || (count == 0 && layout_.blocks > 0)) {
    throw Error("message: blocks", std::to_string(count),
                (layout_.blocks > 0 ? "1 to " : "") + std::to_string(most));
  }
  ByteSpan rest = CheckedPayload(message, OmniHeader(unit(), count));
  std::vector<uint32_t> positions;
  uint32_t position = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto bytes = static_cast<size_t>(OmniBlockBytes(layout_, position));
    if (rest.size() < bytes) CheckLength(rest, static_cast<int64_t>(bytes));
    const ByteSpan values = rest.subspan(kBlockOffsetBytes, bytes - kBlockOffsetBytes);
    CheckFiniteSegment(values);
    if (position > 0 && IsZero(values)) {
      throw Error("message: block " + std::to_string(position) + " has zeros only");
    }
    const uint32_t next = NumberAt(rest);
    const bool last = i + 1 == count;
    if (last ? next != kNoBlock : next <= position || next >= layout_.blocks) {
      throw Error("message: block after block " + std::to_string(position), std::to_string(next),
                  last
                      ? std::to_string(kNoBlock) + ", as it is the last"
                      : std::to_string(position + 1) + " to " + std::to_string(layout_.blocks - 1));
    }
    positions.push_back(std::exchange(position, next));
    rest = rest.subspan(bytes);
  }
  CheckLength(rest, 0);
  return positions;
}

void OmniReduceExchange::Accumulate(int, ByteSpan message) {
  const std::vector<uint32_t> positions = CheckedBlocks(message);
  size_t at = kExtendedHeaderBytes;
  for (const uint32_t position : positions) {
    const auto size = static_cast<size_t>(layout_.Size(position));
    const ByteSpan values = message.subspan(at + kBlockOffsetBytes, sizeof(float) * size);
    const auto sums = std::span(sum_).subspan(static_cast<size_t>(layout_.Begin(position)), size);
    for (size_t i = 0; i < size; ++i) sums[i] += FloatAt(values, i);
    present_[position] = 1;
    at += static_cast<size_t>(OmniBlockBytes(layout_, position));
    sent_ += static_cast<int64_t>(size);
  }
}

void OmniReduceExchange::Complete(CollectiveCall& call) const {
  int64_t values = 0, bytes = kExtendedHeaderBytes;
  for (uint32_t position = 0; position < present_.size(); ++position) {
    if (present_[position] == 0) continue;
    values += layout_.Size(position);
    bytes += OmniBlockBytes(layout_, position);
  }
  call = Step().Call(MeanSent(), values, bytes);
}

void OmniReduceExchange::Mean(std::span<float> out) const {
  const auto active = static_cast<float>(ActiveWorkers());
  for (size_t i = 0; i < out.size(); ++i) out[i] = sum_[i] / active;
}

int64_t OmniReduceExchange::ElementsSent() const {
  return open_ ? std::min(layout_.numel, layout_.Values()) : MeanSent();
}

Bytes OmniReduceExchange::Save() const {
  StateWriter out;
  out.Blob(ExchangeBase::Save());
  out.Number(Feeds() ? 1 : 0);
  return out.Take();
}

void OmniReduceExchange::Load(ByteSpan state) {
  StateReader in(state);
  const ByteSpan base = in.Blob();
  const bool feeds = in.Number("residuals", 1) == 1;
  in.ExpectEnd();
  ExchangeBase::Load(base);
  feeds_ = feeds;
}

void OmniReduceExchange::SaveShared(StateWriter& out) const {
  ExchangeBase::SaveShared(out);
  out.Number(Feeds() ? 1 : 0);
}

void OmniReduceExchange::LoadShared(StateReader& in) {
  ExchangeBase::LoadShared(in);
  feeds_ = in.Number("residuals", 1) == 1;
}

}  // namespace legacy
