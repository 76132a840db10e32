#include "compress/schemes/sparse/ar_topk.h"

#include <array>

#include "base/error.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/schemes/sparse/ar_topk_exchange.h"
#include "compress/schemes/sparse/ar_topk_step.h"

namespace legacy {
namespace {

using Mode = ArTopKOptions::Mode;

constexpr std::array<std::string_view, 3> kModes = {"auto", "gather", "reduce"};
constexpr std::array<std::string_view, 2> kRoots = {"turn", "variance"};
constexpr const char* kPaper =
    "Tyagi and Swany, Flexible communication for optimal distributed learning over unpredictable "
    "networks, IEEE BigData 2023";

const std::vector<OptionSpec>& SharedOptions() {
  static const std::vector<OptionSpec> options = {
      IndexOption(),
      {"root", "turn", "turn, variance",
       "worker that broadcasts positions: each in turn, or the one whose gradient varies most"}};
  return options;
}

std::unique_ptr<Scheme> Make(const char* name, const OptionReader& own, Mode mode,
                             std::span<const Stage> rest, const SchemeOptions& options) {
  if (!rest.empty()) throw Error(std::string("scheme ") + name + ": it takes no second stage");
  const std::vector<Stage> topk = {{"topk", {{"index", own.Text("index")}}}};
  return std::make_unique<ArTopKScheme>(
      ArTopKOptions{.name = name,
                    .mode = mode,
                    .root_by_variance = own.Choice("root", kRoots) == 1,
                    .index = ParseIndexCoding(own.Text("index")),
                    .topk = MakeCodec(topk),
                    .error_feedback = options.error_feedback,
                    .residual_decay = options.residual_decay});
}

}  // namespace

const ParameterSpec& ArTopKScheme::Parameter() const { return DensityParameter(); }

int64_t ArTopKScheme::ElementsSent(const Unit& unit, double density) const {
  return KeptCount(unit.numel, density);
}

// Returns the errors for the root's own gradient. At other workers the root's positions are as good
// as their gradients are similar to the root's.
std::vector<double> ArTopKScheme::SquaredErrors(const Unit& unit, std::span<const float> values,
                                                std::span<const double> parameters,
                                                const RandomKey& random) const {
  return options_.topk->SquaredErrors(values, parameters,
                                      {.unit = unit.id, .parameter = 0, .random = random});
}

WorkList ArTopKScheme::ErrorWork(const Unit& unit, std::span<const double> parameters) const {
  return options_.topk->ErrorWork(unit.numel, parameters);
}

std::optional<int64_t> ArTopKScheme::MessageBytes(const Unit& unit, double density) const {
  if (options_.mode == Mode::kAuto) return std::nullopt;
  if (options_.mode == Mode::kGather) return options_.topk->MessageBytes(unit, density);
  const ArTopKStep step{.options = options_, .unit = unit, .density = density};
  if (step.Coding() == IndexCoding::kDelta) return std::nullopt;
  int64_t bytes = 0;
  for (const PlannedCall& planned : step.Reduced()) bytes += planned.bytes;
  return bytes;
}

std::optional<std::vector<PlannedCall>> ArTopKScheme::ExpectedCalls(
    const Unit& unit, double density, int active_workers, const LinkEstimate& link) const {
  CheckParameter(DensityParameter(), density);
  const ArTopKStep step{options_, unit, density, active_workers};
  return step.Gathers(link) ? step.Gathered() : step.Reduced();
}

std::unique_ptr<Exchange> ArTopKScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<ArTopKExchange>(options_, unit, workers);
}

SchemeRow ArTopKRow() {
  return {
      {.name = "ar-topk",
       .help =
           "broadcasts one worker's Top-K positions and all-reduces all workers' values at them",
       .paper = kPaper,
       .options = SharedOptions()},
      "broadcast, all-reduce",
      [](const OptionReader& own, std::span<const Stage> rest, const SchemeOptions& options) {
        return Make("ar-topk", own, Mode::kReduce, rest, options);
      }};
}

SchemeRow FlexibleTopKRow() {
  std::vector<OptionSpec> options = SharedOptions();
  options.push_back(
      {"mode", "auto", "auto, gather, reduce",
       "collective: all-gather of Top-K, AR-Topk, or the one that is faster on the network"});
  return {{.name = "flexible-topk",
           .help = "all-gathers Top-K, or uses AR-Topk where that is faster on the network",
           .paper = kPaper,
           .options = std::move(options)},
          "all-gather, or broadcast and all-reduce",
          [](const OptionReader& own, std::span<const Stage> rest, const SchemeOptions& options) {
            const auto mode = static_cast<Mode>(own.Choice("mode", kModes));
            return Make("flexible-topk", own, mode, rest, options);
          }};
}

}  // namespace legacy
