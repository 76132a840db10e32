// These are the textbook's times of collectives, and the choice of the fastest algorithm by the
// closed forms.
#pragma once

#include "closed-form.h"
#include "collective.h"
#include "fabric/topology/placement.h"
#include "fabric/topology/topology.h"
#include "tuning.h"

#include <string>
#include <vector>

namespace legacy::fabric
{

/// Returns steps times `alpha`, the seconds of an empty message, plus the bytes of the busiest NIC
/// (or server) at `bytesPerSecond`, by the rules of Thakur, Rabenseifner, Gropp (IJHPCA'05) and of
/// Sanders, Speck, Traff (2009) for pipelined trees. Where workers' bytes differ, the largest
/// counts. Throws Error on an invalid spec.
double AlphaBetaSeconds(const CollectiveSpec& spec, double alpha, double bytesPerSecond);

/// A CollectiveChoice is the algorithm that was chosen, and why.
struct CollectiveChoice
{
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::RingAllReduce;
    TimeNs time = 0;    ///< its closed form
    std::string reason; ///< one line: its time, and the next best's
};

/// Returns the candidate whose closed form is the shortest for `spec`, the first of equal ones. The
/// algorithm in `spec` has no effect. Channels and protocol apply to the candidates that take them.
/// Throws Error where there is no candidate, or one is invalid.
CollectiveChoice FastestCollective(const std::vector<CollectiveAlgorithm>& candidates,
                                   CollectiveSpec spec,
                                   const UniformPath& path,
                                   const Transport& transport,
                                   const ChannelOptions& channels = {});

/// Returns the uniform path that the closed forms assume for a collective of the members (empty:
/// all workers): the slowest link and the most hops between neighbouring members, and the mean
/// delay of their links, the delays of switches included.
UniformPath TypicalPath(const Topology& topology,
                        const Placement& placement,
                        const Transport& transport,
                        const std::vector<int>& members = {});

/// Returns the alpha of the textbook's rules: seconds of an empty message between neighbouring
/// members, averaged over all of them, because a ring's rounds pass every pair.
double NeighbourLatency(const Topology& topology,
                        const Placement& placement,
                        const Transport& transport,
                        const std::vector<int>& members = {});

} // namespace legacy::fabric
