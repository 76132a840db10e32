// Plans a step of AR-Topk for one unit, which gathers or reduces: its collective calls, their work
// and the lengths of their messages.
#pragma once

#include <vector>

#include "compress/schemes/sparse/ar_topk.h"

namespace legacy {

// Plans the calls of one step.
struct ArTopKStep {
  const ArTopKOptions& options;
  const Unit& unit;
  double density = 1;
  int active_workers = 1;

  int64_t Count() const;  // number of positions
  // Returns the coding of the positions.
  IndexCoding Coding() const;
  // Returns the call of a gathered step. Messages whose length depends on the data are planned as
  // the shortest of fixed length.
  std::vector<PlannedCall> Gathered() const;
  // Returns the calls of a reduced step; the exchange sets the root of the broadcast.
  std::vector<PlannedCall> Reduced() const;
  // Returns true if messages are gathered: if so configured, or if that is not slower on the link.
  bool Gathers(const LinkEstimate& link) const;

 private:
  int64_t PositionBytes() const;
  int64_t ValueBytes() const { return int64_t{sizeof(float)} * Count(); }
};

}  // namespace legacy
