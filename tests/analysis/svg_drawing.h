// The figures of an SVG that gnuplot drew, panel by panel, and the places of values in them by
// the labels of their axes, as a reader of the picture would find them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace legacy::analysis {

struct DrawnText {
  std::string text;
  double x = 0, y = 0;  // of its anchor, in points from the left and from the top
  std::string anchor;   // start, middle or end
  std::string colour;
  double size = 0;
};

struct DrawnMark {
  int form = 0;  // number of gnuplot's mark, as in `pt`
  double x = 0, y = 0;
  double scale = 0;
  std::string colour;
};

// A DrawnBox is a filled rectangle.
struct DrawnBox {
  double left = 0, right = 0, top = 0, bottom = 0;
  std::string colour;  // of a pattern, that of its first line
  bool hatched = false;
  double x() const { return (left + right) / 2; }
  double y() const { return (top + bottom) / 2; }
};

struct DrawnLine {
  std::vector<std::pair<double, double>> points;
  std::string colour;
  std::string dashes;  // "" for a solid line
};

// A DrawnPlot is the drawing of one part of a `plot` command: "'tta.dat' index 3 using 1:2", or a
// title.
struct DrawnPlot {
  std::string source;
  std::vector<DrawnMark> marks;
  std::vector<DrawnBox> boxes;
  std::vector<DrawnLine> lines;
  std::vector<DrawnText> texts;
};

// A DrawnAxis has the places of the numbers at an axis.
struct DrawnAxis {
  std::vector<std::pair<double, double>> ticks;  // value and place
  // Returns where a value is, by the first and the last tick.
  double PlaceOf(double value, bool logarithmic) const {
    const auto at = [&](double v) { return logarithmic ? std::log(v) : v; };
    const auto [low, from] = ticks.front();
    const auto [high, to] = ticks.back();
    return from + (to - from) * (at(value) - at(low)) / (at(high) - at(low));
  }
};

// Returns the number of a tick: "10M", "0.1%", "2 ms", "1/4"; nothing if it is not a number.
inline std::optional<double> NumberOfTick(const std::string& text) {
  std::smatch parts;
  static const std::regex form(R"(^(-?[\d.]+)(?:/(\d+))? ?(n|µ|m|k|M|G|T|%)?$)");
  if (!std::regex_match(text, parts, form)) return std::nullopt;
  static const std::map<std::string, double> prefixes = {{"", 1},     {"n", 1e-9}, {"µ", 1e-6},
                                                         {"m", 1e-3}, {"k", 1e3},  {"M", 1e6},
                                                         {"G", 1e9},  {"T", 1e12}, {"%", 0.01}};
  const double below = parts[2].matched ? std::stod(parts[2]) : 1;
  return std::stod(parts[1]) / below * prefixes.at(parts[3]);
}

// A DrawnPanel is one panel of a figure: its frame, its plots, and the texts outside of plots that
// are nearer to it than to any other panel.
struct DrawnPanel {
  double left = 0, right = 0, top = 0, bottom = 0;
  std::vector<DrawnText> texts;
  std::vector<DrawnPlot> plots;

  // Returns how far a place is from the frame; 0 inside.
  double DistanceTo(double x, double y) const {
    return std::hypot(std::max({left - x, x - right, 0.0}), std::max({top - y, y - bottom, 0.0}));
  }

  // Returns the ticks of an axis, "x" below the panel or "y" at its left, with their places. Their
  // texts have that size.
  DrawnAxis Axis(char axis, double size = kTickSize) const {
    DrawnAxis found;
    for (const DrawnText& text : texts) {
      const std::optional<double> number = NumberOfTick(text.text);
      if (!number || text.size != size) continue;
      if (axis == 'x' && text.anchor == "middle" && text.y > bottom) {
        found.ticks.emplace_back(*number, text.x);
      }
      if (axis == 'y' && text.anchor == "end" && text.x < left) {
        found.ticks.emplace_back(*number, text.y - kTextDrop * size / kTickSize);
      }
    }
    if (found.ticks.size() < 2) throw std::runtime_error("no ticks");
    return found;
  }
  // Returns the texts that are equal to this one.
  std::vector<DrawnText> Find(const std::string& text) const {
    std::vector<DrawnText> found;
    std::ranges::copy_if(texts, std::back_inserter(found),
                         [&](const DrawnText& one) { return one.text == text; });
    return found;
  }
  // Returns the plots of a block of the data file.
  std::vector<DrawnPlot> OfBlock(size_t block) const {
    const std::string index = " index " + std::to_string(block) + " ";
    std::vector<DrawnPlot> found;
    std::ranges::copy_if(plots, std::back_inserter(found), [&](const DrawnPlot& plot) {
      return plot.source.find(index) != std::string::npos;
    });
    return found;
  }

  static constexpr double kTickSize = 10;
  static constexpr double kTextDrop = 3.25;  // of a text's base line below the middle of its height
};

