#include "base/error.h"
#include "compress/exchange.h"
#include "compress/options.h"
#include "compress/policy.h"
#include "compress/quantiser.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/sparsifier.h"
#include "tests/compress/test_data.h"
#include "tests/fuzz/targets.h"

namespace legacy::fuzz {
namespace {

void MakePolicyFor(const std::string& text) {
  const std::unique_ptr<Scheme> scheme = MakeScheme("topk");
  MakePolicy(text, {.scheme = scheme.get(),
                    .units = test::MakeUnits({10, 100}),
                    .workers = 2,
                    .total_steps = 10,
                    .steps_per_epoch = 5,
                    .parameter = 0.01,
                    .seed = 1});
}

template <typename Make>
void Try(Make make) {
  try {
    make();
  } catch (const Error&) {
  }
}

template <typename RowType>
void AddTexts(std::span<const RowType> table, std::vector<std::string>& texts) {
  for (const RowType& row : table) {
    texts.push_back(row.info.name);
    for (const OptionSpec& option : row.info.options) {
      if (option.fallback.empty()) continue;
      texts.push_back(row.info.name + ":" + option.name + "=" + option.fallback);
    }
  }
}

}  // namespace

// Checks that accepted options are written as text that is read as the same options.
void FuzzOptions(ByteSpan bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Try([&] {
    const std::string written = FormatStages(ParseStages(text));
    Require(FormatStages(ParseStages(written)) == written);
  });
  Try([&] { ParseIndexCoding(text); });
  Try([&] { MakeCodec(text); });
  Try([&] { MakeScheme(text, {.error_feedback = true}); });
  Try([&] { MakePolicyFor(text); });
}

std::vector<Bytes> OptionsSeeds() {
  std::vector<std::string> texts = CodecTexts();
  AddTexts(SchemeTable(), texts);
  AddTexts(SparsifierTable(), texts);
  AddTexts(QuantiserTable(), texts);
  AddTexts(PolicyTable(), texts);
  for (const OptionSpec& option : CodecSchemeOptionSpecs()) {
    texts.push_back("topk:" + option.name + "=" + option.fallback);
  }
  std::vector<Bytes> seeds;
  for (const std::string& text : texts) {
    const ByteSpan bytes = std::as_bytes(std::span(text));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace legacy::fuzz
