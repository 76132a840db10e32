// One axis of a study's grid while its definition is read: its values as texts, as numbers, and as
// settings of options.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <vector>

#include "scenarios/study/grid.h"

namespace legacy {

// "unknown axis 'worker'; did you mean workers?; allowed: workers, delay"
std::string UnknownText(const std::string& what, const std::string& name,
                        const std::vector<std::string>& allowed);

// The option of that flag (without dashes) or key; nullptr where there is none.
const ScenarioOption* FindOption(const std::string& name);
// The same. Throws Error with the nearest, and on options that are not an axis' to set.
const ScenarioOption& OptionOfAxis(const std::string& name);

// The name of the axis in the database: of an option its flag's, else `key` itself, with _ for -.
// Throws Error where it can be no column.
std::string AxisName(const std::string& key);

struct DraftAxis {
  GridAxis grid;
  OptionKind kind = OptionKind::kText;  // of its numbers; kText: it has none
  Settings pattern;                     // options and texts with {}; empty: the axis has cases
  std::vector<bool> own;                // of each value: the grid's, not brought by `include`
  std::vector<YAML::Mark> marks;        // of each value

  // Where a value stands, by its text or by its number.
  std::optional<size_t> Find(const std::string& text) const;
  // A new value, which its options must take: behind the others, or between them where it is
  // included into ascending numbers. Throws Error.
  void Add(const std::string& text, const YAML::Mark& mark, bool included);
};

// {values | from, to, points | from, to, step [, set]}, {cases} or a list. Throws Error; the mark
// is that of the value in question where there is one, else left to the caller.
DraftAxis ReadAxis(const std::string& key, const YAML::Node& node, const std::string& where);

}  // namespace legacy
