#include "scenarios/network/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "scenarios/network/measure.h"

namespace legacy {
namespace {

// Returns the percentage, rounded to a tenth, never as "-0.0".
double Percent(double fraction) { return std::round(1000 * fraction) / 10 + 0.0; }

}  // namespace

const char* ToString(Bound bound) {
  static constexpr const char* kNames[] = {"balanced", "straggler", "codec",      "congestion",
                                           "latency",  "bandwidth", "bytes",      "placement",
                                           "compute",  "gathers",   "reductions", "copies",
                                           "tensors",  "contexts",  "experts",    "stages"};
  return kNames[static_cast<size_t>(bound)];
}

void Diagnosis::Add(Remedy remedy) {
  if (remedy.total > 0 && as_it_is.total > 0) {
    remedy.gain = 1 - InSeconds(remedy.total) / InSeconds(as_it_is.total);
  }
  remedies.push_back(std::move(remedy));
}

void Diagnosis::Decide(double as_good) {
  Bound bound = Bound::kBalanced;
  double most = 0, congested = 0;
  for (const Remedy& remedy : remedies) {
    if (remedy.gain > most) {
      most = remedy.gain;
      bound = remedy.bound;
    }
    if (remedy.bound == Bound::kCongestion) congested = std::max(congested, remedy.gain);
  }
  if (congested >= std::max(kNoticeable, kCongestionShare * most)) {
    most = congested;
    bound = Bound::kCongestion;
  }
  as_it_is.verdict = most < kNoticeable;
  if (!as_it_is.verdict) {
    const auto chosen = std::ranges::find_if(remedies, [&](const Remedy& remedy) {
      return remedy.bound == bound && remedy.gain >= as_good * most;
    });
    chosen->verdict = true;
  }
  std::ranges::stable_sort(remedies, std::greater(), &Remedy::gain);
}

const Remedy& Diagnosis::Verdict() const {
  const auto named = std::ranges::find(remedies, true, &Remedy::verdict);
  return named == remedies.end() ? as_it_is : *named;
}

std::string VerdictText(const Diagnosis& diagnosis) {
  const std::string time = FormatTime(diagnosis.as_it_is.total) +
                           (diagnosis.time_of.empty() ? "" : ", " + diagnosis.time_of);
  const Remedy& remedy = diagnosis.Verdict();
  if (remedy.bound == Bound::kBalanced) {
    return fmt::format("balanced: nothing that was tried saves {:.0f} % of {}", 100 * kNoticeable,
                       time);
  }
  const bool says_waits = remedy.bound == Bound::kCongestion || diagnosis.by_streams;
  const std::string waits = says_waits && !diagnosis.waits.empty() ? "; " + diagnosis.waits : "";
  return fmt::format("bound by {}: {} saves {:.1f} % of {}{}", ToString(remedy.bound),
                     remedy.change, 100 * remedy.gain, time, waits);
}

std::string RemedyLines(const Diagnosis& diagnosis) {
  size_t width = 0;
  for (const Remedy& remedy : diagnosis.remedies) width = std::max(width, remedy.change.size());
  std::string text;
  for (const Remedy& remedy : diagnosis.remedies) {
    text += fmt::format("{} {:<{}}  {:>8}  saves {:5.1f} %\n", remedy.verdict ? '*' : ' ',
                        remedy.change, width, FormatTime(remedy.total), Percent(remedy.gain));
  }
  return text;
}

std::vector<nlohmann::ordered_json> DoctorRows(const Diagnosis& diagnosis,
                                               const nlohmann::ordered_json& head) {
  std::vector<nlohmann::ordered_json> rows;
  const auto add = [&](const Remedy& remedy) {
    nlohmann::ordered_json row = head;
    row["remedy"] = remedy.name;
    row["bound"] = ToString(remedy.bound);
    row["change"] = remedy.change;
    row[diagnosis.time_key] = InSeconds(remedy.total);
    row["gain"] = remedy.gain;
    row["verdict"] = remedy.verdict ? 1 : 0;
    rows.push_back(std::move(row));
  };
  add(diagnosis.as_it_is);
  for (const Remedy& remedy : diagnosis.remedies) add(remedy);
  return rows;
}

}  // namespace legacy
