// What the figures of a study are put together from: a data file, axes, panels and a legend.
// Sizes are points of the SVG; panels and legend are at fixed places of the picture, so that all
// panels of a figure are alike.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "analysis/policy_style.h"
#include "analysis/study/study.h"
#include "analysis/summary.h"

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

double DeviationOf(const Spread& spread);  // 0 where it is not known

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
// Where on the axis a value is: 0 at its beginning, 1 at its end.
double PartOfAxis(const Range& range, bool logarithmic, double value);

// Moves ascending places apart, to `gap` at least, between 0 and `most`.
void PushApart(std::vector<double>& places, double gap, double most);

// Entries of a figure's legend (as for `plot`, "keyentry ... title ..."), with their texts.
struct Legend {
  std::vector<std::string> entries;
  std::vector<std::string> texts;
  void AddLine(const Study& study, size_t policy);  // in the policy's style, with its mark
  void AddMark(int point_type, const std::string& text);
};

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
  // `columns`: 0 for as many as look well.
  Panels(size_t count, const Size& size, Legend legend, int columns = 0);

  int columns() const { return columns_; }
  int width() const;
  int height() const;
  bool AtLeft(size_t panel) const { return panel % static_cast<size_t>(columns_) == 0; }

  // A scale of colours in the legend's place.
  std::string ColourBox(const std::string& label) const;
  // The labels of the axes stand at places of their own, where no terminal's margins can push them
  // out of the picture: x below panels that have none below, y beside the first of each row.
  struct AxisLabels {
    std::string x, y;
  };
  // A whole figure: heading and subtitle, `panels` (settings and plot of each), the legend.
  std::string Figure(const std::string& name, const std::string& heading,
                     const std::string& subtitle, const AxisLabels& labels,
                     const std::vector<std::string>& panels) const;

 private:
  bool AtBottom(size_t panel) const { return panel + static_cast<size_t>(columns_) >= count_; }
  std::string Place(size_t panel, const AxisLabels& labels) const;  // margins and labels

  size_t count_;
  Size size_;
  int columns_;
  int rows_;
  Legend legend_;
  int legend_width_;
  int legend_height_;
};

// "plot a, \ b, \ c"
std::string Plot(const std::vector<std::string>& parts);

// The setting of a panel's title; a long one stands in two or more smaller lines, broken at its
// commas.
std::string PanelTitle(const std::string& name);

std::string PolicyLabel(const Study& study, size_t policy);  // short enough for a legend
PolicyStyle StyleOf(const Study& study, size_t policy);
// "lc rgb '#000000' dt 1 pt 7": the style of a curve.
std::string CurveStyle(const PolicyStyle& style);

// One row for each policy from above, named at its left or, with `names` off, not; and the room
// that the names take there.
std::string RowNames(const Study& study, const std::vector<size_t>& policies, bool names);
int RowNamesWidth(const Study& study, const std::vector<size_t>& policies);

// Policies that one panel shows.
struct PolicyGroup {
  std::string name;  // of the family; "" for all
  std::vector<size_t> policies;
};
// All that `shown` has in one group, or where these are too many to be told apart a group for each
// family, with the baseline in each.
std::vector<PolicyGroup> GroupsOf(const Study& study, const std::vector<bool>& shown);

// Where a curve ends that is to be labelled there.
struct CurveEnd {
  size_t policy = 0;
  double x = 0;
  double y = 0;
};
// Labels at the right of a panel, pushed apart, each with the curve's mark and a line to its end.
std::string EndLabels(const Study& study, std::vector<CurveEnd> ends, const Range& y,
                      bool logarithmic, const Panels::Size& size);
// The size of panels with such labels, and how many stand beside each other: the places, a row for
// each group.
Panels::Size GroupSize(const Study& study, const std::vector<PolicyGroup>& groups);
int GroupColumns(size_t places, size_t groups);
std::string GroupTitle(const std::string& place, const PolicyGroup& group);

// Positions of `limit` at most of `count` things, evenly spread, with the first and the last.
std::vector<size_t> EvenlySpread(size_t count, size_t limit);

}  // namespace legacy::analysis
