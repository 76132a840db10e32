// The figures of a study are made of these parts: a data file, panels and a legend. Sizes are
// points of the SVG. Panels and legend have fixed positions in the picture, so that all panels of a
// figure are alike.
#pragma once

#include <string>
#include <vector>

#include "analysis/policy_style.h"
#include "analysis/study/figures/axes.h"
#include "analysis/study/study.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// A DataFile is NAME.dat: blocks of columns with a heading, which gnuplot reads by `index`.
class DataFile {
 public:
  explicit DataFile(const std::string& figure) : name_(figure + ".dat") {}
  // Adds a block of one row or more, which have equal lengths. Returns what to plot: "'NAME.dat'
  // index 3".
  std::string Add(const std::string& heading, const std::vector<std::string>& columns,
                  const std::vector<std::vector<std::string>>& rows);
  const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
  int blocks_ = 0;
};

std::string Cell(double value);             // number of a data file
std::string Cell(const std::string& text);  // text of a data file, in quotes

inline constexpr int kCensoredMark = 8;  // open triangle: the target was not reached
inline constexpr const char* kGrey = "#555555";
inline constexpr const char* kBoundCell = "#DDDDDD";  // a cell of a map that is not a result
inline constexpr double kBoundArrow = 1.5;  // an arrow leads from a bound to this many times it

double DeviationOf(const Spread& spread);  // deviation; 0 where it is not known

// Moves ascending places apart so that neighbours have a distance of at least `gap`, between 0 and
// `most`.
void PushApart(std::vector<double>& places, double gap, double most);

// Entries of a figure's legend (as for `plot`, "keyentry ... title ..."), with their texts.
struct Legend {
  std::vector<std::string> entries;
  std::vector<std::string> texts;
  // Adds an entry in the policy's style, with its mark, and with its line where it has one.
  void AddLine(const Study& study, size_t policy, bool line = true);
  void AddMark(int point_type, const std::string& text);
};

// Returns what draws the bounds of a block on a time's axis, "x" or "y": grey open triangles, with
// arrows that lead towards longer times. Grey is the colour of no policy, so that no bound looks
// like a result.
std::vector<std::string> BoundParts(const std::string& block, char axis);

// Panels are placed in columns, with a legend at their right and a heading above.
class Panels {
 public:
  struct Size {
    int width = 320;  // width of a panel, with its labels
    int height = 250;
    int left = 70;  // part of the width for labels; the next ones likewise
    int bottom = 48;
    int top = 24;
    int right = 14;
    int names = 0;  // width for names of rows, at the left of the first column only
  };
  // `columns` is the number of columns; 0: chosen from `count`.
  Panels(size_t count, const Size& size, Legend legend, int columns = 0);

  int columns() const { return columns_; }
  int width() const;
  int height() const;
  bool AtLeft(size_t panel) const { return panel % static_cast<size_t>(columns_) == 0; }

  // Returns the settings of a scale of colours in the legend's place.
  std::string ColourBox(const std::string& label) const;
  // The labels of the axes have fixed positions, so that no terminal's margins can push them out of
  // the picture. x is below the lowest panel of each column, y next to the first panel of each row.
  struct AxisLabels {
    std::string x, y;
  };
  // Returns the script of a whole figure: heading and subtitle, `panels` (settings and plot of
  // each), the legend.
  std::string Figure(const std::string& name, const std::string& heading,
                     const std::string& subtitle, const AxisLabels& labels,
                     const std::vector<std::string>& panels) const;

 private:
  bool AtBottom(size_t panel) const { return panel + static_cast<size_t>(columns_) >= count_; }
  // Returns the settings of a panel's margins and labels.
  std::string Place(size_t panel, const AxisLabels& labels) const;

  size_t count_;
  Size size_;
  int columns_;
  int rows_;
  Legend legend_;
  int legend_width_;
  int legend_height_;
};

// Returns "plot a, \ b, \ c".
std::string Plot(const std::vector<std::string>& parts);

// Returns the setting of a panel's title. A long title has two or more smaller lines, broken at its
// commas.
std::string PanelTitle(const std::string& name);

std::string PolicyLabel(const Study& study, size_t policy);  // name, short enough for a legend
PolicyStyle StyleOf(const Study& study, size_t policy);
// Return the style of a curve, "lc rgb '#000000' dt 1 pt 7", and of marks without a line.
std::string CurveStyle(const PolicyStyle& style);
std::string MarkStyle(const PolicyStyle& style);

// Return the settings of an axis with one row for each policy from above, with its name at the left
// where `names` is true, and the width of these names.
std::string RowNames(const Study& study, const std::vector<size_t>& policies, bool names);
int RowNamesWidth(const Study& study, const std::vector<size_t>& policies);

// A PolicyGroup has the policies that one panel shows.
struct PolicyGroup {
  std::string name;  // name of the family; "" for all
  std::vector<size_t> policies;
};
// Returns all policies of `shown` in one group. Where these are too many to be told apart, there is
// a group for each family, with the baseline in each.
std::vector<PolicyGroup> GroupsOf(const Study& study, const std::vector<bool>& shown);

// A CurveEnd is the end of a curve that gets a label there.
struct CurveEnd {
  size_t policy = 0;
  double x = 0;
  double y = 0;
  bool bound = false;  // true where the end is a bound and no result
};
// Returns the labels at the right of a panel, pushed apart, each with the curve's mark, or that of
// bounds, and a line to its end.
std::string EndLabels(const Study& study, std::vector<CurveEnd> ends, const Range& y,
                      bool logarithmic, const Panels::Size& size);
// Return the size of panels with such labels, and the number of columns: a column for each place, a
// row for each group.
Panels::Size GroupSize(const Study& study, const std::vector<PolicyGroup>& groups);
int GroupColumns(size_t places, size_t groups);
std::string GroupTitle(const std::string& place, const PolicyGroup& group);

// Returns up to `limit` positions of `count`, evenly spread, with the first and the last.
std::vector<size_t> EvenlySpread(size_t count, size_t limit);

}  // namespace legacy::analysis
