#include "compress/schemes/owners/owned_unit.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/state.h"
#include "compress/checks.h"
#include "compress/codecs/sliced_codec.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/schemes/codec_exchange.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/owners/owned_scheme.h"
#include "compress/schemes/wrapped_scheme.h"

namespace legacy {
namespace {

constexpr int64_t kLengthBytes = sizeof(uint32_t);

// Makes a call that gathers messages one whose parts go to owners.
void SendToOwners(const Cut& cut, CollectiveCall& call) {
  call.reduction = Reduction::kOwned;
  call.collective = Collective::kAllToAll;
  call.owned = {.owners = cut.owners, .rows = cut.by_rows};
}

std::vector<int64_t> BytesOf(std::span<const SlicePart> parts, const Cut& cut) {
  std::vector<int64_t> bytes;
  for (const SlicePart& part : parts) bytes.push_back(part.bytes);
  bytes.resize(static_cast<size_t>(cut.owners));
  return bytes;
}

int64_t SumOf(std::span<const int64_t> numbers) {
  int64_t sum = 0;
  for (const int64_t number : numbers) sum += number;
  return sum;
}

class OwnedUnitExchange : public CodecExchange {
 public:
  OwnedUnitExchange(CodecExchangeSetup setup, std::shared_ptr<const SlicedCodec> codec,
                    const Unit& unit, const Cut& cut, int workers)
      : CodecExchange(std::move(setup), unit, workers),
        codec_(std::move(codec)),
        cut_(cut),
        slices_(CutUnit(unit, cut).size()),
        parts_(static_cast<size_t>(workers), std::vector<SlicePart>(slices_)),
        announced_(static_cast<size_t>(workers)) {}

  void Begin(const UnitStep& context) override {
    CodecExchange::Begin(context);
    known_ = codec_->KnownParts(SharedContext());
  }

  std::optional<CollectiveCall> NextCall() override {
    std::optional<CollectiveCall> call = CodecExchange::NextCall();
    if (!call) return call;
    SendToOwners(cut_, *call);
    if (AnnouncesLengths()) return call;
    if (known_) call->owned->bytes = BytesOf(*known_, cut_);
    const int senders = std::min(cut_.owners, ActiveWorkers());
    call->decode = codec_->OwnerWork(step().parameter, MostValues(), senders);
    return call;
  }

  Message Encode(int worker, std::span<const float> gradient) override {
    Message message = CodecExchange::Encode(worker, gradient);
    if (!AnnouncesLengths()) return message;
    std::vector<SlicePart>& parts = parts_[static_cast<size_t>(worker)];
    parts = codec_->PartsOf(Waiting(worker));
    Message lengths;
    for (const SlicePart& part : parts) {
      const Message length = NumberMessage(static_cast<uint32_t>(part.bytes));
      lengths.bytes.insert(lengths.bytes.end(), length.bytes.begin(), length.bytes.end());
    }
    return lengths;
  }

  void Accumulate(int worker, ByteSpan message) override {
    std::vector<int64_t>& announced = announced_[static_cast<size_t>(worker)];
    if (AnnouncesLengths()) {
      CheckLength(message, kLengthBytes * static_cast<int64_t>(slices_));
      announced.clear();
      for (size_t s = 0; s < slices_; ++s) {
        announced.push_back(NumberOf(message.subspan(s * kLengthBytes, kLengthBytes)));
      }
      const Message all = NumberMessage(static_cast<uint32_t>(SumOf(announced)));
      return CodecExchange::Accumulate(worker, all.bytes);
    }
    if (!known_) {
      const std::vector<SlicePart> parts = codec_->PartsOf(message);
      for (size_t s = 0; s < slices_; ++s) {
        if (parts[s].bytes == announced[s]) continue;
        throw Error("message: bytes for owner " + std::to_string(s), std::to_string(parts[s].bytes),
                    std::to_string(announced[s]) + ", as were announced");
      }
    }
    CodecExchange::Accumulate(worker, message);
  }

  std::vector<int64_t> PartBytes(int, ByteSpan message) const override {
    if (AnnouncesLengths()) {
      return BytesOf(std::vector<SlicePart>(slices_, {.bytes = kLengthBytes}), cut_);
    }
    return known_ ? std::vector<int64_t>() : BytesOf(codec_->PartsOf(message), cut_);
  }

  void WriteNotes(int worker, StateWriter& out) const override {
    CodecExchange::WriteNotes(worker, out);
    for (const SlicePart& part : parts_[static_cast<size_t>(worker)]) {
      out.Number(static_cast<uint64_t>(part.count));
    }
  }
  void ReadNotes(int worker, StateReader& in) override {
    CodecExchange::ReadNotes(worker, in);
    for (SlicePart& part : parts_[static_cast<size_t>(worker)]) {
      part.count = static_cast<int64_t>(in.Number("values for an owner", kMaxUnitElements));
    }
  }

 protected:
  int64_t ValuesIn(ByteSpan message) const override {
    int64_t values = 0;
    for (const SlicePart& part : codec_->PartsOf(message)) values += part.count;
    return values;
  }

 private:
  // Returns the most values that an owner gets from the workers of its copy of the model.
  int64_t MostValues() const {
    const int workers = ActiveWorkers();
    int64_t most = 0;
    for (size_t s = 0; s < slices_; ++s) {
      for (int first = 0; first < workers; first += cut_.owners) {
        int64_t values = 0;
        for (int i = first; i < std::min(workers, first + cut_.owners); ++i) {
          const auto worker = static_cast<size_t>(ActiveWorker(i));
          values += known_ ? (*known_)[s].count : parts_[worker][s].count;
        }
        most = std::max(most, values);
      }
    }
    return most;
  }

