#include "analysis/study/figures/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/policy_style.h"
#include "analysis/table_text.h"

namespace legacy::analysis {
namespace {

constexpr size_t kNameLimit = 28;      // characters of a policy's name in a legend
constexpr double kCharacterWidth = 7;  // of the legend's font, points
constexpr double kLineHeight = 17.5;   // of the legend, points
constexpr int kHeadingHeight = 56;
constexpr int kTickGap = 34;  // that a tick's label needs at least, as part of 1,000 of its axis

struct Prefix {
  const char* name;
  double size;
};
constexpr std::array<Prefix, 8> kPrefixes = {{{"n", 1e-9},
                                              {"µ", 1e-6},
                                              {"m", 1e-3},
                                              {"", 1},
                                              {"k", 1e3},
                                              {"M", 1e6},
                                              {"G", 1e9},
                                              {"T", 1e12}}};

constexpr Prefix kUnity = {"", 1};

// The settings that all figures begin with.
constexpr const char* kPreamble =
    "reset\n"
    "set encoding utf8\n"
    "set border 3 lc rgb '#444444'\n"
    "set tics nomirror out textcolor rgb '#222222' font ',10'\n"
    "set style line 100 lc rgb '#E2E2E2' lw 0.7\n"
    "set grid back ls 100\n"
    "unset key\n";

// Ticks at 1, 2 and 5 of each power of ten where these are few, else at the powers alone.
std::vector<double> LogarithmicTicks(double low, double high) {
  const double decades = std::log10(high / low);
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const int stride = std::max(1, static_cast<int>(decades / 7 + 0.5));
  std::vector<double> ticks;
  for (int power = first; power <= last; ++power) {
    for (const int digit : {1, 2, 5}) {
      const double tick = digit * std::pow(10, power);
      const bool shown = digit == 1 ? (power - first) % stride == 0 : decades < 1.6;
      if (shown && tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

// `value` with the prefix that suits `reference`; none for what is below 9999 where that is
// `plain`.
std::string WithPrefixOf(double value, double reference, bool plain) {
  const double magnitude = std::abs(reference);
  Prefix prefix = kUnity;
  if (magnitude > 0 && !(plain && magnitude < 9999)) {
    prefix = kPrefixes[0];
    for (const Prefix& candidate : kPrefixes) {
      if (magnitude >= candidate.size * 0.9999) prefix = candidate;
    }
  }
  const double scaled = value / prefix.size;
  if (scaled == 0) return "0";
  const bool large = std::abs(scaled) >= 999.5;
  return (large ? fmt::format("{:.0f}", scaled) : fmt::format("{:.3g}", scaled)) + prefix.name;
}

// Small ticks without a label at 2 to 9 of each power of ten.
std::string MinorTicks(double low, double high) {
  std::string text;
  if (high / low > 1e6) return text;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (int digit = 1; digit < 10; ++digit) {
      const double tick = digit * power;
      if (tick >= low && tick <= high) text += fmt::format(", '' {} 1", CsvNumber(tick));
    }
  }
  return text;
}

// `marks` where their labels stand apart on the axis.
bool StandApart(const std::vector<double>& marks, double low, double high, bool logarithmic) {
  if (marks.empty() || marks.size() > 8) return false;
  const auto place = [&](double value) {
    return logarithmic ? std::log(value / low) / std::log(high / low)
                       : (value - low) / (high - low);
  };
  for (size_t i = 1; i < marks.size(); ++i) {
    if (1000 * (place(marks[i]) - place(marks[i - 1])) < 2.5 * kTickGap) return false;
  }
  return !logarithmic || high / low < 100;
}

std::string LinearAxis(const std::string& axis, double low, double high, const std::string& unit,
                       const std::vector<double>& marks) {
  std::string text = fmt::format("unset logscale {0}\nset {0}range [{1}:{2}]\n", axis,
                                 CsvNumber(low), CsvNumber(high));
  std::vector<std::string> ticks;
  if (StandApart(marks, low, high, false)) {
    for (const double mark : marks) {
      ticks.push_back(QuoteTick(CommonPrefixNumber(mark, unit, high)) + " " + CsvNumber(mark));
    }
  } else {
    const double rough = (high - low) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    const double step = (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : 5) * power;
    for (double count = std::ceil(low / step); count * step <= high; ++count) {
      ticks.push_back(QuoteTick(CommonPrefixNumber(count * step, unit, high)) + " " +
                      CsvNumber(count * step));
    }
  }
  return text + fmt::format("set {}tics ({})\n", axis, fmt::join(ticks, ", "));
}

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
  std::string quoted = "\"";  // gnuplot has no escape for a quote inside
  for (const char c : text) {
    quoted += c == '"' ? '\'' : static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + "\"";
}

void Range::Add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

std::string PrefixedNumber(double value, const std::string& unit, double least) {
  if (unit == "fraction") return fmt::format("{:.3g}%", 100 * value);
  return WithPrefixOf(value, value, unit.empty() || (unit == "s" && least >= 0.0099));
}

std::string CommonPrefixNumber(double value, const std::string& unit, double most) {
  if (unit == "fraction") return fmt::format("{:.3g}%", 100 * value);
  return WithPrefixOf(value, most, unit.empty() || (unit == "s" && most >= 0.0099));
}

std::string AxisLabel(const std::string& name, const std::string& unit) {
  return unit.empty() || unit == "fraction" ? name : fmt::format("{} [{}]", name, unit);
}

bool CanBeLogarithmic(const Range& range) { return !range.empty() && range.low > 0; }

std::string SetAxis(const std::string& axis, const Range& range, const std::string& unit,
                    bool logarithmic, const std::vector<double>& marks) {
  if (!logarithmic || !CanBeLogarithmic(range)) {
    const double margin = range.high > range.low ? 0.04 * (range.high - range.low)
                                                 : std::max(1.0, std::abs(range.high)) / 2;
    return LinearAxis(axis, range.low == 0 ? 0 : range.low - margin, range.high + margin, unit,
                      marks);
  }
  const double factor = range.high > range.low * 1.001 ? std::pow(range.high / range.low, 0.04) : 2;
  const double low = range.low / factor, high = range.high * factor;
  std::vector<double> ticks = LogarithmicTicks(low, high);
  const bool marked = StandApart(marks, low, high, true);
  if (marked) {
    ticks = marks;
  } else if (ticks.size() < 2) {
    ticks = {range.low, range.high};
  }
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    labels.push_back(QuoteTick(PrefixedNumber(tick, unit, ticks.front())) + " " + CsvNumber(tick));
  }
  return fmt::format("set logscale {0}\nset {0}range [{1}:{2}]\nset {0}tics ({3}{4})\n", axis,
                     CsvNumber(low), CsvNumber(high), fmt::join(labels, ", "),
                     marked ? "" : MinorTicks(low, high));
}

Panels::Panels(size_t count, const Size& size, const std::vector<std::string>& legend, int columns)
    : count_(count), size_(size), columns_(columns) {
  if (columns_ == 0) columns_ = count == 4 ? 2 : std::min<int>(3, static_cast<int>(count));
  rows_ = (static_cast<int>(count) + columns_ - 1) / columns_;
  size_t longest = 0;
  for (const std::string& text : legend) longest = std::max(longest, DisplayWidth(text));
  legend_ =
      legend.empty() ? 20 : 64 + static_cast<int>(kCharacterWidth * static_cast<double>(longest));
  legend_height_ = size_.top + static_cast<int>(kLineHeight * static_cast<double>(legend.size()));
}

int Panels::width() const { return size_.names + columns_ * size_.width + legend_; }
int Panels::height() const {
  return std::max(rows_ * size_.height, legend_height_) + kHeadingHeight;
}

std::string Panels::Place(size_t panel) const {
  const int left = size_.names + static_cast<int>(panel) % columns_ * size_.width;
  const int top = static_cast<int>(panel) / columns_ * size_.height + kHeadingHeight;
  const double all_width = width(), all_height = height();
  return fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n"
      "set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n",
      (left + size_.left) / all_width, (left + size_.width - size_.right) / all_width,
      1 - (top + size_.top) / all_height, 1 - (top + size_.height - size_.bottom) / all_height);
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
                           const std::string& subtitle, const std::vector<std::string>& panels,
                           const std::vector<std::string>& legend) const {
  std::string body = kPreamble + std::string("set multiplot\n");
  for (size_t i = 0; i < panels.size(); ++i) body += Place(i) + panels[i];
  // Heading and legend belong to an empty plot over the whole picture.
  const double left = size_.names + columns_ * size_.width + 2;
  body += fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen 0.999\n"
      "set tmargin at screen {:.5f}\nset bmargin at screen 0.001\n"
      "unset border\nunset tics\nunset grid\nunset xlabel\nunset ylabel\nunset title\n"
      "unset colorbox\nunset logscale\nunset arrow\nunset label\n"
      "set xrange [0:1]\nset yrange [0:1]\n"
      "set key at graph 0, graph 1 left top Left reverse vertical maxrows 60 samplen 3.6 "
      "spacing 1.25 font ',11' noenhanced noopaque\n",
      left / width(), 1 - (kHeadingHeight + size_.top / 2.0) / height());
  body += fmt::format(
      "set label {} at screen {:.5f}, screen {:.5f} left font ',15' noenhanced\n"
      "set label {} at screen {:.5f}, screen {:.5f} left font ',11' tc rgb '#555555' noenhanced\n",
      Quote(heading), 12.0 / width(), 1 - 18.0 / height(), Quote(subtitle), 12.0 / width(),
      1 - 40.0 / height());
  std::vector<std::string> entries = {"NaN notitle"};  // entries alone have no axes to stand beside
  entries.insert(entries.end(), legend.begin(), legend.end());
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
  constexpr size_t kWidth = 44;  // characters that a panel has room for
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

std::string LineEntry(const Study& study, size_t policy) {
  const PolicyStyle style = StyleOfPolicy(policy);
  return fmt::format("keyentry with linespoints lc rgb '{}' dt {} lw 1.6 pt {} ps 0.8 title {}",
                     style.colour, style.dashes, style.point_type,
                     Quote(PolicyLabel(study, policy)));
}

std::string MarkEntry(int point_type, const std::string& colour, const std::string& text) {
  return fmt::format("keyentry with points lc rgb '{}' lw 1.4 pt {} ps 1 title {}", colour,
                     point_type, Quote(text));
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
