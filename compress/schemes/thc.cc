// The exchange of THC, and its row (thc.h).
#include "compress/schemes/thc.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/number.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/rotation.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/quantisers/packed.h"
#include "compress/schemes/exchange_base.h"
#include "compress/schemes/thc_table.h"

namespace legacy {

int ThcSettings::SumBits(int workers) const {
  const auto most = static_cast<uint64_t>(table->points()) * static_cast<uint64_t>(workers);
  return std::bit_width(most);
}

void ThcSettings::CheckWorkers(int workers) const {
  if (SumBits(workers) <= kMostSumBits) return;
  throw Error("workers of scheme thc", std::to_string(workers),
              "at most " + std::to_string(((1 << kMostSumBits) - 1) / table->points()) +
                  ", whose sums have 16 bits, with granularity " + std::to_string(table->points()));
}

namespace {

constexpr const char* kThc = "thc";
constexpr float kLargestNorm = ThcSettings::kLargestNorm;

}  // namespace

ExtendedHeader ThcHeader(const Unit& unit, ExtendedMethod method, int parameter) {
  const auto numel = static_cast<uint32_t>(unit.numel);
  return {.header = {.unit = unit.id,
                     .numel = numel,
                     .count = method == ExtendedMethod::kNorm ? std::min(numel, 1u) : numel},
          .method = method,
          .values = static_cast<uint8_t>(ValueType::kFloat32),
          .parameter = static_cast<uint16_t>(parameter)};
}

std::vector<PlannedCall> ThcSettings::Calls(const Unit& unit, int workers) const {
  const int64_t numel = unit.numel;
  const bool feeds = memory.kind != MemoryKind::kNone;
  PlannedCall norm;
  norm.bytes = kExtendedHeaderBytes + int64_t{sizeof(float)};
  norm.call.reduction = Reduction::kMax;
  norm.call.collective = Collective::kAllReduce;
  if (memory.Decays()) AddWork(Work{"copy", numel}, norm.call.encode);
  AddWork({{feeds ? "accumulate" : "copy", numel}, {"norm", numel}}, norm.call.encode);
  const int64_t codes = cpu::PackedBytes(numel, table->bits());
  const int64_t sums = cpu::PackedBytes(numel, SumBits(workers));
  PlannedCall second;
  second.bytes = kExtendedHeaderBytes + (server ? codes : sums);
  second.call.collective = Collective::kAllReduce;
  second.call.reduction = server ? Reduction::kServed : Reduction::kSum;
  second.call.encode = {{"thc.encode", numel}, Moved(server ? codes : sums)};
  if (feeds) AddWork(Work{"thc.feedback", numel}, second.call.encode);
  second.call.decode = {{"thc.decode", numel}, {"rotate.inverse", numel}, Moved(sums)};
  if (server) {
    second.call.pull = kExtendedHeaderBytes + sums;
    second.call.serve = {Moved(workers * codes + sums)};
  }
  return {norm, second};
}

namespace {

class ThcExchange : public ExchangeBase {
 public:
  ThcExchange(ThcSettings settings, const Unit& unit, int workers)
      : ExchangeBase(kThc, unit, workers, settings.memory), settings_(std::move(settings)) {
    settings_.CheckWorkers(workers);
  }

  void Begin(const UnitStep& context) override {
    SetStep(context);
    call_ = kNormCall;
    norm_ = 0;
    sum_.assign(static_cast<size_t>(unit().numel), 0);
  }
  std::optional<CollectiveCall> NextCall() override {
    if (call_ == kDone) return std::nullopt;
    return settings_.Calls(unit(), ActiveWorkers())[call_].call;
  }
  Message Encode(int worker, std::span<const float> gradient) override {
    return call_ == kNormCall ? EncodeNorm(worker, gradient) : EncodeCodes(worker);
  }
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override;
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override { return unit().numel; }

 private:
  enum CallIndex : uint8_t { kNormCall, kSumsCall, kDone };

