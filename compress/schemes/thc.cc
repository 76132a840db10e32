// THC: tensor homomorphic compression (Li et al., "THC: Accelerating Distributed Deep Learning
// Using Tensor Homomorphic Compression", NSDI 2024). All workers rotate, clamp and round alike, so
// that a server or a switch adds what they send as integers.
//
//   call 1   norm = max over workers of ||e_i||             24 bytes, all-reduced
//            a = R e_i sqrt(n) / norm, clamped to [-t, t]   (cpu/rotation.h; shared signs)
//            code = random rounding of a to the table       (thc_table.h)
//   call 2   sums of T(code) over the workers
//   mean     R^T ((sum / N - g / 2) (2 t / g) norm / sqrt(n))
//   residual e_i - R^T of its own decoded codes: what was clamped, and what was rounded
//
// sums=server: codes of b bits go to a parameter server, which looks T up, adds, and answers with
// the sums, of ceil(log2(g N + 1)) bits each. sums=network: any all-reduce adds, so that workers
// send T(code) in the bits of the sums from the first hop on, as others have adapted THC to rings.
//
// Messages have an extended header, whose parameter is the bits of a code or of a sum. If the norm
// is 0, all codes are 0, and the mean is.
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
namespace {

constexpr const char* kThc = "thc";
constexpr int kMostSumBits = 16;
constexpr float kLargestValue = 0x1p100f;
constexpr float kLargestNorm = 0x1p117f;  // of 2^32 such values, with room for rounding

struct ThcSettings {
  std::shared_ptr<const ThcTable> table;
  int64_t block = 1024;
  bool server = false;  // true: a parameter server looks codes up
  MemoryOptions memory = {};

