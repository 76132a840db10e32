// Variance-based sparsification (Tsuzuku, Imachi, Akiba, Variance-based Gradient Compression for
// Efficient Distributed Deep Learning, ICLR 2018 workshop): an element waits until its accumulated
// value is large compared with its noise. Every worker keeps r and v of each element, 8 bytes. With
// the step's gradient g:
//
//   r += g,  v += g^2;  elements with r^2 > alpha v are sent, and then r = 0, v = 0 (reset=off
//   keeps v);  v *= zeta everywhere
//
// The paper adds the squares of the samples' gradients, sum over z of (g_z / B)^2 for a batch of B;
// a worker here has only their mean g. For samples of mean mu and variance sigma^2 the paper's term
// is (mu^2 + sigma^2) / B in expectation, and this one mu^2 + sigma^2 / B. Both are equal where
// noise dominates, which is the regime that the rule is for. Elsewhere this term is larger by mu^2
// (1 - 1/B), so that elements with a signal are sent later. At B = 1 both are the same. The sum of
// t gradients has r^2 <= t (sum of g^2): at zeta = 1 an element waits for more than alpha steps,
// and at alpha >= 1 the first step sends nothing, whereas the paper's rule can.
//
// r is the residual, so the method needs error feedback. v is fp32, and the comparison is in double
// precision: squares below fp32's range count as 0 and squares above it are capped, so that such
// elements are sent early. There are two passes in index order; the second reads 12 bytes and
// writes 8 per element.
#include <algorithm>
#include <cassert>
#include <limits>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/cpu/vector.h"
#include "compress/exchange.h"
#include "compress/schemes/codec_scheme.h"

namespace legacy {
namespace {

constexpr const char* kVariance = "variance";
constexpr double kLeastAlpha = 1e-6;
constexpr double kLargestAlpha = 1000;
constexpr double kLargestSquare = std::numeric_limits<float>::max();

class Variance : public Sparsifier {
 public:
  Variance(double alpha, double zeta, bool reset)
      : parameter_{.name = "alpha",
                   .minimum = kLeastAlpha,
                   .maximum = kLargestAlpha,
                   .integer = false,
                   .fallback = alpha,
                   .help =
                       "factor by which the square of a residual exceeds its variance estimate "
                       "before it is sent",
                   .volume_falls = true},
        zeta_(zeta),
        reset_(reset) {}
  std::string_view Name() const override { return kVariance; }
  CodecId Id() const override { return CodecId::kVariance; }
  const ParameterSpec& Parameter() const override { return parameter_; }
  SparsifierTraits Traits() const override {
    return {.fixed_count = false, .takes_candidates = false};
  }
  WorkList ErrorWork(int64_t numel, std::span<const double> alphas) const override {
    WorkList work = Sparsifier::ErrorWork(numel, alphas);
    for (size_t i = 0; i < alphas.size(); ++i) AddWork(Work{"copy", numel}, work);
    return work;
  }
  // Selects as in a first step: all elements that are not 0 if alpha < 1, otherwise none.
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override {
    std::vector<float> residual(values.begin(), values.end());
    CodecContext own = context;
    own.state = nullptr;
    return SelectWithFeedback({}, residual, count, own);
  }
  // Without a state, the sum is taken as a first step's gradient.
  Selection SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                               int64_t count, const CodecContext& context) const override;

 private:
  ParameterSpec parameter_;
  double zeta_;
  bool reset_;
};

Selection Variance::SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                       int64_t, const CodecContext& context) const {
  if (!gradient.empty()) cpu::Add(gradient, residual);
  CheckFinite(residual, context.unit);
  CodecState first;
  if (context.state == nullptr) gradient = residual;
  std::vector<float>& squares = (context.state == nullptr ? first : *context.state).squares;
  assert(gradient.size() == residual.size());
  squares.resize(residual.size());
  Selection selection;
  for (size_t i = 0; i < residual.size(); ++i) {
    const double r = residual[i], g = gradient[i];
    double v = double{squares[i]} + g * g;
    if (r * r > context.parameter * v) {
      selection.positions.push_back(static_cast<uint32_t>(i));
      selection.values.push_back(residual[i]);
      residual[i] = 0;
      if (reset_) v = 0;
    }
    squares[i] = static_cast<float>(std::min(v * zeta_, kLargestSquare));
  }
  return selection;
}

class VarianceScheme : public CodecScheme {
 public:
  using CodecScheme::CodecScheme;
  SchemeTraits Traits() const override {
    SchemeTraits traits = CodecScheme::Traits();
    traits.needs_error_feedback = true;
    return traits;
  }
};

std::unique_ptr<Scheme> MakeVariance(const OptionReader& own, std::span<const Stage> rest,
                                     const SchemeOptions& options) {
  if (!options.error_feedback) {
    throw Error("error feedback of scheme variance", "off",
                "on; the residual decides what is sent");
  }
  if (rest.size() > 1) throw Error("scheme variance: at most one stage may follow, a quantiser");
  auto sparsifier = std::make_unique<Variance>(own.Number("alpha", kLeastAlpha, kLargestAlpha),
                                               own.Number("zeta", 0, 1), own.Switch("reset"));
  auto codec = std::make_unique<SparseCodec>(
      std::move(sparsifier), MakeQuantiser(rest.empty() ? Stage{"fp32"} : rest.front()),
      ParseIndexCoding(own.Text("index")));
  return std::make_unique<VarianceScheme>(std::move(codec), CodecSchemeOptions{});
}

}  // namespace

SchemeRow VarianceRow() {
  return {{.name = kVariance,
           .help = "sends the residuals whose squares exceed their variance estimate, from squares "
                   "of the worker's gradients",
           .paper = "Tsuzuku, Imachi, Akiba, Variance-based Gradient Compression for Efficient "
                    "Distributed Deep Learning, ICLR 2018 workshop",
           .options =
               {{"alpha", "1.5", "1e-6 to 1000",
                 "factor by which the square of a residual exceeds its variance estimate before it "
                 "is sent, where no policy chooses it"},
                {"zeta", "0.999", "0 to 1", "decay factor of the variance estimate per step"},
                {"reset", "on", "on, off",
                 "set the variance estimate to 0 at the positions that were sent"},
                IndexOption()}},
          "all-gather",
          MakeVariance};
}

}  // namespace legacy
