#include "compress/exchange.h"

#include <algorithm>

#include "base/error.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/dense_start.h"
#include "compress/schemes/schemes.h"

namespace legacy {
namespace {

// Takes the options that belong to the scheme out of the codec's first stage. Throws Error where codec and scheme have
// an option of one name, given or not: nobody could say whose it is.
CodecSchemeOptions TakeOptions(Stage& stage, const SchemeOptions& options) {
  Stage own{.name = stage.name};
  const MethodInfo codec = CodecInfo(stage.name);
  for (const OptionSpec& spec : CodecSchemeOptionSpecs()) {
    if (std::ranges::find(codec.options, spec.name, &OptionSpec::name) != codec.options.end()) {
      throw Error("option of codec " + codec.name, spec.name, "names that no scheme's option has");
    }
    if (auto node = stage.options.extract(spec.name)) own.options.insert(std::move(node));
  }
  return ReadCodecSchemeOptions(OptionReader(own, CodecSchemeOptionSpecs()), options);
}

}  // namespace

Probe Exchange::Measure(int, std::span<const float>) {
  throw Error("scheme: it has no levels for a policy to choose from within a step");
}

void Exchange::Choose(size_t) {
  throw Error("scheme: it has no levels for a policy to choose from within a step");
}

namespace {

// Takes the option that all schemes have out of the first stage.
int64_t TakeDenseStart(Stage& stage) {
  Stage own{.name = stage.name};
  if (auto node = stage.options.extract(DenseStartOption().name)) {
    own.options.insert(std::move(node));
  }
  return OptionReader(own, {&DenseStartOption(), 1})
      .Integer(DenseStartOption().name, 0, int64_t{1} << 53);
}

std::unique_ptr<Scheme> MakePlainScheme(std::vector<Stage> stages, const SchemeOptions& options) {
  for (const SchemeRow& row : SchemeTable()) {
    if (row.info.name != stages.front().name) continue;
    const OptionReader own(stages.front(), row.info.options);
    return row.make(own, std::span(stages).subspan(1), options);
  }
  const auto names = SchemeNames();
  if (std::ranges::find(names, stages.front().name) == names.end()) {
    ThrowUnknown("scheme", stages.front().name, names);
  }
  const CodecSchemeOptions own = TakeOptions(stages.front(), options);
  return std::make_unique<CodecScheme>(MakeCodec(stages), own);
}

}  // namespace

std::unique_ptr<Scheme> MakeScheme(std::string_view text, const SchemeOptions& options) {
  std::vector<Stage> stages = ParseStages(text);
  const int64_t dense_start = TakeDenseStart(stages.front());
  return WithDenseStart(MakePlainScheme(std::move(stages), options), dense_start);
}

std::span<const SchemeRow> SchemeTable() {
  static const std::vector<SchemeRow> table = {ArTopKRow(),   DgcRow(),     FlexibleTopKRow(),
                                               PowerSgdRow(), SignSgdRow(), TernGradSharedRow(),
                                               VarianceRow()};
  return table;
}

std::vector<std::string> SchemeNames() {
  auto names = CodecNames();
  for (const SchemeRow& row : SchemeTable()) names.push_back(row.info.name);
  return names;
}

}  // namespace legacy
