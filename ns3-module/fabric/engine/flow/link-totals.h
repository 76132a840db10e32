// Totals count what connections of the flow engine have sent, by directed link. Internal to
// fabric/.
#pragma once

#include "fabric/engine/engine.h"
#include "flow-connections.h"

#include <vector>

namespace legacy::fabric
{

/// LinkTotals sum up the flows that connections have sent.
class LinkTotals
{
  public:
    /// `links` is the number of directed links.
    explicit LinkTotals(size_t links) : m_totals(links)
    {
    }

    /// Adds a connection, whose highest rate ever is `peak`.
    void Add(const FlowConnection& connection, double peak);

    /// Returns bytes and packets of a link.
    LinkCounters Of(DirectedLink link) const;
    /// Returns the highest rate of any connection on a link, bytes a nanosecond.
    double PeakOf(DirectedLink link) const
    {
        return m_totals[link].peak;
    }

  private:
    struct Total
    {
        double bytes = 0;
        double background = 0;
        double packets = 0;
        double peak = 0;
    };

    std::vector<Total> m_totals; ///< by directed link
};

/// A PresentFlow is what has left of the flow that a connection sends, on the wire.
struct PresentFlow
{
    double bytes = 0;
    double ackBytes = 0;
    double rate = 0; ///< bytes a nanosecond
};

/// Adds what a connection has sent, and sends now, to the links of its path. `ackRatio` is the
/// bytes of ACKs for each byte of data.
void AddActivity(const FlowConnection& connection,
                 const PresentFlow& present,
                 double ackRatio,
                 std::vector<LinkActivity>& activity);

} // namespace legacy::fabric
