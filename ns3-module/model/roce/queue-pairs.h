/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_QUEUE_PAIRS_H
#define LEGACY_QUEUE_PAIRS_H

#include "fabric/roce/control.h"
#include "fabric/roce/roce-settings.h"
#include "queue-pair.h"
#include "roce-network.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace legacy
{
namespace packet
{

/// QueuePairs are all queue pairs of a network, with the messages on their way.
class QueuePairs
{
  public:
    using Message = QueuePair::Message;

    /**
     * \param topology outlives this object, as all the others do
     * \param settings of NICs
     * \param control congestion control
     * \param network over which they send
     */
    QueuePairs(const fabric::Topology* topology,
               const fabric::RoceSettings* settings,
               const fabric::RoceControl* control,
               const RoceNetwork* network);

    /**
     * \param number of a queue pair
     * \return the queue pair
     */
    QueuePair& operator[](uint32_t number)
    {
        return *m_pairs[number];
    }

    const QueuePair& operator[](uint32_t number) const
    {
        return *m_pairs[number];
    }

    /**
     * Opens a queue pair where there is none.
     * \param source node
     * \param destination node
     * \param lane one of several of the two
     * \return its number
     */
    uint32_t Open(int source, int destination, uint16_t lane);
    /**
     * Adds a message behind those of a queue pair, which is as new where it was idle and the
     * settings say so.
     * \param number of the queue pair
     * \param graph number of the graph that sends it
     * \param flow the message
     */
    void Add(uint32_t number, uint64_t graph, const fabric::Flow& flow);
    /**
     * Withdraws a message that has not arrived. What was never sent of it is cut off, and later
     * messages move up.
     * \param source node
     * \param destination node
     * \param graph number of the graph that sent it
     * \param flow the message
     * \return its bytes that are carried all the same; nothing where it is not on its way
     */
    std::optional<int64_t>
    Abort(int source, int destination, uint64_t graph, const fabric::Flow& flow);
    /// Makes the congestion controls of all as new.
    void Renew();

    /**
     * \param message a message
     * \param psn one of its frames
     * \return payload bytes of the frame
     */
    int64_t PayloadOf(const Message& message, uint64_t psn) const
    {
        const auto before = static_cast<int64_t>(psn - message.first) * m_settings->mtu;
        return std::min<int64_t>(m_settings->mtu, message.bytes - before);
    }

    /**
     * \param message a message
     * \param psn one of its frames
     * \return bytes of the frame on the wire when it leaves its NIC
     */
    int64_t WireOf(const Message& message, uint64_t psn) const
    {
        constexpr int64_t kPadding = fabric::RoceSettings::kPayloadPadding;
        return fabric::CeilDivide(PayloadOf(message, psn), kPadding) * kPadding + m_headerBytes +
               (psn == message.first ? m_settings->messageBytes : 0);
    }

    /**
     * \return true where all is acknowledged
     */
    bool IsIdle() const;
    /**
     * \param pair a queue pair
     * \return its ends, as text
     */
    std::string NameOf(const QueuePair& pair) const;
    /**
     * \return the queue pairs that have messages on their way
     */
    std::vector<fabric::RoceActivity::Pair> GetActivity() const;
    /**
     * \return the messages on their way, a line for each of the first few
     */
    std::string DescribeBlocked() const;

  private:
    void Renew(QueuePair& pair);
    Picoseconds RoundTrip(const QueuePair& pair) const;

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    const fabric::RoceControl* m_control;
    const RoceNetwork* m_network;
    const int64_t m_headerBytes; //!< of data frames
    std::map<std::tuple<int, int, uint16_t>, uint32_t> m_numbers;
    std::vector<std::unique_ptr<QueuePair>> m_pairs;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_QUEUE_PAIRS_H
