// The figures as drawn: values are placed where the labels of the axes say, bounds and missed
// targets do not look like results, and no two policies of one picture look alike.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>

#include "analysis/step_parts.h"
#include "analysis/study/crossover.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "tests/analysis/study/report_folder.h"
#include "tests/analysis/study/small_study.h"
#include "tests/analysis/study/study_testing.h"
#include "tests/analysis/svg_drawing.h"

namespace legacy::analysis::drawn_figures_test {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kTolerance = 0.6;  // points; gnuplot rounds places

// A DrawnBlock is a block of a data file, with the plots that were drawn from it in its panel.
struct DrawnBlock {
  std::string heading;
  std::vector<std::vector<std::string>> rows;
  size_t panel = 0;
  std::vector<DrawnPlot> plots;

  double Number(size_t row, size_t column) const { return std::stod(rows.at(row).at(column)); }
};

std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = 0; at < line.size();) {
    const bool quoted = line[at] == '"';
    const size_t end = std::min(line.size(), line.find(quoted ? '"' : ' ', at + 1));
    words.push_back(quoted ? line.substr(at + 1, end - at - 1) : line.substr(at, end - at));
    at = end + (quoted ? 2 : 1);
  }
  return words;
}

std::vector<DrawnBlock> BlocksOf(const StudyFigure& figure, const SvgDrawing& drawing) {
  std::vector<DrawnBlock> blocks;
  std::istringstream lines(figure.data);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line[0] != '#') {
      blocks.back().rows.push_back(Words(line));
      continue;
    }
    blocks.push_back({line.substr(2), {}, 0, {}});
    std::getline(lines, line);  // names of the columns
  }
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (size_t panel = 0; panel < drawing.panels.size(); ++panel) {
      const auto plots = drawing.panels[panel].OfBlock(b);
      if (plots.empty()) continue;
      blocks[b].panel = panel;
      blocks[b].plots = plots;
    }
    EXPECT_FALSE(blocks[b].plots.empty()) << figure.name << ": " << blocks[b].heading;
  }
  return blocks;
}

// Returns the text that the panel has exactly once; fails if it does not.
DrawnText TextAt(const DrawnPanel& panel, const std::string& text) {
  const std::vector<DrawnText> found = panel.Find(text);
  EXPECT_EQ(found.size(), 1u) << text;
  return found.empty() ? DrawnText{} : found.front();
}

// Returns the height of the row that has this name.
double RowAt(const DrawnPanel& panel, const std::string& name) {
  return TextAt(panel, name).y - DrawnPanel::kTextDrop;
}

// Returns the colour between the stops of a palette, at a part of the way.
std::array<int, 3> Mixed(const std::vector<std::pair<double, uint32_t>>& stops, double at) {
  size_t next = 1;
  while (next + 1 < stops.size() && stops[next].first < at) ++next;
  const auto [from, low] = stops[next - 1];
  const auto [to, high] = stops[next];
  std::array<int, 3> mixed{};
  for (int i = 0; i < 3; ++i) {
    const int a = low >> (16 - 8 * i) & 255, b = high >> (16 - 8 * i) & 255;
    mixed[i] = static_cast<int>(std::lround(a + (b - a) * (at - from) / (to - from)));
  }
  return mixed;
}

void ExpectColour(const std::string& colour, const std::array<int, 3>& wanted) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16), wanted[i], 4) << colour;
  }
}

bool IsOfPolicies(const std::string& colour) {
  return std::ranges::find(kPolicyColours, colour) != kPolicyColours.end();
}

std::string PolicyOf(const DrawnBlock& block) {
  return block.heading.substr(0, std::min(block.heading.find(", "), block.heading.find(" breaks")));
}

// Policies of one colour, one that never reaches the target, and one that does with some seeds.
Study MixedStudy(std::vector<int> workers = {8, 16}) {
  MadeUpStudy made;
  made.policies = {{"dense", 1, false, 0, 200},
                   {"qsgd", 0.25, false, 1.5e-3, 200},
                   {"powersgd", 0.05, false, 3e-3, 210},
                   {"randomk-1%", 0.01, true, 5e-4, 700},
                   {"legacy-both", 0.02, true, 2e-3, 398},
                   {"topk", 0.02, true, 2e-3, 240}};
  made.bandwidths = {1e7, 1e8, 1e9, 1e10};
  made.workers = std::move(workers);
  return MakeStudy(made);
}

