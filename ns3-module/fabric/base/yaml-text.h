// Texts in YAML.
#pragma once

#include <istream>
#include <string>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

/// Return the only document of a YAML text; null where it has none. Throw YAML::Exception as
/// YAML::Load does, and on a second document, which YAML::Load would leave out in silence.
YAML::Node LoadYaml(std::istream& text);
YAML::Node LoadYaml(const std::string& text);

} // namespace legacy::fabric