  int SumBits(int workers) const {
    const auto most = static_cast<uint64_t>(table->points()) * static_cast<uint64_t>(workers);
    return std::bit_width(most);
  }
  // Throws Error if sums of that many workers could overflow.
  void CheckWorkers(int workers) const {
    if (SumBits(workers) <= kMostSumBits) return;
    throw Error("workers of scheme thc", std::to_string(workers),
                "at most " + std::to_string(((1 << kMostSumBits) - 1) / table->points()) +
                    ", whose sums have 16 bits, with granularity " +
                    std::to_string(table->points()));
  }
};

std::vector<PlannedCall> CallsOf(const ThcSettings& settings, const Unit& unit, int workers) {
  const int64_t numel = unit.numel;
  const bool feeds = settings.memory.kind != MemoryKind::kNone;
  PlannedCall norm;
  norm.bytes = kExtendedHeaderBytes + int64_t{sizeof(float)};
  norm.call.reduction = Reduction::kMax;
  norm.call.collective = Collective::kAllReduce;
  if (settings.memory.Decays()) AddWork(Work{"copy", numel}, norm.call.encode);
  AddWork({{feeds ? "accumulate" : "copy", numel}, {"norm", numel}}, norm.call.encode);
  const int64_t codes = cpu::PackedBytes(numel, settings.table->bits());
  const int64_t sums = cpu::PackedBytes(numel, settings.SumBits(workers));
  PlannedCall second;
  second.bytes = kExtendedHeaderBytes + (settings.server ? codes : sums);
  second.call.collective = Collective::kAllReduce;
  second.call.reduction = settings.server ? Reduction::kServed : Reduction::kSum;
  second.call.encode = {
      {"rotate.forward", numel}, {"thc.encode", numel}, Moved(settings.server ? codes : sums)};
  if (feeds) AddWork({{"rotate.feedback", numel}, Moved(codes)}, second.call.encode);
  second.call.decode = {{"thc.decode", numel}, {"rotate.inverse", numel}, Moved(sums)};
  if (settings.server) {
    second.call.pull = kExtendedHeaderBytes + sums;
    second.call.serve = {Moved(workers * codes + sums)};
  }
  return {norm, second};
}

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
    return CallsOf(settings_, unit(), ActiveWorkers())[call_].call;
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
  ExtendedHeader HeaderOf(ExtendedMethod method, int parameter) const;
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

ExtendedHeader ThcExchange::HeaderOf(ExtendedMethod method, int parameter) const {
  const auto numel = static_cast<uint32_t>(unit().numel);
  return {.header = {.unit = unit().id,
                     .numel = numel,
                     .count = method == ExtendedMethod::kNorm ? std::min(numel, 1u) : numel},
          .method = method,
          .values = static_cast<uint8_t>(ValueType::kFloat32),
          .parameter = static_cast<uint16_t>(parameter)};
}

Message ThcExchange::EncodeNorm(int worker, std::span<const float> gradient) {
  const std::span<const float> e = memory().Compensate(worker, gradient);
  CheckedMagnitude(e, kLargestValue, unit().id, kThc);
  const auto norm = static_cast<float>(std::sqrt(cpu::SquaredNorm(e)));
  Message message = StartMessage(HeaderOf(ExtendedMethod::kNorm, 0), sizeof norm);
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
  Message message = StartMessage(HeaderOf(ExtendedMethod::kThcSums, SumBits()), bytes);
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
  Message message = StartMessage(HeaderOf(ExtendedMethod::kThcCodes, table().bits()), bytes);
  message.bytes.resize(static_cast<size_t>(kExtendedHeaderBytes + bytes));
  cpu::PackCodes(codes, table().bits(), std::span(message.bytes).subspan(kExtendedHeaderBytes));
  return message;
}

std::vector<uint32_t> ThcExchange::ReadSums(ByteSpan message) const {
  const ByteSpan payload = CheckedPayload(message, HeaderOf(ExtendedMethod::kThcSums, SumBits()),
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
      CheckedPayload(message, HeaderOf(ExtendedMethod::kNorm, 0), sizeof(float));
  const float norm = FloatAt(payload, 0);
  if (!(norm <= kLargestNorm) || std::signbit(norm)) {
    throw Error("message: norm", FormatNumber(norm), "0 to " + FormatNumber(kLargestNorm));
  }
  norm_ = std::max(norm_, norm);
}

void ThcExchange::AddCodes(ByteSpan message) {
  const ByteSpan payload =
      CheckedPayload(message, HeaderOf(ExtendedMethod::kThcCodes, table().bits()),
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
    if (table().CodeOf(entry) >= 0 && (norm_ > 0 || entry == 0)) continue;
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
  const double step = 2 * double{table().bound()} / table().points() * Spread();
  const double middle = table().points() / 2.0;
  const cpu::Rotation rotation = RotationOf();
  rotation.ForEachPiece([&](int64_t begin, int64_t length) {
    const auto piece = out.subspan(begin, length);
    for (int64_t i = 0; i < length; ++i) {
      const double mean = static_cast<double>(sum_[begin + i]) / ActiveWorkers();
      piece[i] = static_cast<float>((mean - middle) * step);
    }
    rotation.Back(piece, begin);
    for (float& x : piece) x += 0.0f;  // removes -0
  });
}

class ThcScheme : public Scheme {
 public:
  explicit ThcScheme(ThcSettings settings) : settings_(std::move(settings)) {}
  std::string_view Name() const override { return kThc; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  SchemeTraits Traits() const override {
    return {.servers = settings_.server ? 1 : 0, .residual_decay = double{settings_.memory.decay}};
  }
  int64_t ElementsSent(const Unit& unit, double) const override { return unit.numel; }
  // Sums widen with the number of workers.
  std::optional<int64_t> MessageBytes(const Unit& unit, double) const override {
    if (!settings_.server) return std::nullopt;
    const auto calls = CallsOf(settings_, unit, 1);
    return calls[0].bytes + calls[1].bytes;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double,
                                               int active_workers) const override {
    if (!settings_.server) return std::nullopt;
    return CallsOf(settings_, unit, active_workers);
  }
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double,
                                                        int active_workers,
                                                        const LinkEstimate&) const override {
    return CallsOf(settings_, unit, active_workers);
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double>) const override {
    return {{"norm", unit.numel}, {"rotate.forward", unit.numel}, {"thc.encode", unit.numel}};
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<ThcExchange>(settings_, unit, workers);
  }

 private:
  ThcSettings settings_;
};

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
