#include "compress/codec.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "compress/codecs/fft_codec.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/cpu/vector.h"
#include "compress/quantiser.h"
#include "compress/sparsifier.h"

namespace legacy {
namespace {

constexpr const char* kDense = "dense";  // fp32, standing alone

template <typename Row>
const MethodInfo* Find(std::span<const Row> table, std::string_view name) {
  const auto row = std::ranges::find_if(table, [&](const Row& r) { return r.info.name == name; });
  return row == table.end() ? nullptr : &row->info;
}

// Takes the option "index" out of a sparsifier's stage: it is the codec's own.
std::optional<IndexCoding> TakeCoding(Stage& stage) {
  const auto given = stage.options.find("index");
  if (given == stage.options.end()) return std::nullopt;
  const std::string text = given->second;
  stage.options.erase(given);
  return ParseIndexCoding(text);
}

// What follows a sparsifier: as named, else what the method brings with it, else fp32.
std::unique_ptr<Quantiser> SecondStage(std::span<const Stage> stages,
                                       const Sparsifier& sparsifier) {
  const std::string own(sparsifier.OwnQuantiser());
  if (stages.size() == 1) return MakeQuantiser({own.empty() ? "fp32" : own});
  if (!own.empty() && stages[1].name != own) {
    throw Error("quantiser after " + FormatStages(stages.first(1)), stages[1].name, own);
  }
  return MakeQuantiser(stages[1]);
}

std::unique_ptr<Codec> MakeSparseCodec(std::span<const Stage> stages) {
  Stage first = stages.front();
  const std::optional<IndexCoding> index = TakeCoding(first);
  std::unique_ptr<Sparsifier> sparsifier = MakeSparsifier(first);
  if (index && sparsifier->SharedSupport()) {
    throw Error("index coding with codec " + first.name + ": no positions travel");
  }
  std::unique_ptr<Quantiser> quantiser = SecondStage(stages, *sparsifier);
  return std::make_unique<SparseCodec>(std::move(sparsifier), std::move(quantiser), index);
}

std::unique_ptr<Codec> MakeFft(std::span<const Stage> stages) {
  Stage first = stages.front();
  const std::optional<IndexCoding> index = TakeCoding(first);
  return MakeFftCodec(first, MakeQuantiser(stages.size() > 1 ? stages[1] : Stage{kFftQuantiser}),
                      index);
}

}  // namespace

Message Codec::EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                  const CodecContext& context, std::vector<uint32_t>* sent) const {
  if (!gradient.empty()) cpu::Add(gradient, residual);
  Message message = Encode(residual, context);
  std::vector<float> decoded(residual.size());
  DecodeAdd(message.bytes, context, decoded);
  for (size_t i = 0; i < residual.size(); ++i) residual[i] -= decoded[i];
  if (sent != nullptr) sent->clear();
  return message;
}

void Codec::MeanOf(std::span<const float> sum, float divisor, std::span<float> mean) const {
  assert(sum.size() == mean.size());
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = sum[i] / divisor;
}

WorkList Codec::FinishWork(int64_t numel, double parameter) const {
  if (Linear(numel, parameter)) return {};
  return {{"mean", numel}};
}

WorkList Codec::FeedbackWork(int64_t numel, double parameter, Feeding feeding) const {
  WorkList work;
  if (feeding == Feeding::kGradient) work.push_back({"accumulate", numel});
  AddWork(DecodeWork(numel, parameter), work);
  AddWork(FinishWork(numel, parameter), work);
  return work;
}

WorkList Codec::ErrorWork(int64_t numel, std::span<const double> parameters) const {
  WorkList work;
  for (const double parameter : parameters) {
    AddWork(Work{"copy", numel}, work);
    AddWork(EncodeWork(numel, {.parameter = parameter, .random = {}}), work);
    if (CountVaries(numel, parameter)) {
      AddWork(PackWork(ElementsSent(numel, parameter), Feeding::kAdded), work);
    }
    AddWork(FeedbackWork(numel, parameter, Feeding::kAdded), work);
    AddWork(Work{"norm", numel}, work);
  }
  return work;
}

std::vector<double> Codec::SquaredErrors(std::span<const float> values,
                                         std::span<const double> parameters,
                                         const CodecContext& context) const {
  std::vector<double> errors;
  for (const double parameter : parameters) {
    CodecContext own = context;
    own.parameter = parameter;
    own.state = nullptr;
    std::vector<float> residual(values.begin(), values.end());
    EncodeWithFeedback({}, residual, own);
    errors.push_back(cpu::SquaredNorm(residual));
  }
  return errors;
}

std::unique_ptr<Codec> MakeCodec(std::span<const Stage> stages) {
  if (stages.size() > 2) {
    throw Error("codec", FormatStages(stages), "one stage, or two: what is sent + how");
  }
  const Stage& first = stages.front();
  if (Find(SparsifierTable(), first.name) != nullptr) return MakeSparseCodec(stages);
  if (first.name == FftInfo().name) return MakeFft(stages);
  const auto names = CodecNames();
  if (std::ranges::find(names, first.name) == names.end()) {
    ThrowUnknown("codec", first.name, names);
  }
  if (stages.size() > 1) {
    throw Error("codec", FormatStages(stages), "no second stage: " + first.name + " sends all");
  }
  Stage alone = first;
  if (alone.name == kDense) alone.name = "fp32";
  return std::make_unique<QuantiserCodec>(MakeQuantiser(alone));
}

std::unique_ptr<Codec> MakeCodec(std::string_view text) { return MakeCodec(ParseStages(text)); }

std::vector<std::string> CodecNames() {
  std::vector<std::string> names = {kDense};
  for (const QuantiserRow& row : QuantiserTable()) {
    if (row.info.name != "fp32") names.push_back(row.info.name);
  }
  for (const SparsifierRow& row : SparsifierTable()) names.push_back(row.info.name);
  names.push_back(FftInfo().name);
  return names;
}

MethodInfo CodecInfo(const std::string& name) {
  const MethodInfo* info = Find(SparsifierTable(), name);
  if (info == nullptr && name != "fp32") {
    info = Find(QuantiserTable(), name == kDense ? "fp32" : name);
  }
  if (info == nullptr && name == FftInfo().name) info = &FftInfo();
  if (info == nullptr) ThrowUnknown("codec", name, CodecNames());
  MethodInfo found = *info;
  found.name = name;
  return found;
}

}  // namespace legacy