class DrawnFiguresTest : public ReportFolderTest {
 protected:
  void SetUp() override {
    ReportFolderTest::SetUp();
    if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  }

  // Draws the figure of that name.
  SvgDrawing Draw(const StudyFigure& figure) const {
    const DrawnFigures drawn = DrawStudyFigures({figure}, directory_);
    EXPECT_TRUE(drawn.warnings.empty());
    return SvgDrawing(Get(figure.name + ".svg"));
  }
};

// Expects the marks of bounds: grey open triangles with arrows towards longer times.
void ExpectBounds(const DrawnBlock& block, char axis) {
  ASSERT_EQ(block.plots.size(), 2u) << block.heading;
  ASSERT_GE(block.plots[0].lines.size(), 2u);  // head and shaft of each arrow
  for (const DrawnLine& line : block.plots[0].lines) {
    EXPECT_FALSE(IsOfPolicies(line.colour)) << block.heading;
  }
  const auto [x, y] = block.plots[0].lines[1].points.front();
  const auto [to_x, to_y] = block.plots[0].lines[1].points.back();
  EXPECT_TRUE(axis == 'x' ? to_x > x + 5 : to_y < y - 5) << block.heading;
  for (const DrawnMark& mark : block.plots[1].marks) {
    EXPECT_EQ(mark.form, kCensoredMark) << block.heading;
    EXPECT_EQ(mark.colour, kGrey) << block.heading;
  }
}

TEST_F(DrawnFiguresTest, TimesToTargetStandAtTheirValuesAndBoundsAreGrey) {
  for (const std::vector<int>& workers : {std::vector<int>{8, 16}, {8}}) {
    const Study study = MixedStudy(workers);
    const StudyFigure figure = FigureNamed(MakeStudyFigures(study), "tta-bandwidth");
    const SvgDrawing drawing = Draw(figure);
    std::map<std::pair<size_t, std::pair<std::string, int>>, std::string> looks;  // by panel
    int bounds = 0, rings = 0;
    for (const DrawnBlock& block : BlocksOf(figure, drawing)) {
      const DrawnPanel& panel = drawing.panels[block.panel];
      const DrawnAxis x = panel.Axis('x'), y = panel.Axis('y');
      const bool ring = block.heading.find("breaks even") != std::string::npos;
      const bool bound = block.heading.ends_with("target not reached");
      if (bound) ExpectBounds(block, 'y');
      bounds += bound;
      rings += ring;
      // A ring has the mark of its policy inside, and is as grey as any other.
      const DrawnPlot& marks = bound ? block.plots.at(1) : block.plots.at(0);
      ASSERT_EQ(marks.marks.size(), block.rows.size()) << block.heading;
      for (size_t i = 0; i < block.rows.size(); ++i) {
        const DrawnMark& mark = marks.marks[i];
        EXPECT_NEAR(mark.x, x.PlaceOf(block.Number(i, 0), true), kTolerance) << block.heading;
        EXPECT_NEAR(mark.y, y.PlaceOf(block.Number(i, 1), true), kTolerance) << block.heading;
        if (bound) continue;
        EXPECT_NE(mark.colour, kGrey) << block.heading;
        const std::string policy = PolicyOf(block);
        EXPECT_EQ(looks.try_emplace({block.panel, {mark.colour, mark.form}}, policy).first->second,
                  policy);
        if (!ring) continue;
        const DrawnMark& around = block.plots.at(1).marks.at(i);
        EXPECT_EQ(around.colour, kGrey);
        EXPECT_GT(around.scale, mark.scale);
        EXPECT_NEAR(around.x, mark.x, 0.1);
      }
    }
    // The policies that miss the target have bounds and a name, and no place among the results.
    EXPECT_EQ(bounds, static_cast<int>(2 * workers.size()));
    EXPECT_GE(rings, 3);
    std::set<std::string> named;
    for (const DrawnPanel& panel : drawing.panels) {
      for (const DrawnText& text : panel.texts) named.insert(text.text);
    }
    EXPECT_THAT(named, Contains("randomk-1%"));
    for (const auto& [look, policy] : looks) EXPECT_NE(policy, "randomk-1%");
  }
}

