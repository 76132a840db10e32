#include "compress/policies/parameter_grid.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/error.h"
#include "compress/policies/parameter_scale.h"

namespace legacy {
namespace {

constexpr double kMinBits = 2;
constexpr double kMaxBits = 8;
// Above this fraction, positions make a message longer than a dense one.
constexpr double kLargestFraction = 0.5;
constexpr double kBytesPerValue = 4;

bool IsFraction(const ParameterSpec& spec) {
  return spec.Kind() == ParameterKind::kDensity || spec.Kind() == ParameterKind::kTheta;
}

[[noreturn]] void Refuse(const Scheme& scheme, const std::string& allowed) {
  const std::string& name = scheme.Parameter().name;
  throw Error("policy with scheme " + std::string(scheme.Name()),
              name.empty() ? "no parameter" : "parameter " + name, "schemes with " + allowed);
}

std::vector<double> Fractions(const ParameterSpec& spec, const Unit& unit, double anchor,
                              const GridRange& range) {
  const double kept = Amount(spec, anchor);
  const double most = std::max(kLargestFraction, kept);
  const double least = std::min(most, 1 / static_cast<double>(std::max<int64_t>(unit.numel, 1)));
  const auto first = static_cast<int>(std::ceil(2 * std::log2(range.low)));
  const auto last = static_cast<int>(std::floor(2 * std::log2(range.high)));
  std::vector<double> parameters;
  for (int j = first; j <= last; ++j) {
    const double fraction = std::clamp(kept * std::exp2(0.5 * j), least, most);
    parameters.push_back(j == 0 ? anchor : FromAmount(spec, fraction));
  }
  return parameters;
}

std::vector<double> WholeNumbers(const ParameterSpec& spec, double first, double last) {
  std::vector<double> parameters;
  first = std::max(first, spec.minimum);
  last = std::min(last, spec.maximum);
  for (double x = first; x <= last; ++x) parameters.push_back(x);
  return parameters;
}

// Returns true if an exchange accepts the parameter. Exchanges refuse numbers of bits with which
// error feedback may diverge.
bool CanBegin(const Scheme& scheme, const Unit& unit, double parameter) {
  try {
    scheme.Open(unit, 1)->Begin({.parameter = parameter});
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<double> Bits(const Scheme& scheme, std::span<const Unit> units, double anchor) {
  auto bits =
      WholeNumbers(scheme.Parameter(), std::min(kMinBits, anchor), std::max(kMaxBits, anchor));
  const auto unit = std::ranges::find_if(
      units, [&](const Unit& unit) { return scheme.Compresses(unit, anchor); });
  if (unit == units.end()) return bits;
  std::erase_if(bits, [&](double x) { return x != anchor && !CanBegin(scheme, *unit, x); });
  return bits;
}

std::vector<double> RanksAround(const ParameterSpec& spec, double anchor, const GridRange& range) {
  return WholeNumbers(spec, std::max(1.0, std::floor(range.low * anchor)),
                      std::ceil(range.high * anchor));
}

}  // namespace

ParameterGrid::ParameterGrid(const Scheme& scheme, std::span<const Unit> units, double anchor,
                             const GridRange& range)
    : scheme_(&scheme), units_(units.begin(), units.end()), anchor_(anchor) {
  const ParameterSpec& spec = scheme.Parameter();
  if (!IsFraction(spec) && spec.Kind() != ParameterKind::kRank &&
      spec.Kind() != ParameterKind::kBits) {
    Refuse(scheme, "the parameter density, theta, rank or bits");
  }
  CheckParameter(spec, anchor);
  assert(range.low > 0 && range.low <= 1 && range.high >= 1);
  std::vector<double> same;  // the same options for all units
  if (spec.Kind() == ParameterKind::kBits) same = Bits(scheme, units, anchor);
  if (spec.Kind() == ParameterKind::kRank) same = RanksAround(spec, anchor, range);
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    Add(unit, IsFraction(spec) ? Fractions(spec, units_[unit], anchor, range) : same);
  }
}

ParameterGrid::ParameterGrid(const Scheme& scheme, std::span<const Unit> units, double anchor,
                             const std::vector<double>& parameters)
    : scheme_(&scheme), units_(units.begin(), units.end()), anchor_(anchor) {
  if (scheme.Parameter().Kind() == ParameterKind::kNone) Refuse(scheme, "a parameter");
  CheckParameter(scheme.Parameter(), anchor);
  for (const double parameter : parameters) CheckParameter(scheme.Parameter(), parameter);
  for (size_t unit = 0; unit < units_.size(); ++unit) Add(unit, parameters);
}

void ParameterGrid::Add(size_t unit, std::vector<double> parameters) {
  compressed_.push_back(scheme_->Compresses(units_[unit], anchor_));
  if (!compressed_.back()) std::ranges::fill(parameters, anchor_);
  options_ = parameters.size();
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
}

Choices ParameterGrid::Nearest(double factor) const {
  const ParameterSpec& spec = scheme_->Parameter();
  const double wanted = Amount(spec, ScaleParameter(spec, anchor_, factor));
  Choices choices(Units());
  for (size_t unit = 0; unit < Units(); ++unit) {
    double nearest = std::abs(Amount(spec, Parameter(unit, 0)) - wanted);
    for (size_t option = 1; option < options_; ++option) {
      const double distance = std::abs(Amount(spec, Parameter(unit, option)) - wanted);
      if (distance >= nearest) continue;
      nearest = distance;
      choices[unit] = static_cast<uint8_t>(option);
    }
  }
  return choices;
}

ChoiceTable ParameterGrid::Bytes() const {
  ChoiceTable table(Units(), options_);
  for (size_t unit = 0; unit < Units(); ++unit) {
    for (size_t option = 0; option < options_; ++option) {
      const double parameter = Parameter(unit, option);
      const auto bytes = scheme_->MessageBytes(units_[unit], parameter);
      const auto values = static_cast<double>(scheme_->ElementsSent(units_[unit], parameter));
      table.At(unit, option) = bytes ? static_cast<double>(*bytes) : kBytesPerValue * values;
    }
  }
  return table;
}

WorkList ParameterGrid::ErrorWork() const {
  WorkList work;
  for (size_t unit = 0; unit < Units(); ++unit) {
    if (!compressed_[unit]) continue;
    JoinWork(scheme_->ErrorWork(units_[unit], std::span(&parameters_[unit * options_], options_)),
             work);
  }
  return work;
}

ChoiceTable ParameterGrid::Work() const {
  ChoiceTable table(Units(), options_);
  if (scheme_->Parameter().Kind() != ParameterKind::kRank) return table;
  for (size_t unit = 0; unit < Units(); ++unit) {
    for (size_t option = 0; option < options_; ++option) {
      const double rank = Parameter(unit, option);
      if (!scheme_->Compresses(units_[unit], rank)) continue;
      table.At(unit, option) = rank * static_cast<double>(units_[unit].numel);
    }
  }
  return table;
}

ChoiceTable ParameterGrid::SquaredErrors(std::span<const float> values,
                                         const RandomKey& random) const {
  ChoiceTable table(Units(), options_);
  for (size_t unit = 0; unit < Units(); ++unit) {
    if (!compressed_[unit]) continue;
    const Unit& shape = units_[unit];
    RandomKey key = random;
    key.layer = shape.id;
    const std::span parameters(&parameters_[unit * options_], options_);
    const auto errors =
        scheme_->SquaredErrors(shape, values.subspan(shape.offset, shape.numel), parameters, key);
    assert(errors.size() == options_);
    for (size_t option = 0; option < options_; ++option) {
      const bool whole = !scheme_->Compresses(shape, parameters[option]);
      table.At(unit, option) = whole ? 0 : errors[option];
    }
  }
  return table;
}

}  // namespace legacy
