#include "scenarios/study/grid.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/options/scenario_yaml.h"
#include "scenarios/study/grid_axis.h"

namespace legacy {
namespace {

constexpr int64_t kMaxStudyPoints = 1'000'000;
// The default of study.max_points; this many points are planned in about a second.
constexpr int64_t kPointsUnasked = 20'000;

// A Position has the positions of a point's values: those on the axes, then those of policy and
// seed.
using Position = std::vector<size_t>;

// A Selection has the selected positions of each dimension.
using Selection = std::vector<std::vector<size_t>>;

std::set<std::string> OptionsOf(const DraftAxis& axis) {
  std::set<std::string> options;
  for (const OptionTexts& settings : axis.grid.settings) {
    for (const auto& setting : settings) options.insert(setting.first);
  }
  return options;
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& where) : where_(where) {
    study_.text = text;
    study_.name = std::filesystem::path(where).stem().string();
  }

  StudyDefinition Read() {
    ReadSections();
    ReadNames();
    ReadScenarios();
    ReadGrid();
    CheckBase();
    ChooseBaseline();
    AddIncludedValues();
    for (DraftAxis& axis : axes_) study_.axes.push_back(axis.grid);
    AddPoints();
    CheckPoints(study_);
    return std::move(study_);
  }

 private:
  size_t PolicyDimension() const { return axes_.size(); }
  size_t SeedDimension() const { return axes_.size() + 1; }

  YAML::Node Section(const std::string& name) const {
    const auto found = sections_.find(name);
    return found == sections_.end() ? YAML::Node(YAML::NodeType::Null) : found->second;
  }

  void ReadSections();
  void ReadNames();
  void ReadScenarios();
  void ReadGrid();
  void AddAxis(const std::string& key, const YAML::Node& node);
  void CheckBase() const;
  void ChooseBaseline();
  void AddIncludedValues();
  void AddPoints();

  // Calls each(dimension, text, mark) for every value in a map of `include` or `exclude`.
  template <typename Each>
  void ReadEntry(const YAML::Node& entry, const std::string& section, Each each) const;
  Selection Select(const YAML::Node& entry, const std::string& section, bool own) const;
  size_t DimensionOf(const std::string& name) const;
  size_t Locate(size_t dimension, const std::string& text, bool own) const;
  Selection Everything() const;
  void AddProduct(const Selection& selection, const std::vector<Selection>& excluded,
                  const YAML::Mark& mark);
  void AddPoint(const Position& position, const YAML::Mark& mark);