// The first step of dense at 1 Gbit/s takes 24 ms, and the seeds need 194, 200 and 206.
TEST_F(DrawnFiguresTest, TheTimeToTargetOfDenseCanBeReadFromThePicture) {
  const StudyFigure figure = FigureNamed(MakeStudyFigures(MixedStudy()), "tta-bandwidth");
  const SvgDrawing drawing = Draw(figure);
  const DrawnPanel& panel = drawing.panels[0];
  const DrawnMark mark = panel.OfBlock(0).at(0).marks.at(2);
  EXPECT_NEAR(mark.x, panel.Axis('x').PlaceOf(1e9, true), kTolerance);
  EXPECT_NEAR(mark.y, panel.Axis('y').PlaceOf(200 * (0.01 + 8 * 1.75e6 / 1e9), true), kTolerance);
  EXPECT_EQ(mark.colour, "#000000");
}

TEST_F(DrawnFiguresTest, TheStepsOfShapesCanBeReadFromThePicture) {
  const Study study = InShapes(MixedStudy());
  const StudyFigure figure = FigureNamed(MakeStudyFigures(study), "step-time-bandwidth");
  const SvgDrawing drawing = Draw(figure);
  const DrawnPanel& panel = drawing.panels[0];
  const DrawnMark mark = panel.OfBlock(0).at(0).marks.at(2);
  EXPECT_NEAR(mark.y, panel.Axis('y').PlaceOf(0.01 + 8 * 1.75e6 / 1e9, true), kTolerance);
}

TEST_F(DrawnFiguresTest, DotsStandInTheRowsOfTheirNames) {
  Study study = MixedStudy({8});
  for (StudyAxis& axis : study.axes) axis.numbers.clear();
  const StudyFigure figure = FigureNamed(MakeStudyFigures(study), "tta");
  const SvgDrawing drawing = Draw(figure);
  int bounds = 0;
  for (const DrawnBlock& block : BlocksOf(figure, drawing)) {
    const DrawnPanel& panel = drawing.panels[block.panel];
    const bool bound = block.heading.ends_with("target not reached");
    if (bound) ExpectBounds(block, 'x');
    bounds += bound;
    const DrawnMark& mark = block.plots.at(bound ? 1 : 0).marks.at(0);
    EXPECT_NEAR(mark.x, panel.Axis('x').PlaceOf(block.Number(0, 0), true), kTolerance);
    const size_t row = block.panel - block.panel % 2;  // names are only at the left
    EXPECT_NEAR(mark.y, RowAt(drawing.panels[row], PolicyOf(block)), kTolerance) << block.heading;
    EXPECT_NE(IsOfPolicies(mark.colour), bound);
  }
  EXPECT_EQ(bounds, 2 * 4);
}