  const ThcTable& table() const { return *settings_.table; }
  int SumBits() const { return settings_.SumBits(ActiveWorkers()); }
  cpu::Rotation RotationOf() const {
    return {cpu::RotationKey(SharedContext().random), unit().numel, settings_.block};
  }
  // Returns the standard deviation of rotated elements of a vector with the norm.
  double Spread() const { return norm_ / std::sqrt(static_cast<double>(unit().numel)); }
  Message EncodeNorm(int worker, std::span<const float> gradient);
  Message EncodeCodes(int worker);
  std::vector<uint8_t> CodesOf(int worker, const cpu::Rotation& rotation);
  // Packs the sums of elements in order.
  template <typename SumAt>
  Message WriteSums(SumAt sum_at) const;
  std::vector<uint32_t> ReadSums(ByteSpan message) const;
  void AddNorm(ByteSpan message);
  void AddCodes(ByteSpan message);
  void AddEntries(ByteSpan message);

  ThcSettings settings_;
  CallIndex call_ = kDone;
  float norm_ = 0;
  std::vector<uint32_t> sum_;  // of table entries
};

Message ThcExchange::EncodeNorm(int worker, std::span<const float> gradient) {
  const std::span<const float> e = memory().Compensate(worker, gradient);
  CheckedMagnitude(e, ThcSettings::kLargestValue, unit().id, kThc);
  const auto norm = static_cast<float>(std::sqrt(cpu::SquaredNorm(e)));
  Message message = StartMessage(ThcHeader(unit(), ExtendedMethod::kNorm, 0), sizeof norm);
  AppendFloats({&norm, 1}, message.bytes);
  return message;
}

// Rotates e and rounds it.
std::vector<uint8_t> ThcExchange::CodesOf(int worker, const cpu::Rotation& rotation) {
  const std::span<const float> e = memory().MutableResidual(worker);
  std::vector<uint8_t> codes(e.size());
  if (norm_ == 0) return codes;
  // Values are divided before they are added, so that neither large nor small ones are lost.
  const float factor = 1 / norm_;
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(e.size())));
  const auto memory = std::make_unique_for_overwrite<float[]>(e.size());
  const std::span rotated(memory.get(), e.size());
  const bool tiny = !std::isfinite(factor);
  rotation.ForEachPiece([&](int64_t begin, int64_t length) {
    const auto piece = rotated.subspan(begin, length);
    std::ranges::copy(e.subspan(begin, length), piece.begin());
    if (tiny) cpu::Scale(piece, 0x1p100f);
    rotation.Forward(piece, begin, tiny ? 1 / (norm_ * 0x1p100f) : factor, piece);
  });
  table().Encode(rotated, root, cpu::MakeDrawSource(SenderContext(worker).random), codes);
  return codes;
}

template <typename SumAt>
Message ThcExchange::WriteSums(SumAt sum_at) const {
  const int64_t bytes = cpu::PackedBytes(unit().numel, SumBits());
  Message message = StartMessage(ThcHeader(unit(), ExtendedMethod::kThcSums, SumBits()), bytes);
  message.bytes.resize(static_cast<size_t>(kExtendedHeaderBytes + bytes));
  auto out = std::span(message.bytes).subspan(kExtendedHeaderBytes);
  std::array<uint32_t, kPackedBlock> block;
  for (size_t begin = 0; begin < sum_.size(); begin += kPackedBlock) {
    const auto part = std::span(block).first(std::min(kPackedBlock, sum_.size() - begin));
    for (size_t i = 0; i < part.size(); ++i) part[i] = sum_at(begin + i);
    const auto packed = static_cast<size_t>(cpu::PackedBytes(std::ssize(part), SumBits()));
    cpu::PackCodes(part, SumBits(), out.first(packed));
    out = out.subspan(packed);
  }
  return message;
}

