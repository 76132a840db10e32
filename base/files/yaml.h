// YAML of users is read such that every mistake is reported with file, line and column.
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <string>

namespace legacy {

// Returns "file:line:column: ".
std::string MarkText(const std::string& where, const YAML::Mark& mark);

// Returns the document. Throws Error "where:line:column: ..." on text that is not YAML.
YAML::Node ParseYaml(const std::string& text, const std::string& where);

// Returns a scalar, or a list of scalars joined by commas. Throws Error naming `key` on anything
// else.
std::string ScalarText(const YAML::Node& node, const std::string& key);

// Calls `each` for every key of `map` (none of null), in order. What it throws gains `where`, line
// and column, unless it has them. A key that is given twice is an error.
void ReadMap(const YAML::Node& map, const std::string& name, const std::string& where,
             const std::function<void(const std::string& key, const YAML::Node& value)>& each);

}  // namespace legacy