TEST_F(DrawnFiguresTest, CellsOfSpeedupsHaveTheirColoursAndBoundsAreGrey) {
  const Study study = MixedStudy();
  const StudyFigure figure = FigureNamed(MakeStudyFigures(study), "speedup-bandwidth-workers");
  const SvgDrawing drawing = Draw(figure);
  double span = 0;
  for (const Place& place : PlacesOf(study)) {
    for (const Outcome& outcome : place.outcomes) {
      if (!outcome.speedup.known() || outcome.speedup.bounded()) continue;
      span = std::max(span, std::abs(std::log2(outcome.speedup.ratio)));
    }
  }
  const std::vector<std::pair<double, uint32_t>> palette = {
      {-1, 0xB35806}, {-0.5, 0xF1A340}, {0, 0xF7F7F7}, {0.5, 0x67A9CF}, {1, 0x2166AC}};
  std::set<std::string> titles;
  int results = 0, bounds = 0;
  for (const DrawnBlock& block : BlocksOf(figure, drawing)) {
    const DrawnPanel& panel = drawing.panels[block.panel];
    if (block.heading.ends_with(", texts")) continue;
    const bool bound = block.heading.find(", bounds") != std::string::npos;
    const std::string policy = PolicyOf(block);
    EXPECT_TRUE(titles.insert(policy).second);
    TextAt(panel, policy);  // the panel's title
    const std::vector<DrawnBox>& boxes = block.plots.at(0).boxes;
    ASSERT_EQ(boxes.size(), block.rows.size());
    for (size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_NEAR(boxes[i].x(), panel.Axis('x').PlaceOf(block.Number(i, 7), true), kTolerance);
      EXPECT_NEAR(boxes[i].y(), panel.Axis('y').PlaceOf(block.Number(i, 8), true), kTolerance);
      std::vector<std::string> texts;
      for (const DrawnPlot& plot : panel.plots) {
        for (const DrawnText& text : plot.texts) {
          if (std::abs(text.x - boxes[i].x()) < 2 && std::abs(text.y - boxes[i].y()) < 6) {
            texts.push_back(text.text);
          }
        }
      }
      ASSERT_EQ(texts.size(), 1u) << policy;
      ++(bound ? bounds : results);
      if (bound) {
        EXPECT_EQ(boxes[i].colour, kBoundCell);
        EXPECT_THAT(texts[0], AnyOf(StartsWith("≤"), StartsWith("≥"), "n/r"));
      } else {
        EXPECT_NEAR(std::stod(texts[0]), std::exp2(block.Number(i, 6)), 0.05 * std::stod(texts[0]));
        ExpectColour(boxes[i].colour, Mixed(palette, block.Number(i, 6) / span));
      }
    }
  }
  EXPECT_EQ(results, 3 * 8);
  EXPECT_EQ(bounds, 2 * 8);
}

// Dense misses the target at 10 Gbit/s, and all policies at 100 Gbit/s.
TEST_F(DrawnFiguresTest, CellsOfGainsHaveTheirColoursAndBoundsAreGreyOrHatched) {
  Study study = PendingStudy({"dense", "topk"}, {1, 2, 3}, {Bandwidths({1e8, 1e9, 1e10, 1e11})});
  for (StudyPoint& point : study.points) {
    const double rate = std::stod(point.values[0]);
    const double seed = 1 + 0.001 * static_cast<double>(point.seed);
    const bool dense = point.policy == "dense";
    if (rate > 5e10 || (dense && rate > 5e9)) {
      Finish(point, std::nullopt);
    } else {
      Finish(point, (dense ? 100 : rate < 5e8 ? 25 : 50) * seed);
    }
  }
  const StudyFigure figure = FigureNamed(MakeStudyFigures(study), "gains-bandwidth");
  EXPECT_THAT(figure.script, HasSubstr("grey: at least; hatched: nobody reaches the target"));
  const SvgDrawing drawing = Draw(figure);
  const DrawnPanel& panel = drawing.panels[0];
  std::vector<double> columns;
  for (const char* value : {"100", "1", "10", "100"}) {
    for (const DrawnText& text : panel.texts) {
      const bool after = columns.empty() || text.x > columns.back();
      if (text.text == value && text.anchor == "middle" && after) {
        columns.push_back(text.x);
        break;
      }
    }
  }
  ASSERT_EQ(columns.size(), 4u);
  const std::vector<std::pair<double, uint32_t>> palette = {
      {0, 0xFFFFFF}, {0.02, 0xE3EDF5}, {0.5, 0x67A9CF}, {1, 0x1B4F86}};
  size_t column = 0;
  for (const DrawnBlock& block : BlocksOf(figure, drawing)) {
    if (block.heading == "texts") continue;
    const std::vector<DrawnBox>& boxes = block.plots.at(0).boxes;
    ASSERT_GE(boxes.size(), block.rows.size());
    for (size_t i = 0; i < block.rows.size(); ++i, ++column) {
      EXPECT_NEAR(boxes[i].x(), columns.at(column), kTolerance);
      if (block.heading == "gains") {
        ExpectColour(boxes[i].colour, Mixed(palette, block.Number(i, 6) / 2));  // 4 times is most
      } else if (block.heading == "bounds") {
        EXPECT_EQ(boxes[i].colour, kBoundCell);
      } else {
        EXPECT_TRUE(boxes[i].hatched);
      }
    }
  }
  EXPECT_EQ(column, 4u);
  std::vector<std::string> texts;
  for (const DrawnPlot& plot : panel.plots) {
    for (const DrawnText& text : plot.texts) texts.push_back(text.text);
  }
  EXPECT_THAT(texts, ::testing::ElementsAre("topk", "4.0", "topk", "2.0", "topk", StartsWith("≥")));
}

