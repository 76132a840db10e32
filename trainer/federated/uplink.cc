#include "trainer/federated/uplink.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/memory.h"

namespace legacy {
namespace {

size_t Offset(const Unit& unit) { return static_cast<size_t>(unit.offset); }
size_t Numel(const Unit& unit) { return static_cast<size_t>(unit.numel); }

}  // namespace

int64_t EncodedUpdate::bytes() const {
  int64_t sum = 0;
  for (const Message& message : messages) sum += message.size();
  return sum;
}

// The state of a client: a number for each element (residual, or g), and that of the codec.
struct Uplink::State {
  std::vector<float> values;
  std::vector<CodecState> codecs;

  State(ByteSpan bytes, std::span<const Unit> units) {
    const size_t numel = Offset(units.back()) + Numel(units.back());
    values.resize(numel);
    codecs.resize(units.size());
    if (bytes.empty()) return;
    StateReader in(bytes);
    in.ExpectNumber("elements of a client's state", numel);
    in.Floats(values);
    for (uint64_t left = in.Number("states of codecs", units.size()); left > 0; --left) {
      const uint64_t unit = in.Number("unit", units.size() - 1);
      CodecState& codec = codecs[unit];
      for (double& number : codec.numbers) number = in.Real("number of a codec");
      codec.squares = in.Floats(in.Number("squares of a codec", Numel(units[unit])));
    }
    in.ExpectEnd();
  }

