#include "scenarios/study/grid_axis.h"

#include <algorithm>
#include <set>

#include "analysis/study/columns.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "scenarios/options/scenario_yaml.h"
#include "scenarios/study/quantity.h"

namespace legacy {
namespace {

constexpr std::string_view kPlaceholder = "{}";

std::string Filled(std::string text, const std::string& value) {
  for (size_t at = 0; (at = text.find(kPlaceholder, at)) != std::string::npos; at += value.size()) {
    text.replace(at, kPlaceholder.size(), value);
  }
  return text;
}

void CheckSettings(const Scenario& base, const OptionTexts& settings) {
  Scenario scratch = base;
  for (const auto& [key, text] : settings) SetOption(scratch, key, text);
}

// Fields has the fields of an axis that is written as a map.
class Fields {
 public:
  Fields(const YAML::Node& node, const std::string& where) {
    const std::vector<std::string> known = {"values", "from", "to",   "points",
                                            "step",   "set",  "cases"};
    ReadMap(node, "axis", where, [&](const std::string& key, const YAML::Node& value) {
      if (std::ranges::find(known, key) == known.end()) {
        throw Error::Refusal(UnknownText("key", key, known));
      }
      names_.insert(key);
      nodes_.emplace_back(key, value);
    });
  }

  // Returns true if exactly these fields are given; `set` may be given in addition.
  bool Are(std::set<std::string> names) const {
    std::set<std::string> have = names_;
    have.erase("set");
    return have == names;
  }
  bool Has(const std::string& name) const { return names_.count(name) > 0; }
  const YAML::Node& operator[](const std::string& name) const {
    return std::ranges::find(nodes_, name, &Entry::first)->second;
  }
  std::string Text(const std::string& name) const { return ScalarText((*this)[name], name); }

