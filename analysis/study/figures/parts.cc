#include "analysis/study/figures/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/table_text.h"
#include "base/programs/terminal.h"

namespace legacy::analysis {
namespace {

constexpr size_t kNameLimit = 28;      // most characters of a policy's name in a legend
constexpr double kCharacterWidth = 7;  // width of the legend's font, points
constexpr double kLineHeight = 21;     // height of a line of the legend, points
constexpr int kXLabelRise = 9;     // height of the middle of x's label above the panel's lower edge
constexpr int kYLabelIndent = 14;  // distance of the middle of y's label from the panel's left edge
constexpr size_t kMostCurves = 14;   // most curves that a reader of a panel can tell apart
constexpr double kEndLabelGap = 13;  // points between labels at the ends of curves
constexpr double kEndLabelCharacter = 6.3;
constexpr int kEndLabelIndent = 29;  // distance of the texts from the panel's end
// Settings with which all figures begin.
constexpr const char* kPreamble =
    "reset\n"
    "set encoding utf8\n"
    "set border 3 lc rgb '#444444'\n"
    "set tics nomirror out scale 0.6,0.4 textcolor rgb '#222222' font ',10'\n"
    "set xtics offset 0,0.5\n"
    "set style line 100 lc rgb '#E2E2E2' lw 0.7\n"
    "set grid back ls 100\n"
    "unset key\n";

}  // namespace

std::string DataFile::Add(const std::string& heading, const std::vector<std::string>& columns,
                          const std::vector<std::vector<std::string>>& rows) {
  if (blocks_ > 0) text_ += "\n\n";
  std::string line = heading;
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  text_ += fmt::format("# {}\n# {}\n", line, fmt::join(columns, " "));
  for (const std::vector<std::string>& row : rows) {
    text_ += fmt::format("{}\n", fmt::join(row, " "));
  }
  return fmt::format("'{}' index {}", name_, blocks_++);
}

std::string Cell(double value) { return std::isfinite(value) ? CsvNumber(value) : "NaN"; }

std::string Cell(const std::string& text) {
  std::string quoted = "\"";  // gnuplot has no escape for a quote in a text
  for (const char c : text) {
    quoted += c == '"' ? '\'' : static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + "\"";
}

double DeviationOf(const Spread& spread) {
  return std::isnan(spread.deviation) ? 0 : spread.deviation;
}

namespace {

double LongestLabel(const Study& study, const std::vector<size_t>& policies) {
  size_t longest = 0;
  for (const size_t policy : policies) {
    longest = std::max(longest, DisplayWidth(PolicyLabel(study, policy)));
  }
  return static_cast<double>(longest);
}

}  // namespace

// The places are pushed upwards in one copy and downwards in another. The mean of both has the gaps
// as well, and is then pushed back between the ends.
void PushApart(std::vector<double>& places, double gap, double most) {
  const auto up = [&](std::vector<double> all) {
    double least = gap / 2;
    for (double& place : all) least = (place = std::max(place, least)) + gap;
    return all;
  };
  const auto down = [&](std::vector<double> all) {
    double limit = most - gap / 2;
    for (auto place = all.rbegin(); place != all.rend(); ++place) {
      limit = (*place = std::min(*place, limit)) - gap;
    }
    return all;
  };
  const std::vector<double> upper = up(places), lower = down(places);
  for (size_t i = 0; i < places.size(); ++i) places[i] = (lower[i] + upper[i]) / 2;
  places = up(down(places));
}

Panels::Panels(size_t count, const Size& size, Legend legend, int columns)
    : count_(count), size_(size), columns_(columns), legend_(std::move(legend)) {
  if (columns_ == 0) columns_ = count == 4 ? 2 : std::min<int>(3, static_cast<int>(count));
  rows_ = (static_cast<int>(count) + columns_ - 1) / columns_;
  size_t longest = 0;
  for (const std::string& text : legend_.texts) longest = std::max(longest, DisplayWidth(text));
  legend_width_ = legend_.texts.empty()
                      ? 20
                      : 64 + static_cast<int>(kCharacterWidth * static_cast<double>(longest));
  legend_height_ =
      size_.top + static_cast<int>(kLineHeight * static_cast<double>(legend_.texts.size()));
}

int Panels::width() const { return size_.names + columns_ * size_.width + legend_width_; }
int Panels::height() const {
  return std::max(rows_ * size_.height, legend_height_) + kHeadingHeight;
}

std::string Panels::Place(size_t panel, const AxisLabels& labels) const {
  const int left = size_.names + static_cast<int>(panel) % columns_ * size_.width;
  const int top = static_cast<int>(panel) / columns_ * size_.height + kHeadingHeight;
  const double all_width = width(), all_height = height();
  const int first = left + size_.left, last = left + size_.width - size_.right;
  const int upper = top + size_.top, lower = top + size_.height - size_.bottom;
  std::string text = fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n"
      "set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\nunset label\nunset arrow\n",
      first / all_width, last / all_width, 1 - upper / all_height, 1 - lower / all_height);
  const auto label = [&](const std::string& words, double x, double y, const char* turn) {
    text +=
        fmt::format("set label {} at screen {:.5f}, screen {:.5f} center {}font ',11' noenhanced\n",
                    Quote(words), x / all_width, 1 - y / all_height, turn);
  };
  if (AtBottom(panel)) label(labels.x, (first + last) / 2.0, top + size_.height - kXLabelRise, "");
  if (AtLeft(panel) && !labels.y.empty()) {
    label(labels.y, left + kYLabelIndent, (upper + lower) / 2.0, "rotate by 90 ");
  }
  return text;
}

std::string Panels::ColourBox(const std::string& label) const {
  const double all = width();
  const double top = 1 - (kHeadingHeight + size_.top) / static_cast<double>(height());
  const double tall = std::min(top - 0.02, 220.0 / height());
  return fmt::format(
      "set colorbox vertical user origin {:.5f},{:.5f} size {:.5f},{:.5f}\n"
      "set cblabel {} font ',11'\n",
      (size_.names + columns_ * size_.width + 6) / all, top - tall, 14 / all, tall, Quote(label));
}

std::string Panels::Figure(const std::string& name, const std::string& heading,
                           const std::string& subtitle, const AxisLabels& labels,
                           const std::vector<std::string>& panels) const {
  std::string body = kPreamble + std::string("set multiplot\n");
  for (size_t i = 0; i < panels.size(); ++i) body += Place(i, labels) + panels[i];
  // An empty plot over the whole picture has the heading and the legend.
  const double left = size_.names + columns_ * size_.width + 2;
  body += fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen 0.999\n"
      "set tmargin at screen {:.5f}\nset bmargin at screen 0.001\n"
      "unset border\nunset tics\nunset grid\nunset title\n"
      "unset colorbox\nunset logscale\nunset arrow\nunset label\n"
      "set xrange [0:1]\nset yrange [0:1]\n"
      "set key at graph 0, graph 1 left top Left reverse vertical maxrows 60 samplen 3.6 "
      "spacing 1.25 font ',11' noenhanced noopaque\n",
      left / width(), 1 - (kHeadingHeight + size_.top / 2.0) / height());
  body += PictureHeading(heading, subtitle, width(), height());
  std::vector<std::string> entries = {"NaN notitle"};  // legend entries need a plot with axes
  entries.insert(entries.end(), legend_.entries.begin(), legend_.entries.end());
  body += Plot(entries);
  return Output(name, width(), height(), body + "unset multiplot\n");
}

