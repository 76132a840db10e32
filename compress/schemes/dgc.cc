// Deep Gradient Compression (Lin et al., ICLR 2018): the sampled threshold with momentum correction
// and masking, with the options of its authors' code, in which vectors are sent whole. At density 1
// it is momentum SGD.
#include <map>

#include "base/error.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/exchange.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/sparsifier.h"

namespace legacy {
namespace {

constexpr const char* kSparsifier = "sampled";

std::span<const OptionSpec> SparsifierOptions() {
  return FindRow("sparsifier", kSparsifier, SparsifierTable()).info.options;
}

// Returns the scheme's options, with other defaults, and the codec's.
std::vector<OptionSpec> OptionsOfDgc() {
  const std::map<std::string, std::string> defaults = {{"memory", "momentum"}, {"vectors", "off"}};
  std::vector<OptionSpec> options(CodecSchemeOptionSpecs().begin(), CodecSchemeOptionSpecs().end());
  for (OptionSpec& option : options) {
    const auto own = defaults.find(option.name);
    if (own != defaults.end()) option.fallback = own->second;
  }
  options.push_back(IndexOption());
  options.insert(options.end(), SparsifierOptions().begin(), SparsifierOptions().end());
  return options;
}

std::unique_ptr<Scheme> MakeDgc(const OptionReader& own, std::span<const Stage> rest,
                                const SchemeOptions& options) {
  Stage first{.name = kSparsifier, .options = {{"index", own.Text("index")}}};
  for (const OptionSpec& option : SparsifierOptions()) {
    first.options[option.name] = own.Text(option.name);
  }
  std::vector<Stage> stages = {first};
  stages.insert(stages.end(), rest.begin(), rest.end());
  std::unique_ptr<Codec> codec = MakeCodec(stages);
  std::string name = "dgc" + std::string(codec->Name().substr(first.name.size()));
  return MakeCodecScheme(std::move(codec), ReadCodecSchemeOptions(own, options), std::move(name));
}

}  // namespace

SchemeRow DgcRow() {
  return {{.name = "dgc",
           .help = "sends the largest momentum-corrected gradients, above a threshold that is "
                   "estimated from a sample",
           .paper = "Lin et al., Deep Gradient Compression: Reducing the Communication Bandwidth "
                    "for Distributed Training, ICLR 2018",
           .options = OptionsOfDgc()},
          "all-gather",
          MakeDgc};
}

}  // namespace legacy
