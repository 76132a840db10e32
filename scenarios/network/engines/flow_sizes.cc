#include "scenarios/network/engines/flow_sizes.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/files/plain_file.h"
#include "base/number.h"
#include "base/units.h"

namespace legacy {
namespace {

constexpr double kSegment = 1460;  // bytes; the papers count packets

std::vector<FlowSizes::Point> InBytes(std::vector<FlowSizes::Point> points) {
  for (FlowSizes::Point& point : points) point.bytes *= kSegment;
  return points;
}

FlowSizes::Point ParseLine(const std::string& line, const std::string& where) {
  std::string text = line;
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  std::string bytes, probability, rest;
  words >> bytes >> probability;
  const std::optional<double> first = ParseNumber(bytes);
  const std::optional<double> second = ParseNumber(probability);
  const auto within = [](const std::optional<double>& value, double most) {
    return value && *value >= 0 && *value <= most;  // false for nan
  };
  if (!within(first, static_cast<double>(kMostBytes)) || !within(second, 100) || words >> rest) {
    throw Error(where, line, "bytes up to 64 TiB and a probability, such as '10000 0.15'");
  }
  return {*first, *second};
}

}  // namespace

FlowSizes FlowSizes::FromText(const std::string& text, const std::string& option) {
  if (text == "websearch") {
    return FlowSizes(InBytes({{1, 0},
                              {6, .15},
                              {13, .2},
                              {19, .3},
                              {33, .4},
                              {53, .53},
                              {133, .6},
                              {667, .7},
                              {1333, .8},
                              {3333, .9},
                              {6667, .97},
                              {20000, 1}}));
  }
  if (text == "datamining") {
    return FlowSizes(InBytes(
        {{1, .5}, {2, .6}, {3, .7}, {7, .8}, {267, .9}, {2107, .95}, {66667, .99}, {666667, 1}}));
  }
  return FromFile(text, option);
}

FlowSizes FlowSizes::FromFile(const std::string& path, const std::string& option) {
  std::ifstream file = OpenToRead(path);
  if (!file)
    throw Error(option, path,
                "websearch, datamining, or a file that can be read" + NoteOfMissing(path));
  std::vector<Point> points;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    const std::string where = path + ":" + std::to_string(number);
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    if (line.back() == '\r') line.pop_back();
    const Point point = ParseLine(line, where);
    if (!points.empty() &&
        (point.bytes < points.back().bytes || point.probability < points.back().probability)) {
      throw Error(where, line, "sizes and probabilities that ascend");
    }
    points.push_back(point);
  }
  const double last = points.empty() ? 0 : points.back().probability;
  if (last != 1 && last != 100) {
    throw Error(path + ": last probability", FormatNumber(last), "1, or 100 for percentages");
  }
  for (Point& point : points) point.probability /= last;
  return FlowSizes(std::move(points));
}

double FlowSizes::Mean() const {
  double mean = points_.front().probability * points_.front().bytes;
  for (size_t i = 1; i < points_.size(); ++i) {
    mean += (points_[i].probability - points_[i - 1].probability) *
            (points_[i].bytes + points_[i - 1].bytes) / 2;
  }
  return mean;
}

int64_t FlowSizes::At(double u) const {
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), u,
                       [](const Point& point, double value) { return point.probability < value; });
  double bytes = above->bytes;
  if (above != points_.begin()) {
    const Point& below = *(above - 1);
    bytes = below.bytes + (above->bytes - below.bytes) * (u - below.probability) /
                              (above->probability - below.probability);
  }
  return std::max<int64_t>(1, std::llround(bytes));
}

}  // namespace legacy
