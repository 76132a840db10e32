// Makes any codec a scheme of one collective call. Messages of a linear codec are summed by the
// network (all-reduce); others are gathered whole. Every worker's bytes are decoded and added in
// worker order, so the mean does not depend on threads or on the network. If lengths depend on the
// data, a call of lengths goes first: 4 bytes per worker (u32, no header), which are checked
// against the messages that follow.
//
// Units that the options exclude are sent whole by all-reduce, without residual. With momentum
// (schemes/memory.h), sending a unit whole is momentum SGD.
//
// Requantised sums reduce as CGX does (Markov et al., CGX, Middleware 2022): every worker owns a
// slice of the unit, decodes and averages the slices that it receives, and quantises the mean again
// for all. One NIC carries 2 (N-1)/N messages instead of the N-1 of a gather, at the price of a
// second quantisation error.
//
// Sums by hops are those of a ring all-reduce in fp16 or bf16, which rounds every partial sum. The
// arithmetic is a ring's, whatever algorithm the network is timed with. Quantisers that work in
// buckets encode every partial sum again, along a ring or a butterfly (hops/hop_sum.h), and the
// network carries exactly these messages.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compress/exchange.h"
#include "compress/options.h"
#include "compress/schemes/codec_step.h"
#include "compress/schemes/compressed_mean.h"
#include "compress/schemes/ef21.h"
#include "compress/schemes/memory.h"

namespace legacy {

// Options that codecs take as schemes.
struct CodecSchemeOptions {
  MemoryOptions memory = {};
  double residual_decay = 1;  // memory.decay as it was given
  // Bound of the norm of the whole gradient, for all workers together; 0: no clipping.
  double local_clip = 0;
  int64_t min_numel = 0;  // elements below which units are sent whole
  bool vectors = true;    // true: units of one dimension are compressed too
  Summing summing = Summing::kPlain;
  Where where = Where::kWorker;  // what is compressed (compressed_mean.h)
  bool first_feedback = false;   // true: sums by hops keep residuals of first messages
  int64_t slice = 8 << 20;       // most bytes of a message of sums by hops
  int servers = 1;               // that compress, with `where` kServer and kBoth
  Again again = Again::kOff;
  // If given, the scheme compresses differences of gradients (ef21.h).
  std::optional<Ef21Options> ef21 = std::nullopt;
};

// Makes exchanges of one codec.
class CodecScheme : public Scheme {
 public:
  // `name` is the scheme's name if it differs from the codec's. Throws Error if the codec does not
  // support the sums that are requested.
  CodecScheme(std::shared_ptr<const Codec> codec, const CodecSchemeOptions& options,
              std::string name = {});
  std::string_view Name() const override { return name_; }
  const ParameterSpec& Parameter() const override { return codec_->Parameter(); }
  SchemeTraits Traits() const override {
    const bool momentum = options_.memory.kind == MemoryKind::kMomentum;
    return {.depends_on_collective = options_.summing == Summing::kRequantise,
            .takes_candidates = codec_->Sparse() != nullptr && !options_.memory.Averages() &&
                                options_.memory.Storing() == nullptr,
            .owns_momentum = momentum,
            .needs_error_feedback = momentum || options_.memory.Averages(),
            .sends_values = Rounds() && options_.memory.kind == MemoryKind::kNone,
            .residual_decay = options_.residual_decay};
  }
  int64_t ElementsSent(const Unit& unit, double parameter) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override;
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override;
  // Plans values with positions of 32 bits if lengths depend on the data.
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                        int active_workers,
                                                        const LinkEstimate& link) const override;
  bool Compresses(const Unit& unit, double parameter) const override;
  bool UsesErrorFeedback(double parameter) const override;
  std::optional<double> LocalClipNorm(int workers) const override;
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override;
  WorkList SelectWork(int64_t numel, double parameter) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override;
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;
  // Makes the exchange of a slice whose sum by hops ends with its owner, and that is never sent
  // whole.
  std::unique_ptr<Exchange> OpenForOwner(const Unit& slice, int workers, HopOwner owner) const;

  const std::shared_ptr<const Codec>& codec() const { return codec_; }
  const CodecSchemeOptions& options() const { return options_; }

 private:
  // Returns the codec that serves a unit.
  std::shared_ptr<const Codec> Of(const Unit& unit) const;
  // True if the codec sends every value and rounds it at most.
  bool Rounds() const;
  // Returns the step of a unit that `codec` serves; it must not outlive both. Throws Error if the
  // codec does not take the parameter.
  CodecStep StepOf(const Codec& codec, const Unit& unit, double parameter,
                   int active_workers) const;

  std::shared_ptr<const Codec> codec_;  // shared with the exchanges, which may outlive the scheme
  CodecSchemeOptions options_;
  std::string name_;
};

// Makes the codec's scheme, for the mean if the options say so. Throws Error as CodecScheme and
// CompressedMean do.
std::unique_ptr<Scheme> MakeCodecScheme(std::unique_ptr<Codec> codec,
                                        const CodecSchemeOptions& options, std::string name = {});

// Return the options that every codec takes as a scheme, which come before the codec's own, and
// read them.
std::span<const OptionSpec> CodecSchemeOptionSpecs();
CodecSchemeOptions ReadCodecSchemeOptions(const OptionReader& reader, const SchemeOptions& options);

}  // namespace legacy
