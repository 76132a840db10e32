#include "analysis/pictures/federated_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/policy_style.h"

namespace legacy::analysis {
namespace {

constexpr int kWidth = 960, kHeight = 480;

// A Line has a percentage at each of several whole numbers, such as deciles.
struct Line {
  std::string policy;
  std::string what;
  bool thin = false;
  std::vector<std::pair<int64_t, double>> points = {};
};

// Returns the picture of these lines, each in the style of its policy.
Picture LinesPicture(const std::string& name, const std::string& title, const std::string& x_label,
                     const std::string& y_label, const std::vector<Line>& lines) {
  std::vector<std::string> names;
  for (const Line& line : lines) {
    if (std::ranges::find(names, line.policy) == names.end()) names.push_back(line.policy);
  }
  const std::vector<PolicyStyle> styles = StylesOf(names);
  std::string script;
  std::vector<std::string> parts;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    const PolicyStyle& style =
        styles[static_cast<size_t>(std::ranges::find(names, line.policy) - names.begin())];
    script += fmt::format("$line{} << END\n", i);
    for (const auto& [x, y] : line.points) script += fmt::format("{} {}\n", x, CsvNumber(y));
    script += "END\n";
    parts.push_back(fmt::format(
        "$line{} using 1:2 with linespoints lc rgb '{}' dt {} lw {} pt {} ps {} title {}", i,
        style.colour, line.thin ? 3 : 1, line.thin ? 1.0 : 1.8, style.point_type,
        line.thin ? 0.4 : 0.8, Quote(Shorten(line.policy, kPolicyNameLimit) + line.what)));
  }
  script += PictureStart(title, "", kWidth, kHeight);
  script += fmt::format("set xlabel {}\nset ylabel {}\n", Quote(x_label), Quote(y_label));
  script +=
      "set key outside right center vertical Left reverse noenhanced samplen 2.5 spacing 1.2\n"
      "set autoscale xfix\nset yrange [0:*]\nset offsets 0.3, 0.3, graph 0.03, 0\n";
  script +=
      Output(name, kWidth, kHeight, fmt::format("plot {}\n", fmt::join(parts, ", \\\n     ")));
  return {name, std::move(script)};
}

}  // namespace

std::optional<Picture> ParticipationPicture(const std::vector<FederatedPolicy>& policies) {
  std::vector<Line> lines;
  for (const FederatedPolicy& policy : policies) {
    Line counted{policy.name, ": counted"}, tasks{policy.name, ": tasks", true};
    int64_t decile = 0;
    for (const ClientShare& share : SharesByDecile(policy.clients, policy.counted)) {
      ++decile;
      if (share.counted_share) counted.points.emplace_back(decile, 100 * *share.counted_share);
      if (share.task_share) tasks.points.emplace_back(decile, 100 * *share.task_share);
    }
    const bool differ = tasks.points != counted.points;
    if (!counted.points.empty()) lines.push_back(std::move(counted));
    if (differ) lines.push_back(std::move(tasks));
  }
  if (lines.empty()) return std::nullopt;
  // Methods often let the same clients take part: one curve then stands for all of them.
  const auto equal = [&](const Line& line) {
    return line.what == lines.front().what && line.points == lines.front().points;
  };
  if (lines.size() > 1 && std::ranges::all_of(lines, equal)) {
    lines.front().policy = fmt::format("all {} methods", lines.size());
    lines.resize(1);
  }
  return LinesPicture("participation", "Who takes part, by decile of speed",
                      "decile of predicted task time, fast first", "share [%]", lines);
}

std::optional<Picture> StalenessPicture(const std::vector<FederatedPolicy>& policies) {
  std::vector<Line> lines;
  bool any = false;
  for (const FederatedPolicy& policy : policies) {
    std::map<int64_t, int64_t> counts;
    for (const int64_t staleness : policy.staleness) ++counts[staleness];
    if (counts.empty()) continue;
    Line line{policy.name, ""};
    for (const auto& [staleness, count] : counts) {
      any |= staleness > 0;
      line.points.emplace_back(staleness, 100 * static_cast<double>(count) /
                                              static_cast<double>(policy.staleness.size()));
    }
    lines.push_back(std::move(line));
  }
  if (!any) return std::nullopt;
  return LinesPicture("staleness", "Staleness of counted updates",
                      "versions between a task's start and its arrival",
                      "share of counted updates [%]", lines);
}

}  // namespace legacy::analysis
