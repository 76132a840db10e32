#include "analysis/pictures/decision_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/policy_style.h"
#include "analysis/quantities.h"
#include "analysis/table_text.h"
#include "base/programs/terminal.h"

namespace legacy::analysis {
namespace {

constexpr size_t kLayerNameLimit = 48;  // characters of a layer's name that are shown
constexpr size_t kNamedLayers = 8;      // layers of a map that are named
constexpr int kPanelWidth = 640;        // points, where names are short
constexpr int kPanelHeight = 280;
constexpr size_t kShortName = 24;   // characters; longer names widen the panels
constexpr int kCharacterWidth = 6;  // points
// From light to dark in grey too (Viridis, reversed).
constexpr const char* kPalette =
    "set palette defined (0 '#FDE725', 1 '#5EC962', 2 '#21918C', 3 '#3B528B', 4 '#440154')\n";

struct StepParameter {
  int64_t step = 0;
  double parameter = 0;
  bool operator==(const StepParameter&) const = default;
};
using Decided = std::vector<StepParameter>;

struct LayerCurve {
  std::string layer;
  Decided points;
};

// A LayerGroup has the layers for which the same was decided at all steps.
struct LayerGroup {
  Decided points;
  std::vector<std::string> layers;
};

struct Panel {
  std::string title;
  std::vector<LayerCurve> curves;  // in the order of the model's layers
  std::vector<LayerGroup> groups;  // those of small layers first
  std::map<std::string, int64_t> sizes;
  std::map<std::string, std::string> names;  // names of layers as they are shown
  int64_t steps = 0;
};

// Returns the layers' names as they are shown: in full, or cut in the middle if they are long, but
// only so far that they stay different.
std::map<std::string, std::string> ShownNames(const std::vector<LayerCurve>& layers) {
  std::map<std::string, std::string> names;
  std::set<std::string> different;
  for (size_t limit = kLayerNameLimit; different.size() < layers.size(); ++limit) {
    different.clear();
    for (const LayerCurve& curve : layers) {
      different.insert(names[curve.layer] = Shorten(curve.layer, limit));
    }
  }
  return names;
}

// Returns how many points wider than usual a panel is, for its layers' names.
int RoomForNames(const Panel& panel) {
  size_t longest = kShortName;
  for (const auto& [layer, name] : panel.names) longest = std::max(longest, DisplayWidth(name));
  return kCharacterWidth * static_cast<int>(longest - kShortName);
}

// Returns the curves of a policy and seed. A row for "all" layers is a separate curve; a policy has
// either such rows or rows of layers.
std::vector<LayerCurve> CurvesOf(const RunDirectory& run, const std::string& policy,
                                 uint64_t seed) {
  std::vector<LayerCurve> curves;
  for (const DecisionRow& row : run.decisions) {
    if (row.policy != policy || row.seed != seed || !std::isfinite(row.parameter)) continue;
    auto curve = std::ranges::find(curves, row.layer, &LayerCurve::layer);
    if (curve == curves.end()) curve = curves.insert(curves.end(), LayerCurve{row.layer, {}});
    curve->points.push_back({row.step, row.parameter});
  }
  return curves;
}

// Returns the size of the group's smallest and of its largest layer. Layers that layers.csv lacks
// (an interrupted training) have none.
std::pair<int64_t, int64_t> SizesOfGroup(const Panel& panel, const LayerGroup& group) {
  int64_t least = INT64_MAX, most = 0;
  for (const std::string& layer : group.layers) {
    const auto found = panel.sizes.find(layer);
    const int64_t size = found == panel.sizes.end() ? 0 : found->second;
    least = std::min(least, size);
    most = std::max(most, size);
  }
  return {least, most};
}

Panel PanelOf(const RunDirectory& run, const std::string& policy, uint64_t seed) {
  Panel panel;
  panel.title = fmt::format("{}, seed {}", policy, seed);
  panel.curves = CurvesOf(run, policy, seed);
  panel.names = ShownNames(panel.curves);
  for (const LayerRow& row : run.layers) {
    if (row.policy == policy) panel.sizes[row.layer] = row.elements;
  }
  for (const StepRow& row : run.steps) {
    if (row.policy == policy && row.seed == seed) panel.steps = std::max(panel.steps, row.step + 1);
  }
  for (const LayerCurve& curve : panel.curves) {
    auto group = std::ranges::find(panel.groups, curve.points, &LayerGroup::points);
    if (group == panel.groups.end()) {
      group = panel.groups.insert(panel.groups.end(), LayerGroup{curve.points, {}});
    }
    group->layers.push_back(curve.layer);
  }
  std::ranges::stable_sort(
      panel.groups, {}, [&](const LayerGroup& group) { return SizesOfGroup(panel, group).second; });
  return panel;
}

// True if the policy decided differently for different layers or at different times. One parameter
// for all layers and steps needs no picture.
bool Decides(const Panel& panel) {
  if (panel.groups.size() > 1) return true;
  return std::ranges::any_of(panel.groups, [](const LayerGroup& group) {
    return std::ranges::any_of(group.points, [&](const StepParameter& point) {
      return point.parameter != group.points.front().parameter;
    });
  });
}

bool IsLogarithmic(const Panel& panel) {
  double least = INFINITY, most = -INFINITY;
  for (const LayerGroup& group : panel.groups) {
    for (const StepParameter& point : group.points) {
      least = std::min(least, point.parameter);
      most = std::max(most, point.parameter);
    }
  }
  return least > 0 && most > kLogRatio * least;
}

// Returns a number of elements, as in "432", "36.9 k".
std::string Elements(int64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000) return ShowQuantity(value / 1e6, "M");
  return count >= 1000 ? ShowQuantity(value / 1e3, "k") : std::to_string(count);
}

// Returns a group's name in the legend: its layer, or its number of layers and their sizes.
std::string NameOf(const Panel& panel, const LayerGroup& group) {
  if (group.layers.size() == 1) {
    const std::string& layer = group.layers.front();
    return layer == "all" ? "all layers" : panel.names.at(layer);
  }
  if (panel.groups.size() == 1) return fmt::format("all {} layers", group.layers.size());
  const auto [least, most] = SizesOfGroup(panel, group);
  std::string name = fmt::format("{} layers", group.layers.size());
  if (least == 0) return name;
  name += " of " + Elements(least);
  return (least == most ? name : name + " to " + Elements(most)) + " elements";
}

// Returns the blocks $decidedPxG of steps and parameters. The last decision holds until the end.
std::string GroupData(const Panel& panel, size_t number) {
  std::string text;
  for (size_t g = 0; g < panel.groups.size(); ++g) {
    const Decided& points = panel.groups[g].points;
    text += fmt::format("$decided{}x{} << END\n", number, g);
    for (const StepParameter& point : points) {
      text += fmt::format("{} {}\n", point.step, CsvNumber(point.parameter));
    }
    text += fmt::format("{} {}\nEND\n", panel.steps, CsvNumber(points.back().parameter));
  }
  return text;
}

// Groups that share a stretch stay visible, because the lines below are wider.
std::string GroupPlot(const Panel& panel, size_t number) {
  std::vector<std::string> parts;
  for (size_t g = 0; g < panel.groups.size(); ++g) {
    parts.push_back(fmt::format("$decided{}x{} using 1:2 with steps lc rgb '{}' lw {:.1f} title {}",
                                number, g, kPolicyColours[g % kPolicyColours.size()],
                                1.6 + 0.8 * static_cast<double>(panel.groups.size() - 1 - g),
                                Quote(NameOf(panel, panel.groups[g]))));
  }
  return fmt::format(
      "set ylabel 'parameter{}'\n{} logscale y\nset yrange [*:*]\n"
      "set ytics auto scale 0.7,0.4 font ',13'\n"
      "plot {}\n",
      IsLogarithmic(panel) ? " [logarithmic]" : "", IsLogarithmic(panel) ? "set" : "unset",
      fmt::join(parts, ", \\\n     "));
}

// Returns the block $decidedP of a map: left and right end, layer and parameter of each stretch.
std::string MapData(const Panel& panel, size_t number) {
  std::string text = fmt::format("$decided{} << END\n", number);
  for (size_t c = 0; c < panel.curves.size(); ++c) {
    const Decided& points = panel.curves[c].points;
    for (size_t i = 0; i < points.size(); ++i) {
      text += fmt::format("{} {} {} {}\n", points[i].step,
                          i + 1 < points.size() ? points[i + 1].step : panel.steps, c,
                          CsvNumber(points[i].parameter));
    }
  }
  return text + "END\n";
}

// Layers are drawn below each other in the model's order; the colour is the parameter.
std::string MapPlot(const Panel& panel, size_t number) {
  const size_t layers = panel.curves.size();
  std::vector<std::string> names;
  for (size_t n = 0; n < kNamedLayers; ++n) {
    const size_t layer = n * (layers - 1) / (kNamedLayers - 1);
    names.push_back(
        fmt::format("{} {}", QuoteTick(panel.names.at(panel.curves[layer].layer)), layer));
  }
  return fmt::format(
      "set ylabel 'layer'\nunset logscale y\nset yrange [{}.5:-0.5]\n"
      "set ytics scale 0 ({}) noenhanced font ',10'\n{} logscale cb\nset cblabel 'parameter{}'\n"
      "plot $decided{} using (($1 + $2) / 2):3:1:2:($3 - 0.5):($3 + 0.5):4 with boxxyerror "
      "fs solid noborder lc palette notitle\n",
      layers - 1, fmt::join(names, ", "), IsLogarithmic(panel) ? "set" : "unset",
      IsLogarithmic(panel) ? " [logarithmic]" : "", number);
}

bool IsMap(const Panel& panel) { return panel.groups.size() > kShownGroups; }

}  // namespace

