// What the figures of a study are put together from: a data file, axes, panels and a legend.
// Sizes are points of the SVG; panels and legend are at fixed places of the picture, so that all
// panels of a figure are alike.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

// NAME.dat: blocks of columns with a heading, which gnuplot reads by `index`.
class DataFile {
 public:
  explicit DataFile(const std::string& figure) : name_(figure + ".dat") {}
  // Rows of equal length; texts are quoted where they have to be. Gives what to plot:
  // "'NAME.dat' index 3". At least one row.
  std::string Add(const std::string& heading, const std::vector<std::string>& columns,
                  const std::vector<std::vector<std::string>>& rows);
  const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
  int blocks_ = 0;
};

std::string Cell(double value);             // a number of a data file
std::string Cell(const std::string& text);  // a text of a data file, quoted

inline constexpr int kCensoredMark = 8;  // open triangle: the target was not reached
inline constexpr const char* kGrey = "#555555";

// The least and the most of what an axis shows.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Add(double value);  // what is not finite is left out
  bool empty() const { return !(low <= high); }
};

// "10M", "2.5k", "0.1%": a number of an axis without its unit. Seconds have no prefix where the
// `least` of the axis is above 10 ms.
std::string PrefixedNumber(double value, const std::string& unit, double least);
// The same with the prefix that suits the `most` of the axis, for linear ones.
std::string CommonPrefixNumber(double value, const std::string& unit, double most);

// "bandwidth [bit/s]"; names without a unit stand alone.
std::string AxisLabel(const std::string& name, const std::string& unit);

// gnuplot's settings of an axis, "x" or "y": range with a margin, scale, ticks. Logarithmic unless
// that is switched off or a value is not positive. `marks`: where the ticks go if they are few and
// the range is not wide; else powers of ten, or 1, 2 and 5 of each.
std::string SetAxis(const std::string& axis, const Range& range, const std::string& unit,
                    bool logarithmic, const std::vector<double>& marks = {});
bool CanBeLogarithmic(const Range& range);

// Columns of panels with a legend at their right and a heading above.
class Panels {
 public:
  struct Size {
    int width = 320;  // of a panel, with its labels
    int height = 250;
    int left = 70;  // of these, for labels
    int bottom = 48;
    int top = 24;
    int right = 14;
    int names = 0;  // more at the left of the first column, once: for names of rows
  };
  // `legend`: its longest text; `columns`: 0 for as many as look well.
  Panels(size_t count, const Size& size, const std::vector<std::string>& legend, int columns = 0);

  int columns() const { return columns_; }
  int width() const;
  int height() const;
  // True where the panel is the first of its row, or has none below it: outer labels go there.
  bool AtLeft(size_t panel) const { return panel % static_cast<size_t>(columns_) == 0; }
  bool AtBottom(size_t panel) const { return panel + static_cast<size_t>(columns_) >= count_; }

  std::string Place(size_t panel) const;  // margins
  std::string ColourBox(
      const std::string& label) const;  // a scale of colours in the legend's place
  // A whole figure: heading and subtitle, `panels` (settings and plot of each), the legend's
  // entries (as for `plot`, "keyentry ... title ...").
  std::string Figure(const std::string& name, const std::string& heading,
                     const std::string& subtitle, const std::vector<std::string>& panels,
                     const std::vector<std::string>& legend) const;

 private:
  size_t count_;
  Size size_;
  int columns_;
  int rows_;
  int legend_;  // width
  int legend_height_;
};

// "plot a, \ b, \ c"
std::string Plot(const std::vector<std::string>& parts);

// The setting of a panel's title; a long one stands in two or more smaller lines, broken at its
// commas.
std::string PanelTitle(const std::string& name);

// Entries of the legend: a line with marks in the policy's style, or marks alone.
std::string LineEntry(const Study& study, size_t policy);
std::string MarkEntry(int point_type, const std::string& colour, const std::string& text);
std::string PolicyLabel(const Study& study, size_t policy);  // short enough for a legend

// Positions of `limit` at most of `count` things, evenly spread, with the first and the last.
std::vector<size_t> EvenlySpread(size_t count, size_t limit);

}  // namespace legacy::analysis
