// A step of AR-Topk of one unit is gathered or reduced: this says what its collective calls are,
// what they do and how long their messages are.
#pragma once

#include <vector>

#include "compress/schemes/ar_topk.h"

namespace legacy {

// An ArTopKStep plans the calls of one step.
struct ArTopKStep {
  const ArTopKOptions& options;
  const Unit& unit;
  double density = 1;
  int active_workers = 1;

  int64_t Count() const;  // number of positions
  // Returns how positions are written.
  IndexCoding Coding() const;
  // Returns the call of a gathered step. Messages whose length depends on the data are planned as
  // the shortest of fixed length.
  std::vector<PlannedCall> Gathered() const;
  // Returns the calls of a reduced step; the exchange sets the root of the broadcast.
  std::vector<PlannedCall> Reduced() const;
  // True where messages are gathered: as configured, or where that is no slower on the link.
  bool Gathers(const LinkEstimate& link) const;

 private:
  int64_t PositionBytes() const;
  int64_t ValueBytes() const { return int64_t{sizeof(float)} * Count(); }
};

}  // namespace legacy