Message ThcExchange::EncodeCodes(int worker) {
  const cpu::Rotation rotation = RotationOf();
  const std::vector<uint8_t> codes = CodesOf(worker, rotation);
  if (memory().Keeps() && norm_ > 0) {
    const std::span<float> residual = memory().MutableResidual(worker);
    std::vector<float> sent(std::min<size_t>(settings_.block, codes.size()));
    rotation.ForEachPiece([&](int64_t begin, int64_t length) {
      const auto piece = std::span(sent).first(static_cast<size_t>(length));
      table().Decode(std::span(codes).subspan(begin, length), static_cast<float>(Spread()), piece);
      rotation.Back(piece, begin);
      cpu::Subtract(piece, residual.subspan(begin, length));
    });
  }
  if (!settings_.server) {
    return WriteSums([&](size_t i) { return uint32_t{table().entries()[codes[i]]}; });
  }
  const int64_t bytes = cpu::PackedBytes(unit().numel, table().bits());
  Message message =
      StartMessage(ThcHeader(unit(), ExtendedMethod::kThcCodes, table().bits()), bytes);
  message.bytes.resize(static_cast<size_t>(kExtendedHeaderBytes + bytes));
  cpu::PackCodes(codes, table().bits(), std::span(message.bytes).subspan(kExtendedHeaderBytes));
  return message;
}

std::vector<uint32_t> ThcExchange::ReadSums(ByteSpan message) const {
  const ByteSpan payload =
      CheckedPayload(message, ThcHeader(unit(), ExtendedMethod::kThcSums, SumBits()),
                     cpu::PackedBytes(unit().numel, SumBits()));
  std::vector<uint32_t> sums(sum_.size());
  cpu::UnpackCodes(payload, SumBits(), sums);
  return sums;
}

void ThcExchange::Accumulate(int, ByteSpan message) {
  if (call_ == kNormCall) return AddNorm(message);
  return settings_.server ? AddCodes(message) : AddEntries(message);
}

void ThcExchange::AddNorm(ByteSpan message) {
  const ByteSpan payload =
      CheckedPayload(message, ThcHeader(unit(), ExtendedMethod::kNorm, 0), sizeof(float));
  const float norm = FloatAt(payload, 0);
  if (!(norm <= kLargestNorm) || std::signbit(norm)) {
    throw Error("message: norm", FormatNumber(norm), "0 to " + FormatNumber(kLargestNorm));
  }
  norm_ = std::max(norm_, norm);
}

void ThcExchange::AddCodes(ByteSpan message) {
  const ByteSpan payload =
      CheckedPayload(message, ThcHeader(unit(), ExtendedMethod::kThcCodes, table().bits()),
                     cpu::PackedBytes(unit().numel, table().bits()));
  std::vector<uint8_t> codes(sum_.size());
  cpu::UnpackCodes(payload, table().bits(), codes);
  if (norm_ == 0 && std::ranges::any_of(codes, [](uint8_t code) { return code != 0; })) {
    throw Error("message: codes above 0 although the norm is 0");
  }
  for (size_t i = 0; i < codes.size(); ++i) sum_[i] += table().entries()[codes[i]];
}

// One worker's message has entries of the table; sums of several are only on the way.
void ThcExchange::AddEntries(ByteSpan message) {
  const std::vector<uint32_t> entries = ReadSums(message);
  for (const uint32_t entry : entries) {
    if (table().IsEntry(entry) && (norm_ > 0 || entry == 0)) continue;
    throw Error("message: entry", std::to_string(entry),
                norm_ > 0 ? "those of the table" : "0, as the norm is");
  }
  for (size_t i = 0; i < entries.size(); ++i) sum_[i] += entries[i];
}

void ThcExchange::FinishCall() {
  if (call_ == kSumsCall && settings_.server) {  // what workers get is the server's message
    const Message answer = WriteSums([&](size_t i) { return sum_[i]; });
    sum_ = ReadSums(answer.bytes);
  }
  call_ = static_cast<CallIndex>(call_ + 1);
}

