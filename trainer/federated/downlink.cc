#include "trainer/federated/downlink.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/error.h"
#include "compress/codec_text.h"
#include "trainer/federated/uplink.h"

namespace legacy {
namespace {

constexpr const char* kOption = "downlink";
constexpr const char* kAllowed = "dense, fp16, or delta:CODEC[@PARAMETER], as in delta:topk@1%";
constexpr const char* kDelta = "delta:";
// A seed of its own keeps the server's draws apart from those of the clients.
constexpr uint64_t kSeedOfServer = 0x646F776E6C696E6BULL;
constexpr uint64_t kMostVersion = uint64_t{1} << 62;

}  // namespace

DownlinkNeed DownlinkLedger::NeedOf(int64_t client, int64_t version, const DeltaSize& size) const {
  const auto copy = copies_.find(client);
  if (copy == copies_.end()) return {.bytes = size.whole};
  const int64_t missed = size.sent - copy->second.sent;
  if (missed >= size.whole) return {.bytes = size.whole};
  return {.bytes = missed, .messages = version - copy->second.version};
}

DownlinkNeed DownlinkLedger::NeedOf(int64_t client, const VersionWork& version) const {
  if (!version.delta) {
    return {.bytes = version.down_bytes, .messages = version.decode.empty() ? 0 : 1};
  }
  DownlinkNeed need = NeedOf(client, version.version, *version.delta);
  need.bytes += version.down_bytes - version.delta->whole;
  return need;
}

void DownlinkLedger::Decoded(int64_t client, int64_t version, const DeltaSize& size) {
  Copy& copy = copies_[client];
  if (version >= copy.version) copy = {.version = version, .sent = size.sent};
}

void DownlinkLedger::Save(StateWriter& out) const {
  out.Number(copies_.size());
  for (const auto& [client, copy] : copies_) {
    for (const int64_t number : {client, copy.version, copy.sent}) {
      out.Number(static_cast<uint64_t>(number));
    }
  }
}

void DownlinkLedger::Load(StateReader& in) {
  copies_.clear();
  for (uint64_t left = in.Number("clients with a version", in.Left()); left > 0; --left) {
    const auto number = [&](const char* what) {
      return static_cast<int64_t>(in.Number(what, kMostVersion));
    };
    const int64_t client = number("client");
    Copy& copy = copies_[client];
    copy.version = number("version of a client");
    copy.sent = number("bytes up to the version of a client");
  }
}

Downlink::Downlink(const std::string& text, std::span<const Unit> layers, uint64_t seed)
    : text_(text), seed_(seed ^ kSeedOfServer) {
  assert(!layers.empty());
  elements_ = layers.back().offset + layers.back().numel;
  if (text == "dense") return;
  const bool delta = text.starts_with(kDelta);
  if (!delta && text != "fp16") throw Error(kOption, text, kAllowed);
  kind_ = delta ? Kind::kDelta : Kind::kFp16;
  const CodecText coded = CutCodecText(delta ? text.substr(std::string(kDelta).size()) : text);
  if (coded.codec.empty()) throw Error(kOption, text, kAllowed);
  coder_ = std::make_unique<Uplink>(coded.codec, std::vector<Unit>(layers.begin(), layers.end()),
                                    delta ? UplinkMemory::kEf21 : UplinkMemory::kOff, 1, kOption);
  parameters_.assign(layers.size(),
                     delta ? coded.ParameterOf(coder_->scheme().Parameter(), kOption) : 0.0);
  coder_->Check(parameters_);
}

Downlink::~Downlink() = default;

std::vector<float> Downlink::Send(std::span<const float> weights) {
  assert(std::ssize(weights) == elements_);
  ++version_;
  switch (kind_) {
    case Kind::kDense:
      return {weights.begin(), weights.end()};
    case Kind::kFp16:
      return SendHalves(weights);
    case Kind::kDelta:
      break;
  }
  return SendDelta(weights);
}

std::vector<float> Downlink::SendHalves(std::span<const float> weights) {
  constexpr float kLargest = 65504;  // of half precision; the codec would saturate
  for (const Unit& layer : coder_->units()) {
    for (const float weight :
         weights.subspan(static_cast<size_t>(layer.offset), static_cast<size_t>(layer.numel))) {
      if (std::abs(weight) <= kLargest) continue;
      throw Error("version " + std::to_string(version_) + ": layer " + layer.name + " has " +
                  std::to_string(weight) + ", which --downlink=fp16 cannot send: it ends at 65504");
    }
  }
  messages_ =
      coder_->Encode(weights, parameters_, {}, {.seed = seed_, .version = version_}).messages;
  std::vector<float> decoded(weights.size());
  Receive(messages_, version_, decoded);
  return decoded;
}

std::vector<float> Downlink::SendDelta(std::span<const float> weights) {
  if (version_ == 0) {
    state_ = coder_->StateOf(weights);
    return {weights.begin(), weights.end()};
  }
  EncodedUpdate encoded =
      coder_->Encode(weights, parameters_, state_, {.seed = seed_, .version = version_});
  sent_ += encoded.bytes();
  messages_ = std::move(encoded.messages);
  state_ = std::move(encoded.state);
  return coder_->ValuesOf(state_);
}

void Downlink::Receive(std::span<const Message> messages, int64_t version,
                       std::span<float> weights) const {
  assert(coder_ != nullptr);
  if (kind_ == Kind::kFp16) std::ranges::fill(weights, 0.0F);
  coder_->DecodeAdd(messages, parameters_, {.seed = seed_, .version = version}, weights);
}

int64_t Downlink::WholeBytes() const {
  if (kind_ != Kind::kFp16) return elements_ * int64_t{sizeof(float)};
  return coder_->MessageBytes(parameters_).value();
}

std::optional<DeltaSize> Downlink::Size() const {
  if (kind_ != Kind::kDelta) return std::nullopt;
  return DeltaSize{.whole = WholeBytes(), .sent = sent_};
}

WorkList Downlink::DecodeWork() const {
  return coder_ == nullptr ? WorkList() : coder_->DecodeWork(parameters_);
}

void Downlink::Save(StateWriter& out) const {
  out.Text(text_);
  out.Number(static_cast<uint64_t>(version_));
  out.Number(static_cast<uint64_t>(sent_));
  out.Blob(state_);
}

void Downlink::Load(StateReader& in) {
  in.ExpectText("downlink", text_);
  version_ = static_cast<int64_t>(in.Number("version of the downlink", kMostVersion));
  sent_ = static_cast<int64_t>(in.Number("bytes of the downlink", kMostVersion));
  const ByteSpan state = in.Blob();
  state_.assign(state.begin(), state.end());
  if (kind_ == Kind::kDelta) coder_->ValuesOf(state_);  // throws if it is not a state
}

}  // namespace legacy
