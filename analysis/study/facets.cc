#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "analysis/study/quantities.h"
#include "analysis/study/statistics.h"

namespace legacy::analysis {
namespace {

bool Holds(const std::vector<size_t>& axes, size_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

// Returns a name for files such as "workers-8-topo-leaf-spine". It is made of the values' texts,
// which keeps different values apart.
std::string SlugOf(const Study& study, const std::vector<size_t>& values,
                   const std::vector<size_t>& left_out) {
  std::string slug;
  for (size_t a = 0; a < study.axes.size(); ++a) {
    if (Holds(left_out, a)) continue;
    for (const char c : study.axes[a].name + "-" + study.axes[a].values[values[a]] + "-") {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80 && std::isalnum(byte)) {
        slug += static_cast<char>(std::tolower(byte));
      } else if (!slug.empty() && slug.back() != '-') {
        slug += '-';
      }
    }
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug;
}

// A Naming names groups of places, in their order. Equal slugs get a number.
class Naming {
 public:
  Naming(const Study& study, std::vector<size_t> left_out)
      : study_(study), left_out_(std::move(left_out)) {}

  template <class Group>
  void Name(Group& group) {
    group.name = PlaceName(study_, group.values, left_out_);
    const std::string slug = SlugOf(study_, group.values, left_out_);
    group.slug = slug;
    for (int i = 2; !used_.insert(group.slug).second; ++i)
      group.slug = fmt::format("{}-{}", slug, i);
  }

 private:
  const Study& study_;
  std::vector<size_t> left_out_;
  std::set<std::string> used_;
};

// Returns the places by their positions on the axes. Positions on axes in `left_out` are 0.
std::map<std::vector<size_t>, std::vector<Place>> GroupsOf(const Study& study,
                                                           const std::vector<size_t>& left_out) {
  std::map<std::vector<size_t>, std::vector<Place>> groups;
  for (Place& place : PlacesOf(study)) {
    std::vector<size_t> key = place.values;
    for (const size_t axis : left_out) key[axis] = 0;
    groups[key].push_back(std::move(place));
  }
  return groups;
}

// Returns the positions on one axis that places have, by ascending number.
std::vector<size_t> UsedPositions(const StudyAxis& axis, size_t index,
                                  const std::vector<Place>& places) {
  std::set<size_t> used;
  for (const Place& place : places) used.insert(place.values[index]);
  std::vector<size_t> positions(used.begin(), used.end());
  std::ranges::stable_sort(positions, {}, [&](size_t i) { return axis.numbers[i]; });
  return positions;
}

std::vector<double> NumbersOf(const StudyAxis& axis, const std::vector<size_t>& positions) {
  std::vector<double> numbers;
  for (const size_t i : positions) numbers.push_back(axis.numbers[i]);
  return numbers;
}

size_t IndexOf(const std::vector<size_t>& positions, size_t position) {
  return static_cast<size_t>(std::ranges::find(positions, position) - positions.begin());
}

}  // namespace

std::string PlaceName(const Study& study, const std::vector<size_t>& values,
                      const std::vector<size_t>& left_out) {
  std::vector<std::string> parts;
  for (size_t a = 0; a < study.axes.size(); ++a) {
    if (!Holds(left_out, a)) parts.push_back(ShowAxisValue(study.axes[a], values[a]));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<size_t> NumericAxes(const Study& study) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < study.axes.size(); ++a) {
    if (study.axes[a].numbers.size() > 1) axes.push_back(a);
  }
  return axes;
}

std::vector<std::pair<size_t, size_t>> NumericAxisPairs(const Study& study) {
  std::vector<std::pair<size_t, size_t>> pairs;
  const std::vector<size_t> axes = NumericAxes(study);
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = i + 1; j < axes.size(); ++j) pairs.emplace_back(axes[i], axes[j]);
  }
  return pairs;
}

std::vector<Facet> FacetsOf(const Study& study, size_t axis) {
  std::vector<Facet> facets;
  Naming naming(study, {axis});
  for (auto& [values, places] : GroupsOf(study, {axis})) {
    Facet facet{axis, values, "", "", {}, std::move(places)};
    std::ranges::stable_sort(facet.places, {}, [&](const Place& place) {
      return study.axes[axis].numbers[place.values[axis]];
    });
    for (const Place& place : facet.places) {
      facet.x.push_back(study.axes[axis].numbers[place.values[axis]]);
    }
    naming.Name(facet);
    facets.push_back(std::move(facet));
  }
  return facets;
}

std::vector<Plane> PlanesOf(const Study& study, size_t x_axis, size_t y_axis) {
  std::vector<Plane> planes;
  Naming naming(study, {x_axis, y_axis});
  for (auto& [values, places] : GroupsOf(study, {x_axis, y_axis})) {
    const std::vector<size_t> xs = UsedPositions(study.axes[x_axis], x_axis, places);
    const std::vector<size_t> ys = UsedPositions(study.axes[y_axis], y_axis, places);
    Plane plane{x_axis,
                y_axis,
                values,
                "",
                "",
                NumbersOf(study.axes[x_axis], xs),
                NumbersOf(study.axes[y_axis], ys),
                {}};
    plane.places.resize(xs.size() * ys.size());
    for (Place& place : places) {
      const size_t row = IndexOf(ys, place.values[y_axis]);
      plane.places[row * xs.size() + IndexOf(xs, place.values[x_axis])] = std::move(place);
    }
    naming.Name(plane);
    planes.push_back(std::move(plane));
  }
  return planes;
}

}  // namespace legacy::analysis
