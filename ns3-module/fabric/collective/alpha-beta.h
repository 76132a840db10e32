// The textbook's times of collectives, and which algorithm is the fastest by the closed forms.
#pragma once

#include "closed-form.h"
#include "collective.h"
#include "fabric/topology/placement.h"
#include "fabric/topology/topology.h"

#include <string>
#include <vector>

namespace legacy::fabric
{

/// Steps times `alpha`, the seconds of a message of no length, plus the bytes of the busiest NIC
/// (or server) at `bytesPerSecond`: the rules of Thakur, Rabenseifner, Gropp (IJHPCA'05), Sanders,
/// Speck, Traff (2009) for pipelined trees. Where workers' bytes differ, the largest counts. Throws
/// Error on a spec that cannot be.
double AlphaBetaSeconds(const CollectiveSpec& spec, double alpha, double bytesPerSecond);

struct CollectiveChoice
{
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::RingAllReduce;
    TimeNs time = 0;    ///< by its closed form
    std::string reason; ///< one line: its time, and the next best's
};

/// The candidate with the least closed form for `spec`, whose algorithm is of no meaning; of equal
/// ones the first. Throws Error where there is none, or one cannot be.
CollectiveChoice FastestCollective(const std::vector<CollectiveAlgorithm>& candidates,
                                   CollectiveSpec spec,
                                   const UniformPath& path,
                                   const Transport& transport);

/// What the closed forms take a fabric for: the slowest link and the most hops between neighbouring
/// workers, and the mean delay of their links.
UniformPath TypicalPath(const Topology& topology, const Placement& placement);

/// The alpha of the textbook's rules: seconds that a message of no length takes between
/// neighbouring workers, in the mean over all of them (a ring's rounds pass every pair).
double NeighbourLatency(const Topology& topology, const Placement& placement);

} // namespace legacy::fabric
