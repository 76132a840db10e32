// Fragments are parts of a model that travel one after the other: layers that follow each other,
// of about equally many elements, each part with units and buckets of its own (Streaming DiLoCo:
// Douillard et al., 2025, arXiv:2501.18512, whose sequential pattern this is).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/clock/bucket_plan.h"

namespace legacy {

// A Fragment is the elements [offset, offset + numel) of the flat model.
struct Fragment {
  int64_t offset = 0;
  int64_t numel = 0;
  // Units with offsets in the whole model. Their ids continue after those of the fragments before.
  UnitPlan plan;
};

// Cuts a model of such layers, contiguous from offset 0. Throws Error where it has fewer layers
// than fragments, and as PlanUnits does.
std::vector<Fragment> CutFragments(std::span<const Unit> layers, int fragments, Scope scope,
                                   const BucketOptions& buckets);

// Local steps of a fragment's turn are those from `first` on, up to `end`, of the steps of a
// version; the fragment leaves after step `sent` and arrives at the end.
struct FragmentTurn {
  int64_t first = 0;
  int64_t sent = 0;
  int64_t end = 0;
};

// Returns the turns of that many fragments in a version of `steps` local steps, as evenly as whole
// steps go. Throws Error where a turn has no step, or none before the fragment leaves.
std::vector<FragmentTurn> TurnsOf(int fragments, int64_t overlap, int64_t steps);

}  // namespace legacy
