// Choice of the facets and places that figures show.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"

namespace legacy::analysis {
namespace {

bool AnythingDone(const Place& place) {
  return std::any_of(place.outcomes.begin(), place.outcomes.end(),
                     [](const Outcome& outcome) { return outcome.done > 0; });
}

void Note(const std::string& things, size_t shown, size_t count, std::string& note) {
  if (shown == count) return;
  note += fmt::format("{}{} of {} {} are shown; tables have all.", note.empty() ? "" : " ", shown,
                      count, things);
}

std::string NameOf(const Study& study, const Place& place) {
  std::vector<std::string> names;
  for (size_t a = 0; a < study.axes.size(); ++a) {
    if (study.axes[a].values.size() < 2) continue;
    names.push_back(ShowAxisValue(study.axes[a], place.values[a]));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<ShownPlace> AllPlaces(const Study& study, size_t limit, std::string& note) {
  std::vector<Place> done;
  for (Place& place : PlacesOf(study)) {
    if (AnythingDone(place)) done.push_back(std::move(place));
  }
  std::vector<ShownPlace> shown;
  for (const size_t i : EvenlySpread(done.size(), limit)) {
    shown.push_back({NameOf(study, done[i]), done[i]});
  }
  Note("places", shown.size(), done.size(), note);
  return shown;
}

}  // namespace

std::optional<size_t> PrimaryAxis(const Study& study) {
  std::optional<size_t> best;
  const auto values = [&study](size_t axis) { return study.axes[axis].values.size(); };
  for (const size_t axis : NumericAxes(study)) {
    const bool named = study.axes[axis].name == "bandwidth";
    if (!best || values(axis) > values(*best) || (named && values(axis) == values(*best))) {
      best = axis;
    }
  }
  return best;
}

std::vector<Facet> ShownFacets(const Study& study, size_t axis, size_t limit, std::string& note) {
  std::vector<Facet> facets;
  for (Facet& facet : FacetsOf(study, axis)) {
    if (std::any_of(facet.places.begin(), facet.places.end(), AnythingDone)) {
      facets.push_back(std::move(facet));
    }
  }
  std::vector<Facet> shown;
  for (const size_t i : EvenlySpread(facets.size(), limit)) shown.push_back(std::move(facets[i]));
  Note("combinations of the other axes", shown.size(), facets.size(), note);
  return shown;
}

std::vector<ShownPlace> ShownPlaces(const Study& study, size_t choices, size_t limit,
                                    std::string& note) {
  const std::optional<size_t> axis = PrimaryAxis(study);
  if (!axis) return AllPlaces(study, limit, note);
  std::vector<ShownPlace> shown;
  for (const Facet& facet : ShownFacets(study, *axis, std::max<size_t>(1, limit / choices), note)) {
    std::vector<const Place*> done;
    for (const Place& place : facet.places) {
      if (AnythingDone(place)) done.push_back(&place);
    }
    std::set<size_t> chosen = {done.size() / 2};
    if (choices > 1) chosen.insert({0, done.size() - 1});
    for (const size_t i : chosen) {
      const std::string value = ShowAxisValue(study.axes[*axis], done[i]->values[*axis]);
      shown.push_back({facet.name.empty() ? value : value + ", " + facet.name, *done[i],
                       static_cast<int>(chosen.size())});
    }
  }
  return shown;
}

int ColumnsOf(const std::vector<ShownPlace>& shown) {
  for (const ShownPlace& place : shown) {
    if (place.chosen != shown.front().chosen || place.chosen == 1) return 0;
  }
  return shown.empty() ? 0 : shown.front().chosen;
}

bool IsDone(const std::vector<Place>& places, size_t policy) {
  return std::any_of(places.begin(), places.end(),
                     [policy](const Place& place) { return place.outcomes[policy].done > 0; });
}

std::string SeedsNote(const Study& study, const std::string& what) {
  if (study.seeds.size() == 1) return "1 seed";
  return fmt::format("mean of {} seeds, {}: ± 1 standard deviation", study.seeds.size(), what);
}

}  // namespace legacy::analysis