void ThcExchange::Mean(std::span<float> out) const {
  std::ranges::fill(out, 0.0f);
  if (norm_ == 0) return;
  const cpu::Rotation rotation = RotationOf();
  rotation.ForEachPiece([&](int64_t begin, int64_t length) {
    const auto piece = out.subspan(begin, length);
    for (int64_t i = 0; i < length; ++i) {
      piece[i] = table().rules().MeanOf(sum_[begin + i], ActiveWorkers(), Spread());
    }
    rotation.Back(piece, begin);
    for (float& x : piece) x += 0.0f;  // removes -0
  });
}

}  // namespace

std::unique_ptr<Exchange> ThcScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<ThcExchange>(settings_, unit, workers);
}

// Returns the error of one worker whose norm is the largest.
std::vector<double> ThcScheme::SquaredErrors(const Unit&, std::span<const float> values,
                                             std::span<const double> parameters,
                                             const RandomKey& random) const {
  const double norm = std::sqrt(cpu::SquaredNorm(values));
  double error = 0;
  if (norm > 0) {
    const cpu::Rotation rotation(cpu::RotationKey(random), std::ssize(values), settings_.block);
    const double unit = norm / std::sqrt(static_cast<double>(values.size()));
    std::vector<float> rotated(values.size());
    rotation.ForEachPiece([&](int64_t begin, int64_t length) {
      rotation.Forward(values.subspan(begin, length), begin, 1.0f,
                       std::span(rotated).subspan(begin, length));
    });
    for (const float y : rotated) error += settings_.table->SquaredError(y / unit) * unit * unit;
  }
  return std::vector<double>(parameters.size(), error);
}

namespace {

std::unique_ptr<Scheme> MakeThc(const OptionReader& own, std::span<const Stage> rest,
                                const SchemeOptions& options) {
  constexpr std::string_view kSums[] = {"network", "server"};
  constexpr double kLeastShare = 1e-9, kMostShare = 0.5;
  if (!rest.empty()) throw Error("scheme thc: it takes no second stage");
  const auto bits = static_cast<int>(own.Integer("bits", 1, ThcTable::kMostBits));
  const auto points =
      static_cast<int>(own.Integer("granularity", (1 << bits) - 1, ThcTable::kMostPoints));
  ThcSettings settings;
  settings.table = std::make_shared<const ThcTable>(bits, points,
                                                    own.Number("clamped", kLeastShare, kMostShare));
  settings.block = own.Integer("block", 1, cpu::Rotation::kMostBlock);
  if (!std::has_single_bit(static_cast<uint64_t>(settings.block))) {
    throw Error("thc: block", std::to_string(settings.block), "powers of two from 1 to 65536");
  }
  settings.server = own.Choice("sums", kSums) == 1;
  settings.memory.kind = options.error_feedback ? MemoryKind::kResidual : MemoryKind::kNone;
  settings.memory.decay = static_cast<float>(options.residual_decay);
  return std::make_unique<ThcScheme>(std::move(settings));
}

}  // namespace

SchemeRow ThcRow() {
  return {{.name = kThc,
           .help = "rotates at random and rounds to a table that all workers share, so that the "
                   "network or a server adds integers",
           .paper = "Li et al., THC: Accelerating Distributed Deep Learning Using Tensor "
                    "Homomorphic Compression, NSDI 2024",
           .options = {{"bits", "4", "1 to 4", "bits of a code"},
                       {"granularity", "30", "2^bits - 1 to 255",
                        "number of equal distances between the bounds, at whose ends the table's "
                        "values are"},
                       {"clamped", "0.03125", "1e-9 to 0.5",
                        "share of a normal distribution that is clamped"},
                       {"block", "1024", "powers of two from 1 to 65536",
                        "number of consecutive values that are rotated together"},
                       {"sums", "network", "network, server",
                        "network: any all-reduce adds entries of the table, in the bits of their "
                        "sum; server: codes to a parameter server, sums back"}}},
          "2 all-reduces",
          MakeThc};
}

}  // namespace legacy