std::string Plot(const std::vector<std::string>& parts) {
  return fmt::format("plot {}\n", fmt::join(parts, ", \\\n     "));
}

std::string PolicyLabel(const Study& study, size_t policy) {
  return Shorten(study.policies[policy], kNameLimit);
}

std::string PanelTitle(const std::string& name) {
  constexpr size_t kWidth = 50;  // characters that fit in a panel's width
  if (name.size() <= kWidth) {
    return fmt::format("set title {} font ',11' offset 0,-0.5 noenhanced\n", Quote(name));
  }
  std::string lines;
  std::string line;
  for (size_t begin = 0; begin < name.size();) {
    const size_t comma = name.find(", ", begin);
    const size_t end = comma == std::string::npos ? name.size() : comma + 2;
    const std::string part = name.substr(begin, end - begin);
    if (!line.empty() && line.size() + part.size() > kWidth) {
      lines += Quote(line) + ".\"\\n\".";
      line.clear();
    }
    line += part;
    begin = end;
  }
  return fmt::format("set title {} font ',8' offset 0,-0.7 noenhanced\n", lines + Quote(line));
}

void Legend::AddLine(const Study& study, size_t policy, bool line) {
  const PolicyStyle style = StyleOf(study, policy);
  texts.push_back(PolicyLabel(study, policy));
  entries.push_back(fmt::format("keyentry with {} {} lw 1.6 ps 0.8 title {}",
                                line ? "linespoints" : "points",
                                line ? CurveStyle(style) : MarkStyle(style), Quote(texts.back())));
}

void Legend::AddMark(int point_type, const std::string& text) {
  texts.push_back(text);
  entries.push_back(fmt::format("keyentry with points lc rgb '{}' lw 1.4 pt {} ps 1 title {}",
                                kGrey, point_type, Quote(text)));
}

std::vector<std::string> BoundParts(const std::string& block, char axis) {
  const std::string length = CsvNumber(kBoundArrow - 1);
  const std::string arrow =
      axis == 'x' ? fmt::format("($1 * {}):(0)", length) : fmt::format("(0):($2 * {})", length);
  return {
      fmt::format("{} using 1:2:{} with vectors head filled size screen 0.008,20 lc rgb '{}' lw 1",
                  block, arrow, kGrey),
      fmt::format("{} using 1:2 with points lc rgb '{}' lw 1.4 pt {} ps 0.9", block, kGrey,
                  kCensoredMark)};
}

