#include "analysis/study/report/html.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/metric_json.h"
#include "analysis/policy_style.h"
#include "analysis/study/quantities.h"
#include "analysis/study/web/page_parts.h"
#include "analysis/study/words.h"
#include "base/error.h"
#include "base/programs/program.h"

namespace legacy::analysis {
namespace {

using nlohmann::json;

// Decimal digits that are kept: enough to compute with figures, and to draw curves.
constexpr int kFigureDigits = 10;
constexpr int kCurveDigits = 5;

json Rounded(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, digits - 1);
  double rounded = value;
  std::from_chars(text, end.ptr, rounded);
  // JSON has fewer characters for an integer than for the same floating-point number ("0" and
  // "0.0").
  if (rounded == std::trunc(rounded) && std::abs(rounded) < 1e15) {
    return static_cast<int64_t>(rounded);
  }
  return rounded;
}

json PackedValue(double value) { return Rounded(value, kFigureDigits); }
json PackedValue(int64_t value) { return value; }
json PackedValue(const std::string& value) { return value; }
template <class Value>
json PackedValue(const std::optional<Value>& value) {
  return value ? PackedValue(*value) : json(nullptr);
}

// Returns the figures that the page draws or lists; the others are in points.csv.
const std::vector<std::string>& ShownFigures() {
  static const std::vector<std::string> names = {"time_to_target",
                                                 "steps",
                                                 "steps_to_target",
                                                 "simulated_seconds",
                                                 "final_metric",
                                                 "message_bytes",
                                                 "nic_bytes",
                                                 "traffic_ratio",
                                                 "step_seconds",
                                                 "compute_seconds",
                                                 "encode_seconds",
                                                 "decode_seconds",
                                                 "communication_seconds",
                                                 "wait_seconds",
                                                 "alpha_beta_step_seconds"};
  return names;
}

json PackedFigures(const Study& study) {
  json columns = json::object();
  for (const std::string& name : ShownFigures()) columns[name] = json::array();
  json steps_before = json::array(), time_before = json::array();
  for (const StudyPoint& point : study.points) {
    const bool done = point.state == StudyState::kDone;
    PointFigures::Columns(point.figures, [&](const char* name, const char*, const auto& value) {
      const auto column = columns.find(name);
      if (column != columns.end()) column->push_back(done ? PackedValue(value) : json(nullptr));
    });
    const bool reached = done && point.figures.time_to_target;
    const Progress before = reached ? BeforeTarget(point) : Progress{kUnknown, kUnknown};
    steps_before.push_back(PackedValue(before.steps));
    time_before.push_back(PackedValue(before.seconds));
  }
  columns["steps_before_target"] = std::move(steps_before);
  columns["time_before_target"] = std::move(time_before);
  return columns;
}

// Sequences keeps each sequence of numbers once. Points that are replays of one training share all
// sequences but their seconds.
class Sequences {
 public:
  size_t Add(json sequence) {
    const auto [place, added] = positions_.try_emplace(sequence.dump(), all_.size());
    if (added) all_.push_back(std::move(sequence));
    return place->second;
  }
  json Take() { return std::move(all_); }

 private:
  std::map<std::string, size_t> positions_;
  json all_ = json::array();
};

// Returns every `stride`-th evaluation from the first on, and the last, so that seeds keep the same
// steps.
std::vector<const CurveRow*> Thinned(const std::vector<CurveRow>& curve, size_t stride) {
  std::vector<const CurveRow*> rows;
  for (size_t i = 0; i < curve.size(); ++i) {
    if (i % stride == 0 || i + 1 == curve.size()) rows.push_back(&curve[i]);
  }
  return rows;
}

// Returns for each point the positions of its steps, seconds, bytes and values of the metric among
// the sequences; null without a curve.
json CurvesWithStride(const Study& study, size_t stride) {
  Sequences sequences;
  json positions = json::array();
  const size_t metric = ShownPosition(study);
  for (const StudyPoint& point : study.points) {
    if (point.curve.empty()) {
      positions.push_back(nullptr);
      continue;
    }
    json steps, seconds, bytes, values;
    for (const CurveRow* row : Thinned(point.curve, stride)) {
      steps.push_back(row->step);
      seconds.push_back(Rounded(row->simulated_seconds, kCurveDigits));
      bytes.push_back(Rounded(row->nic_bytes, kCurveDigits));
      values.push_back(Rounded(row->metrics.at(metric), kCurveDigits));
    }
    positions.push_back({sequences.Add(std::move(steps)), sequences.Add(std::move(seconds)),
                         sequences.Add(std::move(bytes)), sequences.Add(std::move(values))});
  }
  return {{"stride", stride}, {"points", std::move(positions)}, {"sequences", sequences.Take()}};
}

// Returns the curves, thinned until they have at most the requested number of numbers, or only
// their ends are left.
json PackedCurves(const Study& study, const HtmlOptions& options) {
  size_t longest = 1;
  for (const StudyPoint& point : study.points) longest = std::max(longest, point.curve.size());
  for (size_t stride = 1;;) {
    json curves = CurvesWithStride(study, stride);
    int64_t numbers = 0;
    for (const json& sequence : curves.at("sequences")) {
      numbers += static_cast<int64_t>(sequence.size());
    }
    if (numbers <= options.curve_numbers || stride >= longest) return curves;
    const double more = static_cast<double>(numbers) / static_cast<double>(options.curve_numbers);
    stride = std::max(stride + 1, static_cast<size_t>(static_cast<double>(stride) * more));
  }
}

template <class Values, class Value>
size_t PositionOf(const char* what, const Values& values, const Value& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found != values.end()) return static_cast<size_t>(found - values.begin());
  std::ostringstream text;
  text << value;
  throw Error(what, text.str(), "one that the study lists");
}

