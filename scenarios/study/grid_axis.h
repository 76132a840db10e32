// A grid axis is one axis of a study's grid while its definition is read: its values as texts, as
// numbers, and as settings of options.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <vector>

#include "scenarios/study/grid.h"

namespace legacy {

// Returns "unknown axis 'worker'; did you mean workers?; allowed: workers, delay".
std::string UnknownText(const std::string& what, const std::string& name,
                        const std::vector<std::string>& allowed);

// Returns the option of that flag (without dashes) or key; nullptr where there is none.
const ScenarioOption* FindOption(const std::string& name);
// Does the same. Throws Error with the nearest, and on options that are not an axis' to set.
const ScenarioOption& OptionOfAxis(const std::string& name);

// Returns the name of the axis in the database: an option's flag, else `key` itself, with _ for -.
// Throws Error where it can be no column.
std::string AxisName(const std::string& key);

// A DraftAxis is an axis that is being read.
struct DraftAxis {
  GridAxis grid;
  OptionKind kind = OptionKind::kText;  // kind of its numbers; kText: it has none
  Settings pattern;                     // options and texts with {}; empty: the axis has cases
  std::vector<bool> own;          // for each value: it is the grid's, not brought by `include`
  std::vector<YAML::Mark> marks;  // location of each value

  // Returns the position of a value, by its text or by its number.
  std::optional<size_t> Find(const std::string& text) const;
  // Adds a new value, which its options must take: behind the others, or between them where it is
  // included into ascending numbers. Throws Error.
  void Add(const std::string& text, const YAML::Mark& mark, bool included);
};

// Reads {values
// from, to, points
// from, to, step [, set]}, {cases} or a list. Throws Error; its mark is that of the value in
// question where there is one, else it is left to the caller.
DraftAxis ReadAxis(const std::string& key, const YAML::Node& node, const std::string& where);

}  // namespace legacy
