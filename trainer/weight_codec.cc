#include "trainer/weight_codec.h"

#include <algorithm>

#include "base/error.h"
#include "compress/codec_text.h"
#include "compress/options.h"
#include "compress/quantiser.h"

namespace legacy {
namespace {

constexpr const char* kDelta = "delta:";
// A seed of its own keeps these draws apart from those of gradients.
constexpr uint64_t kSeedOfWeights = 0x77656967687473ULL;

// Returns true for codecs that send every value: quantisers alone.
bool SendsAll(const std::string& text) {
  const std::vector<Stage> stages = ParseStages(text);
  return stages.size() == 1 && (stages.front().name == "dense" ||
                                std::ranges::any_of(QuantiserTable(), [&](const QuantiserRow& row) {
                                  return row.info.name == stages.front().name;
                                }));
}

}  // namespace

WeightCodec::WeightCodec(const std::string& text, const Cut& cut, uint64_t seed,
                         const std::string& key)
    : text_(text), cut_(cut), seed_(seed ^ kSeedOfWeights) {
  differences_ = text.starts_with(kDelta);
  const std::string coded = differences_ ? text.substr(std::string(kDelta).size()) : text;
  const CodecText given = CutCodecText(coded);
  const std::string& name = given.codec;
  const auto refuse = [&](const std::string& allowed) { throw Error(key, text, allowed); };
  if (name.empty()) refuse("CODEC[@PARAMETER] or delta:CODEC[@PARAMETER], as in delta:int:bits=4");
  try {
    codec_ = MakeCodec(name);
    parameter_ = given.ParameterOf(codec_->Parameter(), key);
    CheckParameter(codec_->Parameter(), parameter_);
  } catch (const Error& error) {
    throw error.Within(key + ": ");
  }
  const Unit any{.id = 0, .name = "any", .shape = {64, 64}, .offset = 0, .numel = 64 * 64};
  if (!codec_->MessageBytes(any, parameter_)) {
    refuse("codecs whose messages have a length that is known beforehand");
  }
  if (!differences_ && !SendsAll(name)) {
    refuse("quantisers alone, as a weight that is not sent is not 0; or delta:" + coded);
  }
  if (differences_ && !codec_->AllowsErrorFeedback(parameter_)) {
    refuse("delta with codecs that take error feedback, or differences would grow");
  }
}

// A slice draws as a worker of its number.
CodecContext WeightCodec::ContextOf(const Unit& slice, size_t number, int64_t step) const {
  return {.unit = slice.id,
          .parameter = parameter_,
          .random = {.seed = seed_,
                     .step = static_cast<uint64_t>(step),
                     .worker = static_cast<uint32_t>(number),
                     .layer = slice.id}};
}

void WeightCodec::Send(const Unit& layer, int64_t step, std::span<const float> weights,
                       std::span<float> known) const {
  const std::vector<Unit> slices = CutUnit(layer, cut_);
  std::vector<float> values, sum;
  for (size_t s = 0; s < slices.size(); ++s) {
    const Unit& slice = slices[s];
    const auto begin = static_cast<size_t>(slice.offset - layer.offset);
    const auto numel = static_cast<size_t>(slice.numel);
    const std::span<float> own = known.subspan(begin, numel);
    values.assign(weights.begin() + static_cast<int64_t>(begin),
                  weights.begin() + static_cast<int64_t>(begin + numel));
    if (differences_) {
      for (size_t i = 0; i < numel; ++i) values[i] -= own[i];
    }
    const std::unique_ptr<Codec> made = codec_->ForUnit(slice);
    const Codec& codec = made ? *made : *codec_;
    CodecContext context = ContextOf(slice, s, step);
    const Message message = codec.Encode(values, context);
    context.random.worker = 0;
    sum.assign(static_cast<size_t>(codec.SumSize(slice.numel)), 0.0f);
    codec.Accumulate(message.bytes, slice.numel, context, sum);
    codec.MeanOf(sum, 1, context, values);
    if (differences_) {
      for (size_t i = 0; i < numel; ++i) own[i] += values[i];
    } else {
      std::ranges::copy(values, own.begin());
    }
  }
}

std::vector<WeightWork> WeightCodec::WorkOf(std::span<const Unit> layers) const {
  std::vector<WeightWork> all;
  for (size_t l = 0; l < layers.size(); ++l) {
    WeightWork& work = all.emplace_back();
    work.layer = static_cast<int>(l);
    work.slices = {.owners = cut_.owners, .rows = cut_.by_rows, .bytes = {}};
    const std::vector<Unit> slices = CutUnit(layers[l], cut_);
    for (size_t s = 0; s < slices.size(); ++s) {
      const std::unique_ptr<Codec> made = codec_->ForUnit(slices[s]);
      const Codec& codec = made ? *made : *codec_;
      work.slices.bytes.push_back(codec.MessageBytes(slices[s], parameter_).value());
      if (s == 0) {
        AddWork(codec.EncodeWork(slices[s].numel, ContextOf(slices[s], s, 0)), work.encode);
        // The difference is one pass before, over weights and what is known of them.
        if (differences_) AddWork({"mean", slices[s].numel}, work.encode);
      }
      JoinWork(codec.DecodeWork(slices[s].numel, parameter_), work.decode);
      JoinWork(codec.FinishWork(slices[s].numel, parameter_), work.decode);
    }
    work.slices.bytes.resize(static_cast<size_t>(cut_.owners));
  }
  return all;
}

}  // namespace legacy