std::optional<Picture> DecisionPicture(const RunDirectory& run, const Summary& summary) {
  std::string data, plots;
  size_t shown = 0;
  int room = 0;
  const uint64_t seed = summary.seeds.front();
  for (const PolicySummary& policy : summary.policies) {
    const Panel panel = PanelOf(run, policy.name, seed);
    if (!Decides(panel)) continue;
    room = std::max(room, RoomForNames(panel));
    data += IsMap(panel) ? MapData(panel, shown) : GroupData(panel, shown);
    plots += fmt::format("set title {} noenhanced\nset xrange [0:{}]\n", Quote(panel.title),
                         panel.steps);
    plots += IsMap(panel) ? MapPlot(panel, shown) : GroupPlot(panel, shown);
    ++shown;
  }
  if (shown == 0) return std::nullopt;
  const size_t columns = shown > 1 ? 2 : 1;
  const size_t rows = (shown + columns - 1) / columns;
  std::string script = data + kScriptStart;
  script +=
      "set xlabel 'step'\nset format '%g'\n"
      "set offsets 0, 0, graph 0.05, graph 0.05\n"
      "set key outside right center vertical maxcols 1 Left reverse noenhanced samplen 2 "
      "spacing 1.1 font ',10'\n";
  script += kPalette;
  const std::string plot =
      fmt::format("set multiplot layout {},{}\n{}unset multiplot\n", rows, columns, plots);
  script += Output("decisions", (kPanelWidth + room) * static_cast<int>(columns),
                   kPanelHeight * static_cast<int>(rows), plot);
  return Picture{"decisions", std::move(script)};
}

}  // namespace legacy::analysis