 private:
  using Entry = std::pair<std::string, YAML::Node>;
  std::set<std::string> names_;
  std::vector<Entry> nodes_;
};

OptionTexts ReadPattern(const Scenario& base, const YAML::Node& node, const std::string& where) {
  OptionTexts pattern;
  bool placed = false;
  ReadMap(node, "set", where, [&](const std::string& name, const YAML::Node& value) {
    const std::string text = ScalarText(value, name);
    placed = placed || text.find(kPlaceholder) != std::string::npos;
    const std::string& key = OptionOfAxis(base, name).key;
    if (!pattern.emplace(key, text).second) throw Error::Refusal("set: " + key + " is given twice");
  });
  if (!placed)
    throw Error::Refusal("set: no option takes the value: expected {option: \"text with {}\"}");
  return pattern;
}

// Returns the kind of the option that takes the value unchanged.
OptionKind KindOf(const Scenario& base, const OptionTexts& pattern) {
  for (const auto& [key, text] : pattern) {
    if (text == kPlaceholder) return FindOption(OptionsOf(base), key)->kind;
  }
  return OptionKind::kText;
}

void AddValues(DraftAxis& axis, const YAML::Node& list, const std::string& where) {
  if (!list.IsSequence()) throw Error::Refusal("values: expected a list");
  for (const YAML::Node& item : list) {
    try {
      axis.Add(ScalarText(item, "values"), MarkText(where, item.Mark()), false);
    } catch (const Error& error) {
      throw error.Within(MarkText(where, item.Mark()) + "axis " + axis.grid.axis.name + ": ");
    }
  }
}

void AddCases(DraftAxis& axis, const YAML::Node& cases, const std::string& where) {
  ReadMap(cases, "cases", where, [&](const std::string& name, const YAML::Node& options) {
    OptionTexts settings;
    Places places = {{"", MarkText(where, options.Mark())}};
    ReadMap(options, name, where, [&](const std::string& option, const YAML::Node& value) {
      const std::string& key = OptionOfAxis(*axis.base, option).key;
      if (!settings.emplace(key, ScalarText(value, option)).second) {
        throw Error::Refusal(key + ": is given twice");
      }
      CheckSettings(*axis.base, {{key, settings[key]}});
      places[key] = MarkText(where, value.Mark());
    });
    axis.grid.axis.values.push_back(name);
    axis.grid.settings.push_back(std::move(settings));
    axis.own.push_back(true);
    axis.grid.places.push_back(std::move(places));
  });
}

std::vector<std::string> Steps(const Fields& fields, OptionKind kind) {
  if (kind == OptionKind::kText) {
    throw Error::Refusal("from, to: values without numbers; expected a list of values");
  }
  if (fields.Are({"from", "to", "points"})) {
    const int64_t points = ParseInteger(fields.Text("points"), "points", 2, INT32_MAX);
    return LogSteps(kind, fields.Text("from"), fields.Text("to"), points);
  }
  return LinearSteps(kind, fields.Text("from"), fields.Text("to"), fields.Text("step"));
}

// Turns names into numbers if all of them are numbers.
void FindNumbers(DraftAxis& axis) {
  analysis::StudyAxis& names = axis.grid.axis;
  std::vector<double> numbers;
  for (const std::string& value : names.values) {
    const std::optional<double> number = QuantityOf(OptionKind::kNumber, value);
    if (!number) return;
    numbers.push_back(*number);
  }
  axis.kind = OptionKind::kNumber;
  names.numbers = std::move(numbers);
}

void TakeOption(DraftAxis& axis, const std::string& key) {
  const ScenarioOption& option = OptionOfAxis(*axis.base, key);
  axis.pattern[option.key] = kPlaceholder;
  axis.kind = option.kind;
}

// Reads an axis that is written as a map. Values that do not belong to an option are names, unless
// all of them are numbers.
void ReadForm(DraftAxis& axis, const std::string& key, const YAML::Node& node,
              const std::string& where) {
  const Fields fields(node, where);
  if (fields.Has("set")) {
    axis.pattern = ReadPattern(*axis.base, fields["set"], where);
    axis.kind = KindOf(*axis.base, axis.pattern);
  } else if (!fields.Has("cases")) {
    TakeOption(axis, key);
  }
  const bool own_names =
      axis.kind == OptionKind::kText && (fields.Has("set") || fields.Has("cases"));
  if (fields.Are({"values"})) {
    AddValues(axis, fields["values"], where);
  } else if (fields.Are({"from", "to", "points"}) || fields.Are({"from", "to", "step"})) {
    for (const std::string& text : Steps(fields, own_names ? OptionKind::kNumber : axis.kind)) {
      axis.Add(text, MarkText(where, node.Mark()), false);
    }
  } else if (fields.Are({"cases"}) && !fields.Has("set")) {
    AddCases(axis, fields["cases"], where);
  } else {
    throw Error::Refusal(
        key + ": expected values, or from, to and points, or from, to and step, or cases");
  }
  if (own_names) FindNumbers(axis);
}

}  // namespace

const ScenarioOption& OptionOfAxis(const Scenario& base, const std::string& name) {
  const ScenarioOption* const option = &OptionNamed(OptionsOf(base), name, OptionNames::kBoth);
  if (option->key == "compression.policies" || option->key.rfind("run.seed", 0) == 0) {
    throw Error::Refusal(name + ": no axis of its own: grid takes policies: [...] and seeds: N");
  }
  if (option->Has(kLeavesResults))
    throw Error::Refusal(name + ": the results of a point do not depend on it");
  return *option;
}

std::string AxisName(const Scenario& base, const std::string& key) {
  const ScenarioOption* option = FindOption(OptionsOf(base), key);
  const std::string name = Underscored(option == nullptr ? key : option->Name());
  if (!analysis::IsAxisName(name)) {
    throw Error("axis", key, "small letters, digits, _ and -, the first a letter");
  }
  std::vector<std::string> taken = {"seeds"};
  for (const analysis::Column& column : analysis::PointColumns({})) taken.push_back(column.name);
  if (std::ranges::find(taken, name) != taken.end()) {
    throw Error("axis", key,
                "a name that is no other column of the results (" + Join(taken, ", ") +
                    "), as in NAME: {values: [...], set: {OPTION: \"{}\"}}");
  }
  return name;
}

std::optional<size_t> DraftAxis::Find(const std::string& text) const {
  const auto& values = grid.axis.values;
  const auto found = std::ranges::find(values, text);
  if (found != values.end()) return found - values.begin();
  const std::optional<double> number = QuantityOf(kind, text);
  if (!number) return std::nullopt;
  const auto equal = std::ranges::find(grid.axis.numbers, *number);
  if (equal == grid.axis.numbers.end()) return std::nullopt;
  return equal - grid.axis.numbers.begin();
}

void DraftAxis::Add(const std::string& text, const std::string& place, bool included) {
  if (pattern.empty()) throw Error("case", text, Join(grid.axis.values, ", "));
  if (text.empty()) throw Error::Refusal("expected a value");
  if (const auto same = Find(text)) {
    throw Error::Refusal(
        text + ": is given twice" +
        (grid.axis.values[*same] == text ? "" : ", as " + grid.axis.values[*same]));
  }
  OptionTexts settings;
  for (const auto& [key, part] : pattern) settings[key] = Filled(part, text);
  CheckSettings(*base, settings);
  auto at = std::ssize(grid.axis.values);
  if (kind != OptionKind::kText) {
    const std::optional<double> number = QuantityOf(kind, text);
    if (!number) throw Error("value", text, "a number, as the others are");
    std::vector<double>& numbers = grid.axis.numbers;
    if (included && std::ranges::is_sorted(numbers)) {
      at = std::ranges::upper_bound(numbers, *number) - numbers.begin();
    }
    numbers.insert(numbers.begin() + at, *number);
  }
  grid.axis.values.insert(grid.axis.values.begin() + at, text);
  grid.settings.insert(grid.settings.begin() + at, std::move(settings));
  own.insert(own.begin() + at, !included);
  grid.places.insert(grid.places.begin() + at, {{"", place}});
}

DraftAxis ReadAxis(const Scenario& base, const std::string& key, const YAML::Node& node,
                   const std::string& where) {
  DraftAxis axis;
  axis.base = &base;
  axis.grid.axis.name = AxisName(base, key);
  if (node.IsMap()) {
    ReadForm(axis, key, node, where);
  } else if (node.IsSequence()) {
    TakeOption(axis, key);
    AddValues(axis, node, where);
  } else {
    throw Error::Refusal(key +
                         ": expected a list of values, {from, to, points}, {from, to, step}, " +
                         "{values, set} or {cases}");
  }
  if (axis.grid.axis.values.empty()) throw Error::Refusal(key + ": expected at least one value");
  axis.grid.axis.unit = UnitOf(axis.kind);
  const auto percent = [](const std::string& value) { return value.ends_with('%'); };
  if (axis.kind == OptionKind::kTarget && std::ranges::all_of(axis.grid.axis.values, percent)) {
    axis.grid.axis.unit = UnitOf(OptionKind::kFraction);
  }
  return axis;
}

}  // namespace legacy
