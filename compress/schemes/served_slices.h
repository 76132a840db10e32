// Several parameter servers that compress (schemes/compressed_mean.h): each has a slice of every
// unit, and the option `servers` says how many there are. A worker sends a message of each slice to
// that slice's server, which averages its slice, compresses it with a residual of its own, and
// answers with one message. Slices are as equal as possible, the longer ones first. A slice is a
// vector: parameters mean for it what they mean for a unit, so that Top-K keeps
// max(1, floor(density n)) of its n values. Units of fewer values than servers have a slice of one
// value for each. Units that are sent whole have whole slices.
//
// Messages of a unit are those of its slices, one after the other; CollectiveCall::served says how
// many bytes each server gets and sends. Slices after the first draw with seeds of their own.
#pragma once

#include <memory>

#include "compress/exchange.h"

namespace legacy {

// The schemes of units and their slices. All have one collective call, of a known length, that a
// server answers.
struct SliceSchemes {
  std::shared_ptr<const Scheme> units;       // says which units are sent whole
  std::shared_ptr<const Scheme> compressed;  // of slices of the others
  std::shared_ptr<const Scheme> whole;       // of slices of units that are sent whole
};

// Returns the scheme of `servers` servers.
std::unique_ptr<Scheme> ServedSlices(const SliceSchemes& schemes, int servers);

}  // namespace legacy
