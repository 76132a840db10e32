// A routing cache has the routing tables of a topology, which are made when first asked for: see
// routing.h.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace legacy::fabric
{

class Routing;
class Topology;

/// Any number of threads may call Get. A copy of a RoutingCache starts empty, as tables are quick
/// to make again.
class RoutingCache
{
  public:
    RoutingCache();
    RoutingCache(const RoutingCache& other);
    RoutingCache& operator=(const RoutingCache& other);
    ~RoutingCache();

    /// Returns the tables of `topology`, made now where this is the first call.
    const Routing& Get(const Topology& topology) const;
    /// Drops the tables, as the topology changed; no other thread may read then.
    void Clear();

  private:
    mutable std::mutex m_making; ///< locked while tables are set up
    mutable std::unique_ptr<const Routing> m_routing;
    mutable std::atomic<const Routing*> m_ready{nullptr};
};

} // namespace legacy::fabric