// Labels are formats to Gnuplot, so that a lone % ends a drawing.
TEST_F(DrawnFiguresTest, ColumnsOfGainsMayBeDensities) {
  const StudyAxis density{"density", "fraction", {"0.1%", "1%"}, {0.001, 0.01}};
  Study study = PendingStudy({"dense", "topk"}, {1, 2}, {density});
  for (StudyPoint& point : study.points) Finish(point, point.policy == "dense" ? 100 : 25);
  const SvgDrawing drawing = Draw(FigureNamed(MakeStudyFigures(study), "gains-density"));
  EXPECT_EQ(drawing.panels.at(0).Find("%").size(), 2u);
}

// Two values of an axis show no trend: they are marks, and the picture says so.
TEST_F(DrawnFiguresTest, VolumesHaveALineFromThreeValuesOn) {
  for (const size_t values : {2, 3}) {
    StudyAxis density{"density", "fraction", {"0.1%", "1%", "10%"}, {0.001, 0.01, 0.1}};
    density.values.resize(values);
    density.numbers.resize(values);
    Study study = PendingStudy({"topk", "lgreco"}, {1, 2}, {density});
    FinishAll(study, [](const StudyPoint&) { return 10.0; });
    for (StudyPoint& point : study.points) {
      const double sent = std::stod(point.values[0]) * (point.policy == "topk" ? 1000 : 1100);
      point.figures.message_bytes = sent * static_cast<double>(point.figures.steps);
      point.figures.final_metric = 0.8 + 0.01 * std::log10(sent);
    }
    const StudyFigure figure = FigureNamed(MakeStudyFigures(study), "metric-volume-density");
    const SvgDrawing drawing = Draw(figure);
    for (const DrawnBlock& block : BlocksOf(figure, drawing)) {
      const DrawnPanel& panel = drawing.panels[block.panel];
      ASSERT_EQ(block.rows.size(), values);
      for (size_t i = 0; i < values; ++i) {
        const double x = panel.Axis('x').PlaceOf(block.Number(i, 0), true);
        const double y = panel.Axis('y').PlaceOf(block.Number(i, 1), false);
        EXPECT_TRUE(std::ranges::any_of(block.plots.at(0).marks, [&](const DrawnMark& mark) {
          return std::abs(mark.x - x) < kTolerance && std::abs(mark.y - y) < kTolerance;
        })) << block.heading;
      }
      const auto joins = [](const DrawnLine& line) {
        return std::abs(line.points.front().first - line.points.back().first) > 50;
      };
      EXPECT_EQ(std::ranges::any_of(block.plots[0].lines, joins), values == 3) << block.heading;
    }
    // The legend is the last panel, and has a line where the picture has one.
    for (const DrawnPlot& entry : drawing.panels.back().plots) {
      if (entry.source != "topk") continue;
      EXPECT_EQ(entry.lines.empty(), values == 2);
    }
    EXPECT_EQ(
        Get("metric-volume-density.svg").find("too few values for a trend") == std::string::npos,
        values == 3);
  }
}

