// A ring plan says what the rings of a collective carry: how many turns each takes, and the bytes
// of their blocks. Internal to fabric/.
#pragma once

#include "channels.h"
#include "collective.h"
#include "ring.h"

namespace legacy::fabric
{

/// A RingPlan divides the message of each worker among channels, and the part of a channel among
/// turns, so that no message exceeds the protocol's chunk. Each turn is a ring of its own. Parts
/// are balanced, and bytes are those that are sent, with the protocol's flags.
class RingPlan
{
  public:
    /// Takes a spec of a ring algorithm that was checked.
    explicit RingPlan(const CollectiveSpec& spec);

    int Workers() const
    {
        return m_workers;
    }

    int Channels() const
    {
        return m_spec.channels;
    }

    /// Returns the turns of each channel: 1 or more, equal for all of them.
    int Turns() const
    {
        return m_turns;
    }

    /// Returns the rounds of each turn.
    int Rounds() const;

    /// A mark has the round, then the turn, and 6 bits with the channel.
    static constexpr int kChannelShift = kTagShift - 6;

    /// Returns the number of bits that the round of a mark has.
    int RoundBits() const
    {
        return m_roundBits;
    }

    /// Returns the ring of a turn. Its members are the positions in the channel's order.
    Ring MakeRing(int channel, int turn) const;

    /// Returns the bytes of the largest message.
    int64_t LargestMessage() const;

    /// Returns the workers of a node.
    int Group() const
    {
        return m_spec.group;
    }

    const ChannelOrder& Order() const
    {
        return m_order;
    }

    /// Returns what the protocol of a ring's spec costs. As in NCCL's model, a Simple all-reduce
    /// over nodes has 1.4 times the latency (the plateau of rings on GPUs since Ampere), and nodes
    /// of one worker the tree's latency across, as nothing hides it.
    static ProtocolCosts CostsFor(const CollectiveSpec& spec);

    const ProtocolCosts& Costs() const
    {
        return m_costs;
    }

  private:
    int64_t BlockOf(int channel, int turn, int position) const;

    CollectiveSpec m_spec;
    ProtocolCosts m_costs;
    int m_workers;
    ChannelOrder m_order;
    int m_turns = 1;
    int m_roundBits = 0;
};

} // namespace legacy::fabric