  std::string where_;
  StudyDefinition study_;
  std::map<std::string, YAML::Node> sections_;
  int64_t max_points_ = kPointsUnasked;
  std::vector<DraftAxis> axes_;
  std::set<Position> seen_;
};

void Reader::ReadSections() {
  const std::vector<std::string> known = {"study", "scenario", "grid", "include", "exclude"};
  ReadMap(ParseYaml(study_.text, where_), "", where_,
          [&](const std::string& name, const YAML::Node& node) {
            if (std::ranges::find(known, name) == known.end()) {
              throw Error::Refusal(UnknownText("section", name, known));
            }
            sections_.emplace(name, node);
          });
  if (sections_.count("grid") == 0) throw Error::Refusal(where_ + ": expected a section grid");
}

void Reader::ReadNames() {
  std::string most;
  const std::map<std::string, std::string*> fields = {{"name", &study_.name},
                                                      {"title", &study_.title},
                                                      {"baseline", &study_.baseline},
                                                      {"max_points", &most}};
  ReadMap(Section("study"), "study", where_, [&](const std::string& key, const YAML::Node& node) {
    const auto field = fields.find(key);
    if (field == fields.end()) {
      throw Error::Refusal(
          UnknownText("key", "study." + key,
                      {"study.name", "study.title", "study.baseline", "study.max_points"}));
    }
    *field->second = ScalarText(node, "study." + key);
  });
  if (!most.empty()) max_points_ = ParseInteger(most, "study.max_points", 1, kMaxStudyPoints);
  const std::string plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  if (study_.name.find_first_of(plain) != 0 ||
      study_.name.find_first_not_of(plain + "_-.") != std::string::npos) {
    throw Error(where_ + ": study.name", study_.name,
                "letters, digits, _, - and ., a letter or digit first");
  }
  if (study_.title.empty()) study_.title = study_.name;
}

// Reads the scenario. A scenario with a section `federated` starts from the defaults of federated
// learning, and has no shape.
void Reader::ReadScenarios() {
  const YAML::Node section = Section("scenario");
  const bool federated = section.IsMap() && section["federated"];
  if (federated) study_.scenario = FederatedDefaults();
  ReadScenario(section, where_, study_.scenario);
  if (!federated) ReadScenario(section, where_, study_.shape_scenario);
  const auto place = sections_.contains("scenario") ? section : Section("grid");
  study_.places[""] = MarkText(where_, place.Mark());
  for (const auto& options : section) {
    if (!options.second.IsMap()) continue;
    for (const auto& option : options.second) {
      const std::string key = options.first.Scalar() + "." + option.first.Scalar();
      const ScenarioOption* const row = FindOption(OptionsOf(study_.scenario), key);
      study_.places[row == nullptr ? key : row->key] = MarkText(where_, option.first.Mark());
    }
  }
}

void Reader::ReadGrid() {
  bool compares = false;
  ReadMap(Section("grid"), "grid", where_, [&](const std::string& key, const YAML::Node& node) {
    const ScenarioOption* const option = FindOption(OptionsOf(study_.scenario), key);
    if (option != nullptr && option->key == "compression.policies") {
      if (std::exchange(compares, true)) throw Error::Refusal(key + ": methods are given twice");
      option->set(study_.scenario, option->key, ScalarText(node, key));
      study_.places[option->key] = MarkText(where_, node.Mark());
    } else if (key == "seeds" || key == "run.seeds") {
      SetOption(study_.scenario, "run.seeds", ScalarText(node, key));
    } else if (key == "policy" || key == "method" || key == "seed") {
      throw Error::Refusal(UnknownText("axis", key, {"policies", "seeds"}));
    } else {
      AddAxis(key, node);
    }
  });
  if (axes_.empty()) throw Error::Refusal(where_ + ": grid: expected at least one axis");
}

void Reader::AddAxis(const std::string& key, const YAML::Node& node) {
  DraftAxis axis = ReadAxis(study_.scenario, key, node, where_);
  const std::string& name = axis.grid.axis.name;
  const std::set<std::string> options = OptionsOf(axis);
  for (const DraftAxis& other : axes_) {
    const std::string& others = other.grid.axis.name;
    if (name == others || name == others + "_number" || others == name + "_number") {
      throw Error("axis", key, "another name than that of axis " + others);
    }
    for (const std::string& option : OptionsOf(other)) {
      if (options.count(option) == 0) continue;
      throw Error::Refusal("axis " + name + ": sets " + option + ", which axis " + others +
                           " sets as well");
    }
  }
  axes_.push_back(std::move(axis));
}

// Checks that do not depend on any axis.
void Reader::CheckBase() const {
  const Scenario& scenario = study_.scenario;
  const Scenario defaults = scenario.federated ? FederatedDefaults() : Scenario();
  const auto scenario_section = sections_.find("scenario");
  const auto place =
      scenario_section == sections_.end() ? sections_.find("grid") : scenario_section;
  try {
    std::set<std::string> names;
    for (const std::string& policy : scenario.policies) {
      FindMethod(scenario, policy);
      if (!names.insert(policy).second) throw Error("policies", policy, "each method once");
    }
    for (const ScenarioOption& option : OptionsOf(scenario)) {
      const std::string& key = option.key;
      if (!option.Has(kLeavesResults) || option.Has(kStudyIgnores)) continue;
      if (option.get(scenario) == option.get(defaults)) continue;
      throw Error(key, option.get(scenario), "its default: a study leaves results of points alone");
    }
  } catch (const Error& error) {
    throw error.Within(MarkText(where_, place->second.Mark()));
  }
}

void Reader::ChooseBaseline() {
  const auto& policies = study_.scenario.policies;
  const auto known = [&](const std::string& name) {
    return std::ranges::find(policies, name) != policies.end();
  };
  std::string& baseline = study_.baseline;
  if (baseline.empty()) baseline = known("dense") ? "dense" : policies.front();
  if (known(baseline)) return;
  throw Error("study.baseline", baseline, Join(policies, ", "))
      .Within(MarkText(where_, sections_.at("study").Mark()));
}

size_t Reader::DimensionOf(const std::string& name) const {
  if (name == "policy" || name == "method") return PolicyDimension();
  const ScenarioOption* const called = FindOption(OptionsOf(study_.scenario), name);
  if (called != nullptr && called->key == "compression.policies") return PolicyDimension();
  if (name == "seed" || name == "seeds") return SeedDimension();
  std::vector<std::string> known;
  for (size_t a = 0; a < axes_.size(); ++a) {
    known.push_back(axes_[a].grid.axis.name);
    std::string flat = name;
    std::ranges::replace(flat, '-', '_');
    const ScenarioOption* option = FindOption(OptionsOf(study_.scenario), name);
    if (flat == known.back() ||
        (option != nullptr && AxisName(study_.scenario, option->key) == known.back())) {
      return a;
    }
  }
  known.insert(known.end(), {"method", "seed"});
  throw Error::Refusal(UnknownText("axis", name, known));
}

size_t Reader::Locate(size_t dimension, const std::string& text, bool own) const {
  if (dimension == PolicyDimension()) {
    const auto& policies = study_.scenario.policies;
    const auto found = std::ranges::find(policies, text);
    if (found == policies.end()) throw NotAmong("method", text, policies);
    return found - policies.begin();
  }
  if (dimension == SeedDimension()) {
    const auto first = static_cast<int64_t>(study_.scenario.seed);
    return ParseInteger(text, "seed", first, first + study_.scenario.seeds - 1) - first;
  }
  const DraftAxis& axis = axes_[dimension];
  const std::optional<size_t> found = axis.Find(text);
  if (found && (axis.own[*found] || !own)) return *found;
  std::vector<std::string> known;
  for (size_t v = 0; v < axis.own.size(); ++v) {
    if (axis.own[v]) known.push_back(axis.grid.axis.values[v]);
  }
  throw NotAmong(axis.grid.axis.name, text, known);
}

template <typename Each>
void Reader::ReadEntry(const YAML::Node& entry, const std::string& section, Each each) const {
  if (!entry.IsMap() || entry.size() == 0) {
    throw Error::Refusal(MarkText(where_, entry.Mark()) + section + ": expected axes and values");
  }
  ReadMap(entry, section, where_, [&](const std::string& name, const YAML::Node& node) {
    const size_t dimension = DimensionOf(name);
    if (!node.IsSequence()) return each(dimension, ScalarText(node, name), node.Mark());
    for (const YAML::Node& item : node) each(dimension, ScalarText(item, name), item.Mark());
  });
}

void Reader::AddIncludedValues() {
  const YAML::Node entries = Section("include");
  for (const char* section : {"include", "exclude"}) {
    const YAML::Node list = Section(section);
    if (list.IsNull() || list.IsSequence()) continue;
    throw Error::Refusal(MarkText(where_, list.Mark()) + section +
                         ": expected a list of {axis: value}");
  }
  for (const YAML::Node& entry : entries) {
    ReadEntry(entry, "include", [&](size_t dimension, const std::string& text, const auto& mark) {
      if (dimension < axes_.size() && !axes_[dimension].Find(text)) {
        axes_[dimension].Add(text, MarkText(where_, mark), true);
      }
    });
  }
}

// Returns the grid's own values of every dimension.
Selection Reader::Everything() const {
  Selection all(axes_.size() + 2);
  for (size_t a = 0; a < axes_.size(); ++a) {
    for (size_t v = 0; v < axes_[a].own.size(); ++v) {
      if (axes_[a].own[v]) all[a].push_back(v);
    }
  }
  const Scenario& scenario = study_.scenario;
  all[PolicyDimension()].resize(scenario.policies.size());
  all[SeedDimension()].resize(static_cast<size_t>(scenario.seeds));
  for (const size_t d : {PolicyDimension(), SeedDimension()}) {
    std::iota(all[d].begin(), all[d].end(), size_t{0});
  }
  return all;
}

// Returns the positions that the entry selects. Dimensions that it does not name are empty.
Selection Reader::Select(const YAML::Node& entry, const std::string& section, bool own) const {
  Selection selection(axes_.size() + 2);
  ReadEntry(entry, section, [&](size_t dimension, const std::string& text, const auto&) {
    selection[dimension].push_back(Locate(dimension, text, own));
  });
  return selection;
}

bool Fits(const Position& position, const Selection& selection) {
  for (size_t d = 0; d < position.size(); ++d) {
    const std::vector<size_t>& named = selection[d];
    if (!named.empty() && std::ranges::find(named, position[d]) == named.end()) return false;
  }
  return true;
}

void Reader::AddPoint(const Position& position, const YAML::Mark& mark) {
  StudyDefinition::Combination point;
  point.policy = study_.scenario.policies[position[PolicyDimension()]];
  point.seed = study_.scenario.seed + position[SeedDimension()];
  point.values.assign(position.begin(), position.begin() + std::ssize(axes_));
  if (!seen_.insert(position).second) {
    throw Error::Refusal(MarkText(where_, mark) + "include: " + PointText(study_, point) +
                         " is there already");
  }
  study_.points.push_back(std::move(point));
}

// Adds the points of a product. The last dimension varies fastest.
void Reader::AddProduct(const Selection& selection, const std::vector<Selection>& excluded,
                        const YAML::Mark& mark) {
  double count = static_cast<double>(study_.points.size());
  double product = 1;
  for (const auto& positions : selection) product *= static_cast<double>(positions.size());
  if (count + product > static_cast<double>(max_points_)) {
    throw Error(MarkText(where_, mark) + "grid: points", FormatNumber(count + product),
                "at most " + std::to_string(max_points_) +
                    ", or what study.max_points says, up to " + std::to_string(kMaxStudyPoints) +
                    "; a million take about a minute to plan");
  }
  Position at(selection.size(), 0);
  for (int64_t left = static_cast<int64_t>(product); left > 0; --left) {
    Position position(at.size());
    for (size_t d = 0; d < at.size(); ++d) position[d] = selection[d][at[d]];
    const auto fits = [&](const Selection& entry) { return Fits(position, entry); };
    if (std::ranges::none_of(excluded, fits)) AddPoint(position, mark);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == selection[d].size();) at[d] = 0;
  }
}

void Reader::AddPoints() {
  std::vector<Selection> excluded;
  for (const YAML::Node& entry : Section("exclude")) {
    excluded.push_back(Select(entry, "exclude", true));
  }
  const Selection everything = Everything();
  AddProduct(everything, excluded, Section("grid").Mark());
  for (const YAML::Node& entry : Section("include")) {
    Selection selection = Select(entry, "include", false);
    for (size_t d = 0; d < selection.size(); ++d) {
      if (selection[d].empty()) selection[d] = everything[d];
    }
    AddProduct(selection, {}, entry.Mark());
  }
  if (study_.points.empty()) throw Error::Refusal(where_ + ": grid: exclude leaves no point");
}

}  // namespace

StudyDefinition LoadStudy(const std::string& path) { return ParseStudy(ReadWholeFile(path), path); }

StudyDefinition ParseStudy(const std::string& text, const std::string& where) {
  return Reader(text, where).Read();
}

}  // namespace legacy