// Returns the points as columns of positions in the study's lists. `failures` has the messages of
// failed points, by the point's id.
json PackedPoints(const Study& study) {
  json policies = json::array(), seeds = json::array(), states = json::array();
  json axes = json::array(), failures = json::object();
  for (size_t a = 0; a < study.axes.size(); ++a) axes.push_back(json::array());
  for (const StudyPoint& point : study.points) {
    policies.push_back(PositionOf("policy", study.policies, point.policy));
    seeds.push_back(PositionOf("seed", study.seeds, point.seed));
    states.push_back(static_cast<int>(point.state));
    for (size_t a = 0; a < study.axes.size(); ++a) {
      const StudyAxis& axis = study.axes[a];
      axes[a].push_back(PositionOf(axis.name.c_str(), axis.values, point.values.at(a)));
    }
    if (point.state == StudyState::kFailed) failures[std::to_string(point.id)] = point.message;
  }
  return {{"policy", policies}, {"seed", seeds},        {"state", states},
          {"axes", axes},       {"failures", failures}, {"figures", PackedFigures(study)}};
}

json PackedRun(const std::optional<RunParts>& run) {
  if (!run) return nullptr;
  json tables = json::array();
  for (const Table& table : run->tables) {
    tables.push_back({{"title", table.title}, {"head", table.header}, {"rows", table.rows}});
  }
  return {{"verdict", run->verdict}, {"shown", run->shown}, {"header", run->header},
          {"notes", run->notes},     {"tables", tables},    {"pictures", run->pictures},
          {"files", run->files}};
}

json Packed(const Study& study, const HtmlOptions& options) {
  json axes = json::array();
  for (const StudyAxis& axis : study.axes) {
    json numbers = json::array();
    json texts = json::array();  // texts with the axis: "8 workers"
    for (size_t i = 0; i < axis.values.size(); ++i) texts.push_back(ShowAxisValue(axis, i));
    for (const double number : axis.numbers) numbers.push_back(Rounded(number, kFigureDigits));
    axes.push_back({{"name", axis.name},
                    {"unit", axis.unit},
                    {"values", axis.values},
                    {"texts", texts},
                    {"numbers", numbers}});
  }
  json styles = json::array();
  for (const PolicyStyle& style : StylesOf(study.policies)) {
    styles.push_back({{"colour", style.colour}, {"mark", style.mark}, {"dashes", style.dashes}});
  }
  std::vector<std::string> names;
  for (const std::string& policy : study.policies) names.push_back(MarkedName(study, policy));
  json seeds = json::array();  // texts, because JavaScript's numbers have 53 bits
  for (const uint64_t seed : study.seeds) seeds.push_back(std::to_string(seed));
  return {{"format", kStudyFormat},
          {"live", options.live},
          {"closed_forms",
           options.closed_forms.empty() ? json(nullptr) : json::parse(options.closed_forms)},
          {"run", PackedRun(options.run)},
          {"program", CommandOf("legacy-study")},
          {"name", study.name},
          {"title", study.title},
          {"baseline", study.baseline},
          {"metric", MetricJson(ShownMetric(study))},
          {"target", study.target ? PackedValue(study.target->value) : json(nullptr)},
          {"policies", study.policies},
          {"names", names},  // names of the policies, as they are shown
          {"legend", names == study.policies ? "" : kIdleLegend},
          {"styles", styles},
          {"missed", MissedWords(study)},
          {"seeds", seeds},
          {"axes", axes},
          {"points", PackedPoints(study)},
          {"curves", PackedCurves(study, options)}};
}

// Returns the value as the content of a script element. No text in it can end the element or begin
// a comment.
std::string ScriptText(const json& value) {
  std::string safe;
  for (const char c : value.dump(-1, ' ', false, json::error_handler_t::replace)) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return escaped;
}

}  // namespace

std::string StudyHtml(const Study& study, const HtmlOptions& options) {
  const std::map<std::string_view, std::string> parts = {
      {"@TITLE@", Escaped(study.title.empty() ? study.name : study.title)},
      {"@STYLE@", kPageStyle},
      {"@CHARTS@", kPageCharts},
      {"@SCRIPT@", kPageScript},
      {"@STUDY@", ScriptText(Packed(study, options))}};
  // One pass over the template suffices: inserted text is not searched again.
  std::string page;
  const std::string_view html = kPageHtml;
  for (size_t at = 0; at < html.size();) {
    const size_t begin = html.find('@', at);
    page += html.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const size_t end = html.find('@', begin + 1);
    page += parts.at(html.substr(begin, end - begin + 1));
    at = end + 1;
  }
  return page;
}

}  // namespace legacy::analysis
