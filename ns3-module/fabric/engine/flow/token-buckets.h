// Token buckets of links at flow fidelity. A port with a bucket sends at once what its tokens
// allow; they come back while no connection sends over it. Internal to fabric/.
#pragma once

#include "fabric/engine/flow-path.h"

#include <vector>

namespace legacy::fabric
{

/// TokenBuckets holds those of all links of a topology.
class TokenBuckets
{
  public:
    explicit TokenBuckets(const Topology& topology);

    /// Takes from the buckets of a path what a flow of `wire` bytes sends at once, and returns it:
    /// the tokens of the bucket that has the least. A link without a bucket passes them at its
    /// rate, while new tokens come at the slowest link's. `rates` are those of links now, bytes a
    /// nanosecond.
    double Take(const FlowPath& path, double wire, const std::vector<double>& rates, TimeNs now);
    /// Ends the sending of a flow that has taken tokens.
    void Return(const FlowPath& path, TimeNs now);

  private:
    struct Bucket
    {
        double size = 0; ///< bytes; 0: the link has no bucket
        double tokens = 0;
        int senders = 0;
        TimeNs idleSince = 0;
    };

    std::vector<Bucket> m_buckets; ///< by directed link; empty where no link has one
};

} // namespace legacy::fabric
