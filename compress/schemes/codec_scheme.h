// Any codec in one round: messages of a linear codec are summed on the way (all-reduce), others
// gathered whole. Every worker's bytes are decoded and added in worker order, so the mean does not
// depend on threads or on the network. Where lengths depend on the data, a round of lengths goes first.
//
// What a worker keeps is the scheme's memory: nothing, the residual of error feedback, or velocity and momentum
// (momentum correction, Lin et al., ICLR 2018).
#pragma once

#include <memory>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

struct CodecSchemeOptions {
  bool error_feedback = true;
  int64_t min_numel = 0;  // smaller units are sent whole, by all-reduce
  bool vectors = true;    // compress units of one dimension too
};

class CodecScheme : public Scheme {
 public:
  CodecScheme(std::unique_ptr<Codec> codec, const CodecSchemeOptions& options);
  std::string_view Name() const override { return codec_->Name(); }
  const ParameterSpec& Parameter() const override { return codec_->Parameter(); }
  int64_t ElementsSent(const Unit& unit, double parameter) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override;
  bool Compresses(const Unit& unit, double parameter) const override;
  bool HasLevels() const override { return codec_->Sparse() != nullptr; }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

 private:
  std::shared_ptr<const Codec> codec_;  // shared with the exchanges, which may outlive the scheme
  CodecSchemeOptions options_;
};

// The options that every codec takes as a scheme, before its own.
std::span<const OptionSpec> CodecSchemeOptionSpecs();
CodecSchemeOptions ReadCodecSchemeOptions(const OptionReader& reader, const SchemeOptions& options);

}  // namespace legacy
