// Slices with owners, as sharded trainings have them (docs/sharding.md): of S workers that hold a
// copy of the model together, each owns a slice of every unit. A worker compresses each slice by
// itself and sends the message to its owner, who decodes the messages of all workers and forms the
// mean. This is a reduce-scatter of messages. In all, a worker sends (S-1)/S of the bytes of its
// messages, where an all-gather would send them S-1 times.
//
// Slices are cut as frameworks cut tensors: S times ceil(rows / S) rows (FSDP2), or S times
// ceil(n / S) values (ZeRO-3). The last ones may be shorter, or empty. A slice is a unit of its own
// for the scheme: `topk` keeps max(1, floor(density n)) of its n values, and rules on the size of
// units hold for its size. With `select=unit` a worker selects from the whole unit, and each owner
// gets what is selected in its slice (owned_unit.h).
#pragma once

#include <memory>
#include <span>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

// With nodes (`node=G`) there are two exchanges, of which the second alone crosses nodes (qgZ of
// ZeRO++, SDP4Bit): a worker sends each worker of its node the messages of all slices whose owners
// have that one's position in their nodes; who decodes and averages them compresses the means again
// and sends them to the owners. Residuals are kept by who compresses, in both. Where all owners are
// in one node there is one exchange.

// A Cut says how a unit is cut into slices, and how they travel.
struct Cut {
  int owners = 0;        // S; 0: not at all
  bool by_rows = true;   // false: by values
  int node = 0;          // workers of a node, which divide S; 0, or S and more: one exchange
  double inner = 0;      // parameter of messages inside nodes; 0: that of the others
  bool by_unit = false;  // true: values are selected from the whole unit
};

// Returns the slices of a unit that have any values, which are its first ones.
std::vector<Unit> CutUnit(const Unit& unit, const Cut& cut);

// Returns the options "owners", "cut", "node", "inner" and "select".
std::span<const OptionSpec> OwnedSlicesOptions();
Cut ReadCut(const OptionReader& options);

// Returns the scheme whose messages go to owners of slices; without owners, `scheme` itself. Throws
// Error for schemes whose sums are needed whole, or that send in another way than one message to
// all (broadcasts, servers) or sums that quantisers encode again at every hop (owned_hops.h); with
// nodes also for those whose lengths depend on the data; with `by_unit` for those whose messages
// are no selections that can be divided.
std::unique_ptr<Scheme> WithOwners(std::unique_ptr<Scheme> scheme, const Cut& cut);

}  // namespace legacy
