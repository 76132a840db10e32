#include "scenarios/python/options.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"

namespace legacy::python {
namespace {

std::string NameOf(const ScenarioOption& option) { return Underscored(option.Name()); }

const ScenarioOption& Find(const std::vector<ScenarioOption>& options, const std::string& name) {
  std::string flag = name;
  std::ranges::replace(flag, '_', '-');
  for (const std::string& spelled : {flag, name}) {
    if (const ScenarioOption* const found = FindOption(options, spelled)) return *found;
  }
  const auto found = std::ranges::find_if(
      options, [&](const ScenarioOption& option) { return option.NameInSection() == name; });
  if (found != options.end()) return *found;
  std::vector<std::string> names;
  for (const ScenarioOption& option : options) names.push_back(NameOf(option));
  throw Error::Refusal("unknown option '" + name + "'" + DidYouMean(name, names) +
                       "; legacy.options() lists all");
}

}  // namespace

void SetOptions(Scenario& scenario, const NamedTexts& options) {
  for (const auto& [name, text] : options)
    Find(OptionsOf(scenario), name).set(scenario, name, text);
}

}  // namespace legacy::python