PolicyStyle StyleOf(const Study& study, size_t policy) {
  return StylesOf(study.policies).at(policy);
}

std::string CurveStyle(const PolicyStyle& style) {
  return fmt::format("lc rgb '{}' dt {} pt {}", style.colour, style.dashes, style.point_type);
}

std::string MarkStyle(const PolicyStyle& style) {
  return fmt::format("lc rgb '{}' pt {}", style.colour, style.point_type);
}

std::string RowNames(const Study& study, const std::vector<size_t>& policies, bool names) {
  std::vector<std::string> ticks;
  for (size_t row = 0; row < policies.size(); ++row) {
    ticks.push_back(
        fmt::format("{} -{}", QuoteTick(names ? PolicyLabel(study, policies[row]) : ""), row));
  }
  return fmt::format("set ytics scale 0 ({}) noenhanced\nset yrange [{}:0.6]\n",
                     fmt::join(ticks, ", "), CsvNumber(0.4 - static_cast<double>(policies.size())));
}

int RowNamesWidth(const Study& study, const std::vector<size_t>& policies) {
  return 16 + static_cast<int>(6.6 * LongestLabel(study, policies));
}

std::vector<PolicyGroup> GroupsOf(const Study& study, const std::vector<bool>& shown) {
  PolicyGroup all;
  for (size_t p = 0; p < shown.size(); ++p) {
    if (shown[p]) all.policies.push_back(p);
  }
  if (all.policies.size() <= kMostCurves) return {all};
  std::vector<PolicyGroup> groups;
  for (size_t family = 0; family < kFamilies.size(); ++family) {
    PolicyGroup group{kFamilies[family], {}};
    size_t members = 0;
    for (const size_t p : all.policies) {
      const bool member = FamilyOf(study.policies[p]) == family;
      members += member ? 1 : 0;
      if (member || study.policies[p] == study.baseline) group.policies.push_back(p);
    }
    if (members > 0) groups.push_back(std::move(group));
  }
  return groups;
}

std::string EndLabels(const Study& study, std::vector<CurveEnd> ends, const Range& y,
                      bool logarithmic, const Panels::Size& size) {
  std::ranges::stable_sort(ends, {}, &CurveEnd::y);
  const double height = size.height - size.top - size.bottom;
  const double width = size.width - size.left - size.right;
  std::vector<double> places;
  for (const CurveEnd& end : ends) places.push_back(height * PartOfAxis(y, logarithmic, end.y));
  PushApart(places, kEndLabelGap, height);
  std::string text;
  for (size_t i = 0; i < ends.size(); ++i) {
    PolicyStyle style = StyleOf(study, ends[i].policy);
    if (ends[i].bound) {
      style.colour = kGrey;
      style.point_type = kCensoredMark;
    }
    const std::string at = CsvNumber(places[i] / height);
    const std::string name = Quote(PolicyLabel(study, ends[i].policy));
    text += fmt::format(
        "set arrow from {},{} to graph {}, graph {} nohead back lc rgb '{}' lw 0.5\n"
        "set label '' at graph {}, graph {} point lc rgb '{}' pt {} ps 0.7\n"
        "set label {} at graph {}, graph {} left font ',10' tc rgb '#222222' noenhanced\n",
        CsvNumber(ends[i].x), CsvNumber(ends[i].y), CsvNumber(1 + 16 / width), at, style.colour,
        CsvNumber(1 + 21 / width), at, style.colour, style.point_type, name,
        CsvNumber(1 + kEndLabelIndent / width), at);
  }
  return text;
}

Panels::Size GroupSize(const Study& study, const std::vector<PolicyGroup>& groups) {
  double longest = 0;
  for (const PolicyGroup& group : groups) {
    longest = std::max(longest, LongestLabel(study, group.policies));
  }
  Panels::Size size;
  size.right = kEndLabelIndent + 8 + static_cast<int>(kEndLabelCharacter * longest);
  size.width = size.left + (groups.size() > 1 ? 300 : 500) + size.right;
  size.height = groups.size() > 1 ? 250 : 420;
  return size;
}

int GroupColumns(size_t places, size_t groups) {
  if (groups == 1) return 0;
  return places == 2 || places == 3 ? static_cast<int>(places) : 2;
}

std::string GroupTitle(const std::string& place, const PolicyGroup& group) {
  return PanelTitle(place + (place.empty() || group.name.empty() ? "" : ": ") + group.name);
}

std::vector<size_t> EvenlySpread(size_t count, size_t limit) {
  std::vector<size_t> positions;
  const size_t shown = std::min(count, limit);
  for (size_t i = 0; i < shown; ++i) {
    positions.push_back(shown == 1 ? 0 : (i * (count - 1) + (shown - 1) / 2) / (shown - 1));
  }
  return positions;
}

}  // namespace legacy::analysis
