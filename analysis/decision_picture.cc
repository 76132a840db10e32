#include "analysis/decision_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/policy_style.h"
#include "analysis/table_text.h"

namespace legacy::analysis {
namespace {

constexpr size_t kLayerNameLimit = 30;  // characters of a layer's name that are shown
constexpr int kPanelWidth = 640;        // points
constexpr int kPanelHeight = 280;

struct StepParameter {
  int64_t step = 0;
  double parameter = 0;
};

struct LayerCurve {
  std::string layer;
  std::vector<StepParameter> points;
};

struct Panel {
  std::string title;
  std::vector<LayerCurve> curves;
  size_t hidden = 0;  // number of layers without a curve
};

// Returns the elements of each layer. Layers that layers.csv lacks (an interrupted training) have
// none.
std::map<std::string, int64_t> SizesOf(const RunDirectory& run, const std::string& policy) {
  std::map<std::string, int64_t> sizes;
  for (const LayerRow& row : run.layers) {
    if (row.policy == policy) sizes[row.layer] = row.elements;
  }
  return sizes;
}

// Keeps the curves of the largest layers, in their present order.
void KeepLargest(Panel& panel, const std::map<std::string, int64_t>& sizes) {
  std::vector<std::string> names;
  for (const LayerCurve& curve : panel.curves) names.push_back(curve.layer);
  const auto size = [&](const std::string& layer) {
    const auto found = sizes.find(layer);
    return found == sizes.end() ? 0 : found->second;
  };
  std::ranges::stable_sort(names, std::greater(), size);
  if (names.size() <= kShownLayers) return;
  panel.hidden = names.size() - kShownLayers;
  names.resize(kShownLayers);
  std::erase_if(panel.curves, [&](const LayerCurve& curve) {
    return std::ranges::find(names, curve.layer) == names.end();
  });
}

// Returns the panel of a policy and seed. A row for "all" layers is a curve of its own; a policy
// has either such rows or rows of layers.
Panel PanelOf(const RunDirectory& run, const std::string& policy, uint64_t seed) {
  Panel panel;
  for (const DecisionRow& row : run.decisions) {
    if (row.policy != policy || row.seed != seed || !std::isfinite(row.parameter)) continue;
    auto curve = std::ranges::find(panel.curves, row.layer, &LayerCurve::layer);
    if (curve == panel.curves.end()) {
      curve = panel.curves.insert(panel.curves.end(), LayerCurve{row.layer, {}});
    }
    curve->points.push_back({row.step, row.parameter});
  }
  KeepLargest(panel, SizesOf(run, policy));
  return panel;
}

bool Changes(const Panel& panel) {
  return std::ranges::any_of(panel.curves, [](const LayerCurve& curve) {
    return std::ranges::any_of(curve.points, [&](const StepParameter& point) {
      return point.parameter != curve.points.front().parameter;
    });
  });
}

int64_t StepsOf(const RunDirectory& run, const std::string& policy, uint64_t seed) {
  int64_t steps = 0;
  for (const StepRow& row : run.steps) {
    if (row.policy == policy && row.seed == seed) steps = std::max(steps, row.step + 1);
  }
  return steps;
}

bool IsLogarithmic(const Panel& panel) {
  double least = INFINITY, most = -INFINITY;
  for (const LayerCurve& curve : panel.curves) {
    for (const StepParameter& point : curve.points) {
      least = std::min(least, point.parameter);
      most = std::max(most, point.parameter);
    }
  }
  return least > 0 && most > kLogRatio * least;
}

// Returns the blocks $decidedPxC of steps and parameters. The last decision holds until the end.
std::string DataOf(const Panel& panel, size_t number, int64_t steps) {
  std::string text;
  for (size_t c = 0; c < panel.curves.size(); ++c) {
    const std::vector<StepParameter>& points = panel.curves[c].points;
    text += fmt::format("$decided{}x{} << END\n", number, c);
    for (const StepParameter& point : points) {
      text += fmt::format("{} {}\n", point.step, CsvNumber(point.parameter));
    }
    text += fmt::format("{} {}\nEND\n", steps, CsvNumber(points.back().parameter));
  }
  return text;
}

std::string PlotOf(const Panel& panel, size_t number, int64_t steps) {
  std::vector<std::string> parts;
  for (size_t c = 0; c < panel.curves.size(); ++c) {
    const std::string& layer = panel.curves[c].layer;
    parts.push_back(
        fmt::format("$decided{}x{} using 1:2 with steps lc rgb '{}' lw 1.6 title {}", number, c,
                    kPolicyColours[c % kPolicyColours.size()],
                    Quote(layer == "all" ? "all layers" : Shorten(layer, kLayerNameLimit))));
  }
  return fmt::format("set title {} noenhanced\n{} logscale y\nset xrange [0:{}]\nplot {}\n",
                     Quote(panel.title), IsLogarithmic(panel) ? "set" : "unset", steps,
                     fmt::join(parts, ", \\\n     "));
}

}  // namespace

std::optional<Picture> DecisionPicture(const RunDirectory& run, const Summary& summary) {
  std::string data, plots;
  size_t shown = 0;
  const uint64_t seed = summary.seeds.front();
  for (const PolicySummary& policy : summary.policies) {
    Panel panel = PanelOf(run, policy.name, seed);
    if (!Changes(panel)) continue;
    panel.title = fmt::format("{}, seed {}", policy.name, seed);
    if (panel.hidden > 0) panel.title += fmt::format(", without {} smaller layers", panel.hidden);
    const int64_t steps = StepsOf(run, policy.name, seed);
    data += DataOf(panel, shown, steps);
    plots += PlotOf(panel, shown, steps);
    ++shown;
  }
  if (shown == 0) return std::nullopt;
  const size_t columns = shown > 1 ? 2 : 1;
  const size_t rows = (shown + columns - 1) / columns;
  std::string script = data + kScriptStart;
  script +=
      "set xlabel 'step'\nset ylabel 'parameter'\nset format '%g'\n"
      "set offsets 0, 0, graph 0.05, graph 0.05\n"
      "set key outside right center vertical maxcols 1 Left reverse noenhanced samplen 2 "
      "spacing 1.1 font ',10'\n";
  const std::string plot =
      fmt::format("set multiplot layout {},{}\n{}unset multiplot\n", rows, columns, plots);
  script += Output("decisions", kPanelWidth * static_cast<int>(columns),
                   kPanelHeight * static_cast<int>(rows), plot);
  return Picture{"decisions", std::move(script)};
}

}  // namespace legacy::analysis
