// A link may carry nothing from some time on, for ever. A flow that needs it then never arrives.
#pragma once

#include "base/error.h"
#include "fabric/topology/topology.h"

#include <string>

namespace legacy::fabric
{

/// A DeadLink is the error of a flow that waits for a link which carries nothing any more.
class DeadLink : public Error
{
  public:
    /// what() reads `before`, "link A > B" and `after`. The flow goes from node `source` to node
    /// `destination`.
    DeadLink(const Topology& topology,
             DirectedLink link,
             int source,
             int destination,
             const std::string& before,
             const std::string& after)
        : Error(before + "link " + topology.NodeName(topology.From(link)) + " > " +
                topology.NodeName(topology.To(link)) + after),
          m_source(source),
          m_destination(destination)
    {
    }

    /// The same error, of another process.
    DeadLink(const std::string& text, int source, int destination)
        : Error(text),
          m_source(source),
          m_destination(destination)
    {
    }

    int Source() const
    {
        return m_source;
    }

    int Destination() const
    {
        return m_destination;
    }

  private:
    int m_source;
    int m_destination;
};

} // namespace legacy::fabric
