// The points of a study's grid: their scenarios, their texts, and the places of their errors in the
// definition.
#include "base/error.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/options/scenario_yaml.h"
#include "scenarios/study/grid.h"

namespace legacy {
namespace {

// Returns the key of the option with which a message begins, as a key or as a flag; "" if there is
// none.
std::string OptionNamedBy(const std::string& message, const Scenario& scenario) {
  std::string name = message.substr(0, message.find(": got '"));
  if (name.size() == message.size()) name = message.substr(0, message.find(": "));
  if (name.starts_with("--")) name = name.substr(2);
  const ScenarioOption* option = FindOption(OptionsOf(scenario), name);
  return option == nullptr ? "" : option->key;
}

// Returns the place in the definition from which a point has what a message is about.
std::string PlaceOf(const StudyDefinition& definition, size_t point, const std::string& message) {
  const StudyDefinition::Combination& combination = definition.points[point];
  const StudyDefinition::Combination& first = definition.points.front();
  const std::string option = OptionNamedBy(message, definition.scenario);
  std::string changed;
  for (size_t a = 0; a < definition.axes.size(); ++a) {
    const GridAxis& axis = definition.axes[a];
    const size_t v = combination.values[a];
    const Places& places = axis.places[v];
    if (axis.settings[v].contains(option)) return places.at(places.contains(option) ? option : "");
    if (v != first.values[a]) changed = places.at("");
  }
  if (!changed.empty()) return changed;
  const Places& shared = definition.places;
  return shared.at(shared.contains(option) ? option : "");
}

}  // namespace

Scenario ScenarioOf(const StudyDefinition& definition,
                    const StudyDefinition::Combination& combination) {
  const auto with_axes = [&](Scenario scenario) {
    for (size_t a = 0; a < definition.axes.size(); ++a) {
      for (const auto& [key, text] : definition.axes[a].settings[combination.values[a]]) {
        SetOption(scenario, key, text);
      }
    }
    return scenario;
  };
  Scenario scenario = with_axes(definition.scenario);
  if (!scenario.layers.empty()) {
    scenario = with_axes(definition.shape_scenario);
    TakeUsualBatch(scenario);
  }
  scenario.policies = {combination.policy};
  scenario.seed = combination.seed;
  scenario.seeds = 1;
  return scenario;
}

std::string PointText(const StudyDefinition& definition,
                      const StudyDefinition::Combination& combination) {
  std::string text = combination.policy + ", seed " + std::to_string(combination.seed);
  for (size_t a = 0; a < definition.axes.size(); ++a) {
    const analysis::StudyAxis& axis = definition.axes[a].axis;
    text += ", " + axis.name + " " + axis.values[combination.values[a]];
  }
  return text;
}

Error PointError(const StudyDefinition& definition, size_t point, const Error& error) {
  return error.Within(PlaceOf(definition, point, error.what()) + "point " + std::to_string(point) +
                      " (" + PointText(definition, definition.points[point]) + "): ");
}

void CheckPoints(const StudyDefinition& definition) {
  const auto check = [&](size_t point) {
    try {
      const Scenario scenario = ScenarioOf(definition, definition.points[point]);
      scenario.federated ? ValidateFederated(scenario) : ValidatePoint(scenario);
    } catch (const Error& error) {
      throw PointError(definition, point, error);
    }
  };
  check(0);
  for (size_t a = 0; a < definition.axes.size(); ++a) {
    std::vector<bool> checked(definition.axes[a].axis.values.size());
    for (size_t point = 0; point < definition.points.size(); ++point) {
      const size_t v = definition.points[point].values[a];
      if (checked[v]) continue;
      checked[v] = true;
      check(point);
    }
  }
}

}  // namespace legacy