TEST_F(DrawnFiguresTest, BreakEvensStandAtTheirValuesAndNoTwoAreAlike) {
  const Study study = MixedStudy();
  const StudyFigure figure = FigureNamed(MakeStudyFigures(study), "break-even-bandwidth");
  const SvgDrawing drawing = Draw(figure);
  std::map<std::pair<std::string, int>, std::string> looks;
  std::set<std::string> with_dot;
  for (const DrawnBlock& block : BlocksOf(figure, drawing)) {
    const DrawnPanel& panel = drawing.panels[block.panel];
    const DrawnAxis x = panel.Axis('x');
    const DrawnMark& mark = block.plots.at(0).marks.at(0);
    EXPECT_NEAR(mark.x, x.PlaceOf(block.Number(0, 0), true), kTolerance) << block.heading;
    const std::string policy = PolicyOf(block);
    // Marks are above and below the middle of their row.
    EXPECT_NEAR(mark.y, RowAt(drawing.panels[0], policy), 6) << block.heading;
    if (block.heading.ends_with(", textbook")) {
      EXPECT_EQ(mark.colour, kGrey);
      continue;
    }
    with_dot.insert(policy);
    EXPECT_EQ(looks.try_emplace({mark.colour, mark.form}, policy).first->second, policy);
    EXPECT_TRUE(IsOfPolicies(mark.colour));
    double left = INFINITY, right = -INFINITY;
    for (const DrawnLine& line : block.plots[0].lines) {
      for (const auto& [place, height] : line.points) {
        left = std::min(left, place);
        right = std::max(right, place);
      }
    }
    EXPECT_NEAR(left, x.PlaceOf(block.Number(0, 2), true), kTolerance) << block.heading;
    EXPECT_NEAR(right, x.PlaceOf(block.Number(0, 3), true), kTolerance) << block.heading;
  }
  EXPECT_THAT(with_dot, ::testing::IsSupersetOf({"qsgd", "powersgd", "topk"}));
  // A policy that misses the target has words and no mark.
  EXPECT_THAT(with_dot, Not(Contains("randomk-1%")));
  const DrawnText words = TextAt(drawing.panels[0], "target not reached");
  EXPECT_NEAR(words.y, TextAt(drawing.panels[0], "randomk-1%").y, 1.5);
}

TEST_F(DrawnFiguresTest, BarsOfStepsAreAsLongAsTheirParts) {
  Study study = MixedStudy();
  for (StudyPoint& point : study.points) {
    if (point.policy == "topk" && point.values[0] == study.axes[0].values[3]) Forget(point);
  }
  const StudyFigure figure = FigureNamed(MakeStudyFigures(study), "step-split");
  const SvgDrawing drawing = Draw(figure);
  const std::vector<DrawnBlock> blocks = BlocksOf(figure, drawing);
  std::map<std::string, std::string> colours;  // of each part
  for (const DrawnBlock& block : blocks) {
    const DrawnPanel& panel = drawing.panels[block.panel];
    const DrawnAxis x = panel.Axis('x');
    const DrawnPanel& names = drawing.panels[block.panel - block.panel % 3];
    const std::vector<DrawnBox>& boxes = block.plots.at(0).boxes;
    ASSERT_EQ(boxes.size(), block.rows.size()) << block.heading;
    for (size_t i = 0; i < boxes.size(); ++i) {
      const DrawnBox& box = boxes[i];
      EXPECT_NEAR(box.left, x.PlaceOf(block.Number(i, 2), false), 1) << block.heading;
      EXPECT_NEAR(box.right, x.PlaceOf(block.Number(i, 3), false), 1) << block.heading;
      EXPECT_NEAR(box.y(), RowAt(names, block.rows[i][6]), 1) << block.heading;
      const std::string part = block.heading.substr(0, block.heading.find(", "));
      EXPECT_EQ(colours.try_emplace(part, box.colour).first->second, box.colour);
    }
  }
  std::set<std::string> different;
  for (const auto& [part, colour] : colours) different.insert(colour);
  EXPECT_GE(colours.size(), 4u);
  EXPECT_EQ(different.size(), colours.size());
  // The third place has 10 Gbit/s, at which a step of dense takes 11.4 ms.
  const DrawnPanel& last = drawing.panels[2];
  EXPECT_EQ(TextAt(last, "not done").anchor, "start");
  TextAt(last, ShowQuantity(0.01 + 8 * 1.75e6 / 1e10, "s"));
}

}  // namespace
}  // namespace legacy::analysis::drawn_figures_test
