/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_QUEUE_PAIR_MAKER_H
#define LEGACY_QUEUE_PAIR_MAKER_H

#include "fabric/engine/connection.h"
#include "fabric/roce/control.h"
#include "fabric/roce/roce-settings.h"
#include "queue-pair.h"
#include "roce-network.h"

#include <memory>
#include <set>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Makes queue pairs with their ways and the values that follow from these (round-trip times,
 * windows, turns).
 */
class QueuePairMaker
{
  public:
    /**
     * \param topology outlives this object, as all the others do
     * \param settings of NICs
     * \param control congestion control
     * \param network over which they send
     */
    QueuePairMaker(const fabric::Topology* topology,
                   const fabric::RoceSettings* settings,
                   const fabric::RoceControl* control,
                   const RoceNetwork* network);

    /**
     * \param connection of the queue pair
     * \param channel its number among those of the connection
     * \return a queue pair that has no congestion-control state yet
     */
    std::unique_ptr<QueuePair> Make(const fabric::ConnectionName& connection, uint32_t channel);

    /**
     * \return true if data may take any shortest path
     */
    bool Sprays() const
    {
        return m_sprays;
    }

  private:
    Course CourseOf(const std::vector<DirectedLink>& forth, const std::vector<DirectedLink>& back);
    double WindowLimitOf(const fabric::RocePath& path) const;
    void OpenSelective(QueuePair& pair) const;
    Picoseconds RoundTrip(const std::vector<DirectedLink>& way,
                          const std::vector<DirectedLink>& back) const;
    Picoseconds RoundTripOfFabric() const;

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    const fabric::RoceControl* m_control;
    const RoceNetwork* m_network;
    const bool m_sprays;
    Picoseconds m_roundTrip{0}; //!< that of all pairs; 0: each has its own, or it is not known yet
    std::set<Course> m_courses;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_QUEUE_PAIR_MAKER_H
