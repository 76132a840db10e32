#include "scenarios/network/options/sweep.h"

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/parse.h"
#include "base/units.h"

namespace legacy {
namespace {

constexpr size_t kMostPoints = 100'000;
constexpr const char* kForms =
    "NAME=FROM..TO:xFACTOR, NAME=FROM..TO:+STEP or NAME=VALUE,VALUE,... such as bytes=1KB..1GB:x4";

// Returns the value in the option's base unit.
int64_t Parse(const Option<ExperimentOptions>& option, const std::string& text,
              const std::string& where) {
  switch (option.kind) {
    case OptionKind::kInteger:
      return ParseInteger(text, where, 0, INT64_MAX);
    case OptionKind::kBytes:
      return ParseBytes(text, where);
    case OptionKind::kTime:
      return ParseTime(text, where);
    case OptionKind::kRate:
      return ParseRate(text, where);
    default:
      throw Error(where, text, "a list, since " + option.flag + " is no size, time, rate or count");
  }
}

std::string Unit(OptionKind kind) {
  return kind == OptionKind::kTime ? "ns" : kind == OptionKind::kRate ? "bps" : "";
}

std::vector<std::string> Range(const Option<ExperimentOptions>& option, const std::string& text,
                               const std::string& where) {
  const size_t dots = text.find("..");
  const size_t colon = text.find(':', dots);
  const bool formed = colon != std::string::npos && colon + 2 < text.size() &&
                      (text[colon + 1] == 'x' || text[colon + 1] == '+');
  if (!formed) throw Error(where, text, kForms);
  const int64_t from = Parse(option, text.substr(0, dots), where);
  const int64_t to = Parse(option, text.substr(dots + 2, colon - dots - 2), where);
  const bool times = text[colon + 1] == 'x';
  const std::string by = text.substr(colon + 2);
  const double factor = times ? ParseNumber(by, where + ": factor", 1.001, 1e9) : 1;
  const int64_t plus = times ? 0 : Parse(option, by, where + ": step");
  if (from > to || (times && from < 1) || (!times && plus < 1)) {
    throw Error(where, text, "FROM <= TO, FROM > 0 for a factor, and a step above 0");
  }
  std::vector<std::string> values;
  int64_t value = from;
  for (int64_t i = 1; value <= to && values.size() <= kMostPoints; ++i) {
    values.push_back(std::to_string(value) + Unit(option.kind));
    const double next = static_cast<double>(from) * std::pow(factor, static_cast<double>(i));
    if (times && next > 9e18) break;
    value = times ? std::max(value + 1, static_cast<int64_t>(std::llround(next))) : value + plus;
  }
  return values;
}

}  // namespace

Sweep ParseSweep(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw Error("--sweep", text, kForms);
  Sweep sweep;
  sweep.name = text.substr(0, equals);
  const Option<ExperimentOptions>& option =
      OptionNamed(ExperimentRows(), sweep.name, OptionNames::kFlags, "--sweep");
  sweep.name = option.Name();
  if (sweep.name == "fidelity") {
    throw Error("--sweep", text, "other options; --fidelity=A,B compares fidelities at each point");
  }
  const std::string values = text.substr(equals + 1);
  if (values.find("..") != std::string::npos && option.kind != OptionKind::kText) {
    sweep.values = Range(option, values, "--sweep=" + sweep.name);
  } else {
    sweep.values = SplitList(values, values.find(';') != std::string::npos ? ';' : ',');
  }
  if (sweep.values.empty()) throw Error("--sweep", text, kForms);
  return sweep;
}

std::vector<ExperimentOptions> Grid(const ExperimentOptions& base,
                                    const std::vector<Sweep>& sweeps) {
  std::vector<ExperimentOptions> points = {base};
  std::set<std::string> seen;
  for (const Sweep& sweep : sweeps) {
    if (!seen.insert(sweep.name).second) throw Error("--sweep", sweep.name, "each option once");
    if (points.size() * sweep.values.size() > kMostPoints) {
      throw Error::Refusal("--sweep: more than " + std::to_string(kMostPoints) + " points");
    }
    std::vector<ExperimentOptions> next;
    for (const ExperimentOptions& point : points) {
      for (const std::string& value : sweep.values) {
        next.push_back(point);
        SetOption(next.back(), sweep.name, value);
      }
    }
    points = std::move(next);
  }
  return points;
}

}  // namespace legacy