  std::shared_ptr<const SlicedCodec> codec_;
  Cut cut_;
  size_t slices_;                                // those that have values
  std::vector<std::vector<SlicePart>> parts_;    // of the waiting messages, by worker and slice
  std::vector<std::vector<int64_t>> announced_;  // bytes by worker and slice
  std::optional<std::vector<SlicePart>> known_;  // parts of the step that are not announced
};

// It says of units what the scheme without owners does. Units that this one sends whole are cut as
// with `select=slice`.
class OwnedUnitScheme : public WrappedScheme {
 public:
  OwnedUnitScheme(std::shared_ptr<const Scheme> scheme, const Cut& cut)
      : WrappedScheme(scheme), cut_(cut), whole_(WithSlices(std::move(scheme), cut)) {}

  SchemeTraits Traits() const override {
    SchemeTraits traits = scheme()->Traits();
    traits.owners = cut_.owners;
    traits.takes_candidates = false;
    return traits;
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    if (!Compresses(unit, parameter)) return whole_->MessageBytes(unit, parameter);
    return CodecOf(unit)->MessageBytes(unit, parameter);
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    if (!Compresses(unit, parameter)) return whole_->Plan(unit, parameter, active_workers);
    const auto codec = CodecOf(unit);
    if (codec->CountVaries(unit.numel, parameter)) return std::nullopt;
    return Calls(*codec, unit, parameter, active_workers, {});
  }
  // Plans as if selected values were spread evenly.
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                        int active_workers,
                                                        const LinkEstimate& link) const override {
    if (!Compresses(unit, parameter)) {
      return whole_->ExpectedCalls(unit, parameter, active_workers, link);
    }
    return Calls(*CodecOf(unit), unit, parameter, active_workers, link);
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    if (!Compresses(unit, Parameter().fallback)) return whole_->Open(unit, workers);
    auto codec = CodecOf(unit);
    CodecExchangeSetup setup{
        .scheme = std::string(Name()), .codec = codec, .memory = Inner().options().memory};
    return std::make_unique<OwnedUnitExchange>(std::move(setup), std::move(codec), unit, cut_,
                                               workers);
  }

 private:
  // UnitObstacleOf has checked that scheme and codec are these.
  const CodecScheme& Inner() const { return static_cast<const CodecScheme&>(*scheme()); }
  std::shared_ptr<const SlicedCodec> CodecOf(const Unit& unit) const {
    return std::make_shared<SlicedCodec>(
        std::static_pointer_cast<const SparseCodec>(Inner().codec()), unit, CutUnit(unit, cut_));
  }

  std::vector<PlannedCall> Calls(const SlicedCodec& codec, const Unit& unit, double parameter,
                                 int active_workers, const LinkEstimate& link) const {
    const std::vector<Unit> slices = CutUnit(unit, cut_);
    const int64_t selected = ElementsSent(unit, parameter);
    // The values before the end of each slice are rounded, so that slices have all values together.
    const auto before = [&](int64_t end) {
      return static_cast<int64_t>(static_cast<double>(selected) * static_cast<double>(end) /
                                  static_cast<double>(unit.numel));
    };
    std::vector<int64_t> bytes;
    for (size_t s = 0; s < slices.size(); ++s) {
      const int64_t begin = slices[s].offset - unit.offset;
      bytes.push_back(codec.PartBytes(s, before(begin + slices[s].numel) - before(begin)));
    }
    const CodecScheme sliced(CodecOf(unit), Inner().options(), std::string(Name()));
    std::vector<PlannedCall> calls =
        sliced.ExpectedCalls(unit, parameter, active_workers, link).value();
    for (PlannedCall& call : calls) {
      SendToOwners(cut_, call.call);
      const bool lengths = calls.size() == 2 && &call == calls.data();
      call.call.owned->bytes = lengths ? std::vector<int64_t>(slices.size(), kLengthBytes) : bytes;
      call.bytes = SumOf(call.call.owned->bytes);
      call.call.owned->bytes.resize(static_cast<size_t>(cut_.owners));
    }
    const int senders = std::min(cut_.owners, active_workers);
    const int64_t most = (selected * senders + cut_.owners - 1) / cut_.owners;
    calls.back().call.decode = codec.OwnerWork(parameter, most, senders);
    return calls;
  }

  Cut cut_;
  std::unique_ptr<Scheme> whole_;  // of units that are sent whole
};

}  // namespace

std::string UnitObstacleOf(const Scheme& scheme, const Cut& cut) {
  if (cut.node > 1 && cut.node < cut.owners) {
    return "with nodes means are compressed again, which are those of slices";
  }
  const auto* codec = dynamic_cast<const CodecScheme*>(&scheme);
  if (codec == nullptr) return "it does not send one selection of a unit in every step";
  const auto* sparse = dynamic_cast<const SparseCodec*>(codec->codec().get());
  if (sparse == nullptr) return "it does not select values by their positions";
  if (!sparse->quantiser().Linear()) {
    return "its values share a scale or draws, which those of fp32, fp16 and bf16 do not";
  }
  return "";
}

std::unique_ptr<Scheme> WithUnitSelection(std::shared_ptr<const Scheme> scheme, const Cut& cut) {
  assert(UnitObstacleOf(*scheme, cut).empty());
  return std::make_unique<OwnedUnitScheme>(std::move(scheme), cut);
}

}  // namespace legacy