class SvgDrawing {
 public:
  explicit SvgDrawing(const std::string& svg) {
    const std::regex token(
        R"re(id="gnuplot_plot_\d+([a-z]*)" ?><title>([^<]*)<)re"
        R"re(|translate\(([-\d.]+),([-\d.]+)\)[^>]*fill="([^"]*)"[^>]*font-size="([\d.]+)"\s+text-anchor="(\w+)"[^>]*>\s*<text>(?:<tspan[^>]*>)?([^<]*))re"
        R"re(|href='#gpPt(\d+)' transform='translate\(([-\d.]+),([-\d.]+)\) scale\(([\d.]+)\)' color='([^']*)')re"
        R"re(|<polygon +fill = '([^']*)' points = '([^']*)')re"
        R"re(|<path stroke='([^']*)'(?: stroke-dasharray='([^']*)')?\s+(class="gridline")?\s*d='([^']*)')re"
        R"re(|(</g>\n\t</g>\n))re");
    std::string letter;
    std::vector<DrawnText> outside;  // texts outside of plots
    bool inside = false;
    for (std::sregex_iterator it(svg.begin(), svg.end(), token), end; it != end; ++it) {
      const std::smatch& found = *it;
      if (found[2].matched) {
        if (panels.empty() || found[1] != letter) panels.emplace_back();
        letter = found[1];
        panels.back().plots.push_back({Unescaped(found[2]), {}, {}, {}, {}});
        inside = true;
      } else if (found[8].matched) {
        const DrawnText text{Unescaped(found[8]), std::stod(found[3]),
                             std::stod(found[4]), found[7],
                             Colour(found[5]),    std::stod(found[6])};
        (inside ? panels.back().plots.back().texts : outside).push_back(text);
      } else if (found[9].matched && inside) {
        panels.back().plots.back().marks.push_back({std::stoi(found[9]) + 1, std::stod(found[10]),
                                                    std::stod(found[11]), std::stod(found[12]),
                                                    Colour(found[13])});
      } else if (found[14].matched && inside) {
        AddBox(found[14], found[15]);
      } else if (found[16].matched && inside && !found[18].matched) {
        AddLines(found);
      } else if (found[20].matched) {
        inside = false;
      } else if (found[16].matched && !inside && !panels.empty()) {
        SetFrame(found);
      }
    }
    for (const DrawnText& text : outside) {
      const auto distance = [&](const DrawnPanel& panel) {
        return panel.right > 0 ? panel.DistanceTo(text.x, text.y) : INFINITY;
      };
      std::ranges::min_element(panels, {}, distance)->texts.push_back(text);
    }
  }

  std::vector<DrawnPanel> panels;

 private:
  // The border of a panel follows its plots. It is one line from the upper left corner through the
  // lower left one to the lower right one. The last panel has the legend, and no border.
  void SetFrame(const std::smatch& path) {
    const auto points = Points(std::string(path[19]).substr(0, std::string(path[19]).find('M', 1)));
    if (points.size() != 3 || panels.back().right > 0) return;
    panels.back().left = points[0].first;
    panels.back().top = points[0].second;
    panels.back().right = points[2].first;
    panels.back().bottom = points[2].second;
  }

  static std::string Unescaped(std::string text) {
    for (const auto& [from, to] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (size_t at; (at = text.find(from)) != std::string::npos;) {
        text.replace(at, std::string(from).size(), to);
      }
    }
    return text;
  }

  // Returns "#RRGGBB" of "rgb(  0, 114, 178)".
  static std::string Colour(const std::string& text) {
    static const std::regex rgb(R"(rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\))");
    std::smatch parts;
    if (!std::regex_search(text, parts, rgb)) return text;
    char colour[8];
    std::snprintf(colour, sizeof colour, "#%02X%02X%02X", std::stoi(parts[1]), std::stoi(parts[2]),
                  std::stoi(parts[3]));
    return colour;
  }

  static std::vector<std::pair<double, double>> Points(const std::string& text) {
    static const std::regex pair(R"(([-\d.]+),([-\d.]+))");
    std::vector<std::pair<double, double>> points;
    for (std::sregex_iterator it(text.begin(), text.end(), pair), end; it != end; ++it) {
      points.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
    }
    return points;
  }

  void AddBox(const std::string& fill, const std::string& points) {
    DrawnBox box{INFINITY, -INFINITY, INFINITY, -INFINITY, Colour(fill), false};
    box.hatched = fill.find("url") != std::string::npos;
    for (const auto& [x, y] : Points(points)) {
      box.left = std::min(box.left, x);
      box.right = std::max(box.right, x);
      box.top = std::min(box.top, y);
      box.bottom = std::max(box.bottom, y);
    }
    panels.back().plots.back().boxes.push_back(box);
  }

  // A path has a line for each of its moves.
  void AddLines(const std::smatch& found) {
    const std::string path = found[19];
    for (size_t at = path.find('M'); at != std::string::npos;) {
      const size_t next = path.find('M', at + 1);
      panels.back().plots.back().lines.push_back(
          {Points(path.substr(at, next - at)), Colour(found[16]), found[17]});
      at = next;
    }
  }
};

}  // namespace legacy::analysis
