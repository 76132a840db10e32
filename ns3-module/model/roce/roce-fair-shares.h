/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_FAIR_SHARES_H
#define LEGACY_ROCE_FAIR_SHARES_H

#include "fabric/engine/max-min.h"
#include "queue-pairs.h"

#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Computes the max-min fair shares of queue pairs with messages, below which none is paced if the
 * settings say so.
 */
class RoceFairShares
{
  public:
    /**
     * \param topology outlives this object
     * \param pairs all queue pairs; outlives this object
     * \param network whose links they share
     */
    RoceFairShares(const fabric::Topology* topology, QueuePairs* pairs, const RoceNetwork& network);

    /**
     * Lets a queue pair take part in the shares, or stops that.
     * \param number of the queue pair
     * \param takesPart whether it takes part from now on
     * \return the queue pairs whose shares may have changed
     */
    std::vector<uint32_t> Change(uint32_t number, bool takesPart);
    /**
     * \param number of a queue pair that has taken part
     * \return its share in bit/s; 0: it does not take part
     */
    double Of(uint32_t number) const;

  private:
    int Connect(uint32_t number); //!< returns the queue pair's connection

    const fabric::Topology* m_topology;
    QueuePairs& m_pairs;
    fabric::MaxMin m_rates;
    std::vector<uint32_t> m_sharing; //!< queue pairs by connection
    std::vector<int> m_connections;  //!< by queue pair; -1: it never had one
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_FAIR_SHARES_H
