#include "compress/schemes/matrices/powersgd.h"

#include <algorithm>

#include "base/error.h"
#include "compress/codec.h"
#include "compress/exchange.h"
#include "compress/kernel_costs.h"
#include "compress/schemes/matrices/powersgd_exchange.h"

namespace legacy {
namespace {

constexpr double kLargestRate = 1e6;

}  // namespace

WorkList ProductWork(const Work& products, int64_t numel, int64_t count) {
  const auto hidden =
      static_cast<int64_t>(kMultiplyAddBytes * static_cast<double>(products.elements));
  return {products, Moved(4 * numel * count - hidden)};
}

MatrixShape MatrixOf(const Unit& unit) {
  if (unit.shape.size() < 2 || unit.shape.front() == 0) return {1, unit.numel};
  return {unit.shape.front(), unit.numel / unit.shape.front()};
}

const ParameterSpec& PowerSgdScheme::Parameter() const {
  static const ParameterSpec spec{.name = "rank",
                                  .minimum = 1,
                                  .maximum = kLargestRank,
                                  .integer = true,
                                  .fallback = 4,
                                  .help = "rank of the two factors of a unit's matrix"};
  return spec;
}

bool PowerSgdScheme::Compresses(const Unit& unit, double rank) const {
  if (unit.shape.size() < 2 || unit.numel == 0) return false;
  if (options_.min_rate == 0) return true;
  const MatrixShape shape = MatrixOf(unit);
  const auto sides = static_cast<double>(shape.rows + shape.columns);
  return rank * sides * options_.min_rate < static_cast<double>(unit.numel);
}

int64_t PowerSgdScheme::Vectors(const Unit& unit, double rank) const {
  if (!Compresses(unit, rank)) return 0;
  const MatrixShape shape = MatrixOf(unit);
  return std::min({static_cast<int64_t>(rank), shape.rows, shape.columns});
}

int64_t PowerSgdScheme::ElementsSent(const Unit& unit, double rank) const {
  if (!Compresses(unit, rank)) return unit.numel;
  const MatrixShape shape = MatrixOf(unit);
  return Vectors(unit, rank) * (shape.rows + shape.columns);
}

std::vector<CollectiveCall> PowerSgdScheme::Calls(const Unit& unit, double rank) const {
  CollectiveCall call;
  call.reduction = Reduction::kSum;
  call.collective = Collective::kAllReduce;
  const int64_t vectors = Vectors(unit, rank);
  const MatrixShape shape = MatrixOf(unit);
  const Work fed = {KeepsResidual(unit) ? "accumulate" : "copy", unit.numel};
  const WorkList before =
      MemoryOf(unit).Decays() ? WorkList{{"copy", unit.numel}, fed} : WorkList{fed};
  if (vectors == 0) {
    call.encode = before;
    call.decode = {{"copy", unit.numel}};
    return {call};
  }
  // Products of matrices of one shape share one call.
  const WorkList multiply = ProductWork({.kernel = "powersgd.multiply",
                                         .elements = unit.numel * vectors,
                                         .alike = AlikeKey({shape.rows, shape.columns, vectors})},
                                        unit.numel, 1);
  CollectiveCall left = call, right = call;
  left.encode = before;
  AddWork(multiply, left.encode);
  left.decode = {{"orthonormalise", shape.rows * vectors * vectors}};
  right.encode = multiply;
  right.decode = ProductWork({"powersgd.outer", unit.numel * vectors}, unit.numel, 1);
  right.decode.push_back({"powersgd.lengths", shape.columns * vectors});
  if (KeepsResidual(unit)) right.decode.push_back({"feedback", unit.numel});
  return {left, right};
}

// Returns the work of RankErrors: products and bases of all vectors that it draws, and products of
// those with each other.
WorkList PowerSgdScheme::ErrorWork(const Unit& unit, std::span<const double> ranks) const {
  std::vector<int64_t> asked;
  for (const double rank : ranks) {
    if (Compresses(unit, rank)) asked.push_back(static_cast<int64_t>(rank));
  }
  const MatrixShape shape = MatrixOf(unit);
  const int64_t count = RankErrorVectors(shape, asked);
  if (count == 0) return {};
  constexpr int64_t kRounds = kRankErrorRounds + 1;
  WorkList work = ProductWork({.kernel = "powersgd.multiply",
                               .elements = 2 * kRounds * unit.numel * count,
                               .launches = 2 * kRounds,
                               .sets = 2 * kRounds,
                               .alike = AlikeKey({shape.rows, shape.columns, count})},
                              unit.numel, 2 * kRounds);
  AddWork({{"norm", unit.numel},
           {.kernel = "orthonormalise",
            .elements = (kRounds * shape.rows + kRankErrorRounds * shape.columns) * count * count,
            .launches = kRounds + kRankErrorRounds,
            .sets = kRounds + kRankErrorRounds},
           {.kernel = "powersgd.multiply",
            .elements = shape.columns * count * (count + 1) / 2,
            .alike = AlikeKey({shape.columns, count})}},
          work);
  return work;
}

std::optional<int64_t> PowerSgdScheme::MessageBytes(const Unit& unit, double rank) const {
  const int64_t headers = Compresses(unit, rank) ? 2 * kHeaderBytes : kHeaderBytes;
  return headers + int64_t{sizeof(float)} * ElementsSent(unit, rank);
}

std::optional<std::vector<PlannedCall>> PowerSgdScheme::Plan(const Unit& unit, double rank,
                                                             int) const {
  CheckParameter(Parameter(), rank);
  const int64_t vectors = Vectors(unit, rank);
  const auto bytes = [](int64_t values) { return kHeaderBytes + int64_t{sizeof(float)} * values; };
  const std::vector<CollectiveCall> calls = Calls(unit, rank);
  if (vectors == 0) return std::vector<PlannedCall>{{calls.front(), bytes(unit.numel)}};
  const MatrixShape shape = MatrixOf(unit);
  return std::vector<PlannedCall>{{calls.front(), bytes(vectors * shape.rows)},
                                  {calls.back(), bytes(vectors * shape.columns)}};
}

std::vector<double> PowerSgdScheme::SquaredErrors(const Unit& unit, std::span<const float> values,
                                                  std::span<const double> ranks,
                                                  const RandomKey& random) const {
  std::vector<double> errors(ranks.size());
  std::vector<size_t> places;
  std::vector<int64_t> asked;
  for (size_t i = 0; i < ranks.size(); ++i) {
    CheckParameter(Parameter(), ranks[i]);
    if (!Compresses(unit, ranks[i])) continue;
    places.push_back(i);
    asked.push_back(static_cast<int64_t>(ranks[i]));
  }
  const std::vector<double> found = RankErrors(values, MatrixOf(unit), asked, random);
  for (size_t i = 0; i < places.size(); ++i) errors[places[i]] = found[i];
  return errors;
}

Header FactorHeader(const Unit& unit, CodecId factor, int64_t values) {
  return {.codec = static_cast<uint8_t>(factor),
          .unit = unit.id,
          .numel = static_cast<uint32_t>(unit.numel),
          .count = static_cast<uint32_t>(values)};
}

std::unique_ptr<Exchange> PowerSgdScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<PowerSgdExchange>(*this, options_, unit, workers);
}

SchemeRow PowerSgdRow() {
  return {
      {.name = "powersgd",
       .help = "sends two low-rank factors of each matrix, from one warm-started power iteration",
       .paper = "Vogels et al., PowerSGD: Practical Low-Rank Gradient Compression for "
                "Distributed Optimization, NeurIPS 2019",
       .options =
           {{"min_rate", "2", "0 to 1000000",
             "least compression ratio; matrices with a lower one are sent whole; 0: none are"},
            {"warm_start", "on", "on, off",
             "start the power iteration from the last step's factor"}}},
      "2 all-reduces",
      [](const OptionReader& own, std::span<const Stage> rest,
         const SchemeOptions& options) -> std::unique_ptr<Scheme> {
        if (!rest.empty()) throw Error("scheme powersgd: it takes no second stage");
        return std::make_unique<PowerSgdScheme>(
            PowerSgdOptions{.min_rate = own.Number("min_rate", 0, kLargestRate),
                            .warm_start = own.Switch("warm_start"),
                            .error_feedback = options.error_feedback,
                            .residual_decay = options.residual_decay});
      }};
}

}  // namespace legacy
