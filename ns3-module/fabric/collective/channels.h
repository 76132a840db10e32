// The channels of a ring collective, as NCCL and RCCL have them: several rings at once, each with a
// part of the message and connections of its own, whose orders are rotated so that the rings share
// the NICs of a node. Internal to fabric/.
#pragma once

#include <algorithm>

namespace legacy::fabric
{

/// ChannelOrder says in which order the ring of each channel passes the workers. A node is `group`
/// consecutive workers; the last may have fewer. A ring passes a whole node before the next one.
///
/// In even nodes ring c goes up from the node's worker c: c, c + 1, ..., c - 1. In odd nodes it
/// goes down from worker c - 1: c - 1, c - 2, ..., c. It therefore leaves each node by the worker
/// whose number is that of the worker by which it enters the next node, and stays on that worker's
/// rail: rail c - 1 after even nodes and rail c after odd ones. Where the number of nodes is odd,
/// the last and the first of them are both even, and this one hop goes from rail c - 1 to rail c. A
/// single channel keeps the order of the workers' numbers.
class ChannelOrder
{
  public:
    ChannelOrder(int workers, int group, int channels)
        : m_workers(workers),
          m_group(std::min(group, workers)),
          m_rotates(channels > 1)
    {
    }

    /// Returns the worker at a position, 0 to workers - 1, of the channel's ring.
    int WorkerAt(int channel, int position) const
    {
        return m_rotates ? Mapped(channel, position) : position;
    }

    /// Returns the position of a worker in the channel's ring.
    int PositionOf(int channel, int worker) const
    {
        if (!m_rotates)
        {
            return worker;
        }
        const Node node = NodeOf(channel, worker);
        const int local = worker - node.first;
        return node.first + (node.up ? (local + node.size - node.start) % node.size
                                     : (node.start + node.size - local) % node.size);
    }

  private:
    struct Node
    {
        int first; ///< its first worker, and the position at which a ring enters it
        int size;
        bool up;
        int start; ///< number in the node of the worker by which the ring enters
    };

    Node NodeOf(int channel, int worker) const
    {
        const int number = worker / m_group;
        const int first = number * m_group;
        const int size = std::min(m_group, m_workers - first);
        const bool up = number % 2 == 0;
        return {first, size, up, (channel + (up ? 0 : size - 1)) % size};
    }

    int Mapped(int channel, int position) const
    {
        const Node node = NodeOf(channel, position);
        const int step = position - node.first;
        return node.first + (node.up ? (node.start + step) % node.size
                                     : (node.start + node.size - step) % node.size);
    }

    int m_workers;
    int m_group;
    bool m_rotates;
};

} // namespace legacy::fabric