  Bytes Save() const {
    const auto is_new = [](const CodecState& codec) {
      return codec.squares.empty() &&
             std::ranges::all_of(codec.numbers, [](double number) { return number == 0; });
    };
    // Most states have only the values, and many clients keep one, so that exactly this much is
    // reserved.
    Bytes saved;
    saved.reserve(values.size() * sizeof(float) + 2 * sizeof(uint64_t));
    StateWriter out([&](ByteSpan bytes) { saved.insert(saved.end(), bytes.begin(), bytes.end()); });
    out.Number(values.size());
    out.Floats(values);
    out.Number(static_cast<uint64_t>(codecs.size() - std::ranges::count_if(codecs, is_new)));
    for (size_t unit = 0; unit < codecs.size(); ++unit) {
      const CodecState& codec = codecs[unit];
      if (is_new(codec)) continue;
      out.Number(unit);
      for (const double number : codec.numbers) out.Real(number);
      out.Number(codec.squares.size());
      out.Floats(codec.squares);
    }
    out.Flush();
    return saved;
  }
};

Uplink::Uplink(const std::string& scheme, std::vector<Unit> units, UplinkMemory memory,
               double residual_decay, const std::string& what)
    : made_(MakeScheme(scheme, {.error_feedback = memory != UplinkMemory::kOff})),
      scheme_(dynamic_cast<const CodecScheme*>(made_.get())),
      dense_(MakeCodec("dense")),
      units_(std::move(units)),
      memory_(memory),
      decay_(static_cast<float>(residual_decay)),
      what_(what) {
  const auto refuse = [&](const std::string& why) {
    throw Error(what_, scheme, "a codec whose messages stand alone, as " + why);
  };
  if (!scheme_) refuse("clients take part at different times");
  if (scheme_->options().summing != Summing::kPlain) {
    refuse("no sum is quantised on the way to a server");
  }
  const MemoryOptions& kept = scheme_->options().memory;
  if (kept.Averages() || kept.Storing() != nullptr) {
    refuse("clients keep all that is left over, in fp32");
  }
  if (scheme_->Traits().owns_momentum) refuse("momentum belongs to local training");
  if (scheme_->Traits().residual_decay != 1)
    decay_ = static_cast<float>(made_->Traits().residual_decay);
  if (!(decay_ >= 0 && decay_ <= 1)) {
    throw Error("residual decay", std::to_string(residual_decay), "0 to 1");
  }
  assert(!units_.empty());
}

Uplink::~Uplink() = default;

const Scheme& Uplink::scheme() const { return *made_; }

const Codec& Uplink::CodecOf(const Unit& unit, double parameter) const {
  return scheme_->Compresses(unit, parameter) ? *scheme_->codec() : *dense_;
}

bool Uplink::Keeps(const Unit& unit, double parameter) const {
  // With kEf21 each message is a difference, even if nothing is left out.
  if (memory_ == UplinkMemory::kEf21) return true;
  return memory_ != UplinkMemory::kOff && scheme_->Compresses(unit, parameter) &&
         scheme_->UsesErrorFeedback(parameter);
}

void Uplink::Check(const Unit& unit, double parameter) const {
  const Codec& codec = CodecOf(unit, parameter);
  CheckParameter(codec.Parameter(), parameter);
  if (memory_ == UplinkMemory::kEf21 && !codec.AllowsErrorFeedback(parameter)) {
    throw Error(what_, std::string(scheme_->Name()),
                "a contractive codec, whose error is below its input: differences would grow");
  }
}

void Uplink::Check(std::span<const double> parameters) const {
  for (size_t u = 0; u < units_.size(); ++u) Check(units_[u], parameters[u]);
}

bool Uplink::Keeps(std::span<const double> parameters) const {
  for (size_t u = 0; u < units_.size(); ++u) {
    if (Keeps(units_[u], parameters[u])) return true;
  }
  return false;
}

CodecContext Uplink::ContextOf(const Unit& unit, double parameter, const UplinkKey& key) const {
  return {.unit = unit.id,
          .parameter = parameter,
          .random = {.seed = key.seed,
                     .step = static_cast<uint64_t>(key.version),
                     .worker = 0,
                     .layer = unit.id,
                     .purpose = Purpose::kStochastic}};
}

EncodedUpdate Uplink::Encode(std::span<const float> update, std::span<const double> parameters,
                             ByteSpan state, const UplinkKey& key) const {
  EncodedUpdate encoded;
  std::optional<State> kept;
  if (Keeps(parameters)) kept.emplace(state, units_);
  for (size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    const double parameter = parameters[u];
    const Codec& codec = CodecOf(unit, parameter);
    Check(unit, parameter);
    const std::span<const float> part = update.subspan(Offset(unit), Numel(unit));
    const CodecContext shared = ContextOf(unit, parameter, key);
    CodecContext own = shared;
    own.random.worker = static_cast<uint32_t>(key.client);
    CodecState passing;
    own.state = kept ? &kept->codecs[u] : &passing;
    if (!Keeps(unit, parameter)) {
      encoded.messages.push_back(codec.Encode(part, own));
      continue;
    }
    const std::span<float> values = std::span(kept->values).subspan(Offset(unit), Numel(unit));
    if (memory_ == UplinkMemory::kClient) {
      const std::span<const float> fed = Feed({.decay = decay_}, part, values, {});
      encoded.messages.push_back(codec.EncodeWithFeedback(fed, values, own));
      continue;
    }
    std::vector<float> difference(part.begin(), part.end());
    for (size_t i = 0; i < difference.size(); ++i) difference[i] -= values[i];
    encoded.messages.push_back(codec.Encode(difference, own));
    codec.DecodeAdd(encoded.messages.back().bytes, shared, values);
  }
  if (!kept) return encoded;
  if (memory_ == UplinkMemory::kClient) {
    double squares = 0;
    for (const float value : kept->values) squares += static_cast<double>(value) * value;
    encoded.residual_norm = std::sqrt(squares);
  }
  encoded.state = kept->Save();
  return encoded;
}

void Uplink::Decode(std::span<const Message> messages, std::span<const double> parameters,
                    const UplinkKey& key, std::span<float> out) const {
  std::ranges::fill(out, 0.0F);
  DecodeAdd(messages, parameters, key, out);
}

void Uplink::DecodeAdd(std::span<const Message> messages, std::span<const double> parameters,
                       const UplinkKey& key, std::span<float> sum) const {
  assert(messages.size() == units_.size());
  for (size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    CodecOf(unit, parameters[u])
        .DecodeAdd(messages[u].bytes, ContextOf(unit, parameters[u], key),
                   sum.subspan(Offset(unit), Numel(unit)));
  }
}

Bytes Uplink::StateOf(std::span<const float> values) const {
  State state({}, units_);
  std::ranges::copy(values, state.values.begin());
  return state.Save();
}

std::vector<float> Uplink::ValuesOf(ByteSpan state) const { return State(state, units_).values; }

bool Uplink::Linear(std::span<const double> parameters) const {
  for (size_t u = 0; u < units_.size(); ++u) {
    const double parameter = parameters[u];
    if (!CodecOf(units_[u], parameter).Linear(units_[u].numel, parameter)) return false;
  }
  return true;
}

std::optional<int64_t> Uplink::MessageBytes(std::span<const double> parameters) const {
  int64_t sum = 0;
  for (size_t u = 0; u < units_.size(); ++u) {
    const auto bytes = CodecOf(units_[u], parameters[u]).MessageBytes(units_[u], parameters[u]);
    if (!bytes) return std::nullopt;
    sum += *bytes;
  }
  return sum;
}

WorkList Uplink::EncodeWork(std::span<const double> parameters) const {
  WorkList all;
  for (size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    const double parameter = parameters[u];
    const Codec& codec = CodecOf(unit, parameter);
    WorkList work = codec.EncodeWork(unit.numel, ContextOf(unit, parameter, {}));
    if (codec.CountVaries(unit.numel, parameter)) {
      AddWork(codec.PackWork(codec.ElementsSent(unit.numel, parameter),
                             Keeps(unit, parameter) ? Feeding::kGradient : Feeding::kNone),
              work);
    }
    if (Keeps(unit, parameter)) {
      if (decay_ != 1) AddWork(Work{"copy", unit.numel}, work);
      AddWork(codec.FeedbackWork(unit.numel, parameter, Feeding::kGradient), work);
    }
    JoinWork(work, all);
  }
  return all;
}

WorkList Uplink::DecodeWork(std::span<const double> parameters) const {
  WorkList all;
  for (size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    const double parameter = parameters[u];
    const Codec& codec = CodecOf(unit, parameter);
    WorkList work = codec.DecodeWork(unit.numel, parameter);
    if (codec.CountVaries(unit.numel, parameter)) {
      AddWork(codec.UnpackWork(codec.ElementsSent(unit.numel, parameter)), work);
    }
    JoinWork(work, all);
  }
  return all;
}

std::vector<int64_t> Uplink::ElementsSent(std::span<const double> parameters) const {
  std::vector<int64_t> elements;
  for (size_t u = 0; u < units_.size(); ++u) {
    const Codec& codec = CodecOf(units_[u], parameters[u]);
    elements.push_back(codec.ElementsSent(units_[u].numel, parameters[u]));
  }
  return elements;
}

}  // namespace legacy
