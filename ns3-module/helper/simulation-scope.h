/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_SIMULATION_SCOPE_H
#define LEGACY_SIMULATION_SCOPE_H

#include "fabric/engine/transport.h"

#include "ns3/attribute.h"
#include "ns3/type-id.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * Sets ns-3's process-wide state while one simulation is alive: the defaults of attributes, from a
 * transport preset and the user, and the random seed and run. The destructor restores everything,
 * so that one simulation does not affect the next.
 */
class SimulationScope
{
  public:
    /**
     * \param transport preset fields, then its attributes (which take precedence)
     * \param seed any number
     * \param run any number
     * Throws Error on attributes and congestion controls that ns-3 does not know.
     */
    SimulationScope(const fabric::Transport& transport, uint64_t seed, uint64_t run);
    ~SimulationScope();
    SimulationScope(const SimulationScope&) = delete;
    SimulationScope& operator=(const SimulationScope&) = delete;

  private:
    /// The default of an attribute before this object changed it.
    struct Saved
    {
        ns3::TypeId tid;                             //!< type
        std::size_t index;                           //!< index of the attribute in the type
        ns3::Ptr<const ns3::AttributeValue> initial; //!< its default
    };

    /**
     * \param transport of TCP
     */
    void SetDefaults(const fabric::Transport& transport);
    /**
     * \param name "ns3::Type::Attribute", known
     * \param value that is well formed
     */
    void SetDefault(const std::string& name, const std::string& value);

    std::vector<Saved> m_saved; //!< former defaults, in the order in which new ones were set
    uint32_t m_seed;            //!< value before this object
    uint64_t m_run;             //!< value before this object
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_SIMULATION_SCOPE_H
