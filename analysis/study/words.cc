#include "analysis/study/words.h"

#include "analysis/study/crossover.h"
#include "analysis/study/words_parts.h"

namespace legacy::analysis {
namespace {

// Returns how many more places the report has than the one that was described. `where` may be "".
std::string NoteOfOthers(size_t places, const std::string& where) {
  if (places == 1) return "";
  return fmt::format(" The report has {}{}.",
                     ShowCount(static_cast<int64_t>(places - 1), "other place"), where);
}

// Returns what the first place with results shows: times to target and final metrics, or without a
// target the parts of a step.
std::string FirstPlaceText(const Study& study) {
  const std::vector<Place> places = PlacesOf(study);
  const auto first = std::ranges::find_if(places, [](const Place& place) {
    return std::ranges::any_of(place.outcomes, [](const Outcome& o) { return o.done > 0; });
  });
  if (first == places.end()) return "";
  const Place& place = *first;
  if (!study.target) return StepWords(study, place) + NoteOfOthers(places.size(), "");
  const std::string times = FirstWords(study, place), ends = DifferenceWords(study, place);
  return Opening(PlaceName(study, place.values)) +
         times.substr(std::min(times.size(), times.find_first_not_of(' '))) +
         (times.empty() || ends.empty() ? "" : " ") + ends + NoteOfHoles({&place}) +
         NoteOfOneSeed(study) + NoteOfOthers(places.size(), "");
}

// Returns a text such as "below 40.3 [10.5, 154] Gbit/s (alpha-beta model: 44 Gbit/s)".
std::string CrossingText(const StudyAxis& axis, const BreakEven& even) {
  const Crossover& simulated = even.simulated;
  std::vector<std::string> notes;
  const int counted = simulated.crossing - simulated.contrary;
  if (const auto seeds = static_cast<int>(simulated.seeds.size()); counted < seeds) {
    notes.push_back(fmt::format("{} of {} seeds", counted, seeds));
  }
  if (even.ratio.count > 0) {
    notes.push_back("alpha-beta model: " + ShowEstimate(even.textbook.x, std::nullopt, axis.unit));
  }
  std::string text = fmt::format("{} {}", simulated.faster_below ? "below" : "above",
                                 ShowCrossing(axis, simulated.x, simulated.interval));
  return notes.empty() ? text : text + fmt::format(" ({})", fmt::join(notes, "; "));
}

// A Group makes texts such as "a, b (2 of 3 seeds) pay over the whole range".
class Group {
 public:
  Group(std::string one, std::string many) : one_(std::move(one)), many_(std::move(many)) {}
  void Add(const Crossover& crossover, int seeds) {
    std::string name = crossover.policy;
    const auto all = static_cast<int>(crossover.seeds.size());
    if (seeds < all) name += fmt::format(" ({} of {} seeds)", seeds, all);
    names_.push_back(name);
  }
  void AppendTo(std::vector<std::string>& parts) const {
    if (names_.empty()) return;
    parts.push_back(fmt::format("{} {}", JoinWords(names_), names_.size() == 1 ? one_ : many_));
  }

 private:
  std::string one_;
  std::string many_;
  std::vector<std::string> names_;
};

}  // namespace

std::string MissedWords(const Study& study) {
  const Metric metric = ShownMetric(study);
  const StudyPoint* best = nullptr;
  for (const StudyPoint& point : study.points) {
    if (!study.target || point.state != StudyState::kDone) continue;
    if (point.figures.time_to_target) return "";
    if (!best || metric.IsBetter(point.figures.best_metric, best->figures.best_metric)) {
      best = &point;
    }
  }
  if (!best) return "";
  std::vector<std::string> where = {fmt::format("{} with seed {}", best->policy, best->seed)};
  for (size_t a = 0; a < study.axes.size(); ++a) {
    const StudyAxis& axis = study.axes[a];
    const auto value = std::ranges::find(axis.values, best->values.at(a));
    if (axis.values.size() > 1 && value != axis.values.end()) {
      where.push_back(ShowAxisValue(axis, static_cast<size_t>(value - axis.values.begin())));
    }
  }
  return fmt::format(
      "No training reached the target {} of {}. The best that was reached is "
      "{}: {}.",
      metric.title, ShowValue(metric, study.target->value),
      ShowQuantity(best->figures.best_metric, metric.Unit()), fmt::join(where, ", "));
}

std::string BreakEvenWords(const Study& study, const Facet& facet) {
  if (!study.target) return "";
  std::vector<std::string> parts;
  Group ahead("pays over the whole range", "pay over the whole range");
  Group behind("never pays", "never pay");
  const std::string nowhere = "can nowhere be told apart from " + study.baseline;
  Group level(nowhere, nowhere);
  Group split("pays over the whole range with some seeds and never with others",
              "pay over the whole range with some seeds and never with others");
  for (const BreakEven& even : BreakEvensOf(study, facet)) {
    const Crossover& simulated = even.simulated;
    if (simulated.crosses()) {
      parts.push_back(fmt::format("{}{} {}", simulated.policy, parts.empty() ? " pays" : "",
                                  CrossingText(study.axes[facet.axis], even)));
    } else if (simulated.ahead > 0 && simulated.behind > 0) {
      split.Add(simulated, simulated.ahead + simulated.behind);
    } else if (simulated.ahead > 0) {
      (ToldApart(facet, simulated.policy) ? ahead : level).Add(simulated, simulated.ahead);
    } else if (simulated.behind > 0) {
      (ToldApart(facet, simulated.policy) ? behind : level).Add(simulated, simulated.behind);
    }
  }
  if (!parts.empty()) parts = {JoinWords(parts)};
  ahead.AppendTo(parts);
  behind.AppendTo(parts);
  level.AppendTo(parts);
  split.AppendTo(parts);
  if (parts.empty()) return "";
  return fmt::format("{}against {} along {}, {}.{}", Opening(facet.name), study.baseline,
                     ShowAxisName(study.axes[facet.axis]), fmt::join(parts, "; "),
                     NoteOfOneSeed(study));
}

std::string StudyVerdict(const Study& study) {
  const std::string missed = MissedWords(study);
  const std::vector<size_t> axes = NumericAxes(study);
  if (!missed.empty()) return missed;
  if (axes.empty() || !study.target) return FirstPlaceText(study);
  const size_t axis =
      *std::ranges::max_element(axes, {}, [&](size_t a) { return study.axes[a].values.size(); });
  const std::vector<Facet> facets = FacetsOf(study, axis);
  if (facets.empty()) return "";
  const std::string words = ReasonedTimeWords(study, facets.front());
  return words.empty() ? words : words + NoteOfOthers(facets.size(), " along that axis");
}

}  // namespace legacy::analysis
