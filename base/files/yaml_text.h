// Texts in YAML.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

namespace legacy {

// Returns the only document of a YAML text; null where it has none. Throws YAML::Exception as
// YAML::Load does, and on a second document, which YAML::Load would silently leave out.
YAML::Node LoadYaml(const std::string& text);

// Returns "PATH:LINE:COLUMN", or "PATH:1" for a mark without a place, such as that of an empty
// file.
std::string MarkLocation(const std::string& path, const YAML::Mark& mark);

}  // namespace legacy
