// A grid axis is one axis of a study's grid while its definition is read: its values as texts, as
// numbers, and as settings of options.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <vector>

#include "scenarios/study/grid.h"

namespace legacy {

// Returns the option of `base` of that flag (without dashes) or key. Throws Error with the nearest
// name where there is none, and on options that an axis may not set.
const ScenarioOption& OptionOfAxis(const Scenario& base, const std::string& name);

// Returns the name of the axis in the database: an option's flag, else `key` itself, with _ for -.
// Throws Error where it cannot be the name of a column.
std::string AxisName(const Scenario& base, const std::string& key);

// A DraftAxis is an axis that is being read.
struct DraftAxis {
  GridAxis grid;
  const Scenario* base = nullptr;       // scenario of the study, which outlives the axis
  OptionKind kind = OptionKind::kText;  // kind of its numbers; kText: it has no numbers
  OptionTexts pattern;                  // options and texts with {}; empty: the axis has cases
  // For each value, true where it is the grid's own and false where `include` added it.
  std::vector<bool> own;

  // Returns the position of the value with that text or number.
  std::optional<size_t> Find(const std::string& text) const;
  // Adds a new value, which its options must accept, and which is at `place` in the file. An
  // included value goes where numbers ascend; all others go to the end. Throws Error.
  void Add(const std::string& text, const std::string& place, bool included);
};

// Reads an axis of a study of `base`: a list, {cases: ...}, or one of {values: ...}, {from, to,
// points} and {from, to, step}, each with or without {set}. Throws Error; its mark is that of the
// wrong value where there is one, else the caller adds it.
DraftAxis ReadAxis(const Scenario& base, const std::string& key, const YAML::Node& node,
                   const std::string& where);

}  // namespace legacy
