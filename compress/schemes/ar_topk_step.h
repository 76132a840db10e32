// A step of AR-Topk of one unit, gathered or reduced: its collective calls, what they do and how
// long their messages are.
#pragma once

#include <vector>

#include "compress/schemes/ar_topk.h"

namespace legacy {

struct ArTopKStep {
  const ArTopKOptions& options;
  const Unit& unit;
  double density = 1;
  int active_workers = 1;

  int64_t Count() const;  // positions
  IndexCoding Coding() const;
  // Messages whose length depends on the data are planned as the shortest of fixed length.
  std::vector<PlannedCall> Gathered() const;
  // The root of the broadcast is chosen by the exchange.
  std::vector<PlannedCall> Reduced() const;
  // Whether messages are gathered: as configured, or where that is no slower on the link.
  bool Gathers(const LinkEstimate& link) const;

 private:
  int64_t PositionBytes() const;
  int64_t ValueBytes() const { return int64_t{sizeof(float)} * Count(); }
};

}  // namespace legacy
