// The routing tables of a topology, made when first asked for: see topology-routing.h.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace legacy::fabric
{

class Routing;
class Topology;

/// Any number of threads may call Get. Copies start empty: tables are quick to make again.
class RoutingCache
{
  public:
    RoutingCache();
    RoutingCache(const RoutingCache& other);
    RoutingCache& operator=(const RoutingCache& other);
    ~RoutingCache();

    const Routing& Get(const Topology& topology) const;
    /// The topology changed; not while another thread reads.
    void Clear();

  private:
    mutable std::mutex m_making; ///< held while tables are set up
    mutable std::unique_ptr<const Routing> m_routing;
    mutable std::atomic<const Routing*> m_ready{nullptr};
};

} // namespace legacy::fabric
