#include "analysis/summary_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

namespace legacy::analysis {
namespace {

void AddPolicyNotes(Summary& summary) {
  for (const PolicySummary& policy : summary.policies) {
    for (const SeedSummary& seed : policy.seeds) {
      const std::string who = fmt::format("{}, seed {}", policy.name, seed.seed);
      if (seed.steps == 0) {
        summary.notes.push_back(who + ": incomplete: no steps");
      } else if (!seed.finished) {
        summary.notes.push_back(
            fmt::format("{}: incomplete: ends after {} steps and {} evaluations", who, seed.steps,
                        seed.evaluations));
        // Without a target no evaluation was promised.
      } else if (seed.evaluations == 0 && summary.target) {
        summary.notes.push_back(who + ": incomplete: no evaluations");
      }
    }
    if (IsIdle(policy.decisions)) {
      summary.notes.push_back(
          fmt::format("{}: its policy {}: {}", MarkedName(policy.name, policy.decisions),
                      IdleText(*policy.decisions),
                      *policy.decisions == 0
                          ? "its figures are those of the parameters that it began with"
                          : "its figures are mostly those of the parameters that it began with"));
    }
    if (policy.network.retransmit_timeouts > 0) {
      summary.notes.push_back(
          fmt::format("{}: {} retransmission time-outs: its times include waiting for lost packets",
                      policy.name, policy.network.retransmit_timeouts));
    }
  }
}

// Says which policies miss the bytes that they were asked for, and why.
void AddVolumeNotes(const Manifest& manifest, Summary& summary) {
  constexpr double kTolerance = 0.02;
  for (const PolicySummary& policy : summary.policies) {
    if (!policy.requested_bytes || policy.step_bytes.count == 0) continue;
    const double more = policy.step_bytes.mean / *policy.requested_bytes - 1;
    if (std::abs(more) <= kTolerance) continue;
    const auto found = manifest.volume_reasons.find(policy.name);
    summary.notes.push_back(fmt::format(
        "{}: sends {:.1f} % {} bytes than asked for, so it is not compared at equal volume: {}",
        policy.name, 100 * std::abs(more), more > 0 ? "more" : "fewer",
        found == manifest.volume_reasons.end() ? "its bytes follow from the gradients"
                                               : found->second));
  }
  std::ranges::copy(manifest.remarks, std::back_inserter(summary.notes));
}

}  // namespace

void AddNotes(const Manifest& manifest, Summary& summary) {
  AddPolicyNotes(summary);
  AddVolumeNotes(manifest, summary);
}

}  // namespace legacy::analysis
