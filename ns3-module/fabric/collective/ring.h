// Collectives are made of rings. In round r member i sends block (i - r) mod n to its right
// neighbour. n - 1 rounds are an all-gather of the blocks, or a reduce-scatter at whose end member
// i has block i + 1; 2 (n - 1) rounds are an all-reduce (Patarasuk, Yuan, JPDC'09). A block leaves
// a member only after the member has received (and reduced) the block of the round before. The
// state takes 8 bytes a member, and nothing is allocated on the way.
#pragma once

#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// A Ring records which rounds each member has received and answered.
class Ring
{
  public:
    /// Takes one block for each member, and the number of rounds.
    Ring(std::vector<int64_t> blocks, int rounds)
        : m_blocks(std::move(blocks)),
          m_rounds(rounds),
          m_total(std::accumulate(m_blocks.begin(), m_blocks.end(), int64_t{0})),
          m_members(m_blocks.size())
    {
    }

    int Size() const
    {
        return static_cast<int>(m_members.size());
    }

    /// Returns the bytes that `member` sends in all rounds.
    int64_t Sent(int member) const
    {
        const int laps = (m_rounds + Size() - 1) / Size();
        int64_t sent = laps * m_total;
        for (int round = m_rounds; round < laps * Size(); ++round) // rounds that are not run
        {
            sent -= m_blocks[BlockOf(member, round)];
        }
        return sent;
    }

    /// Start begins a member and Arrived tells it that a round came in. Both call `send(member,
    /// round, bytes, more)` for what goes to the right neighbour, and return true where `member` is
    /// done: once for each.
    template <typename Send>
    bool Start(int member, Send&& send)
    {
        m_members[member].taken = 0;
        if (m_rounds == 0)
        {
            return true;
        }
        SendRound(member, 0, send);
        return Take(member, send);
    }

    template <typename Send>
    bool Arrived(int member, int round, Send&& send)
    {
        Member& state = m_members[member];
        if (round != state.arrived)
        {
            m_overtaking.emplace(member, round);
            return false;
        }
        ++state.arrived;
        while (!m_overtaking.empty() && m_overtaking.erase({member, state.arrived}) > 0)
        {
            ++state.arrived;
        }
        return state.taken != kNotStarted && Take(member, send);
    }

  private:
    int BlockOf(int member, int round) const
    {
        int block = member - round;
        while (block < 0)
        {
            block += Size();
        }
        return block;
    }

    static constexpr int kNotStarted = -1;

    struct Member
    {
        int arrived = 0;         ///< rounds that came in, without a gap
        int taken = kNotStarted; ///< rounds that were answered
    };

    template <typename Send>
    void SendRound(int member, int round, Send&& send)
    {
        send(member, round, m_blocks[BlockOf(member, round)], round + 1 < m_rounds);
    }

    /// Takes the rounds that have arrived, in order. Each one lets the member send its next block.
    /// Returns true where the member is done.
    template <typename Send>
    bool Take(int member, Send&& send)
    {
        Member& state = m_members[member];
        while (state.taken < state.arrived)
        {
            if (++state.taken == m_rounds)
            {
                return true;
            }
            SendRound(member, state.taken, send);
        }
        return false;
    }

    std::vector<int64_t> m_blocks;
    int m_rounds;
    int64_t m_total; ///< sum of the blocks
    std::vector<Member> m_members;
    /// (member, round) of empty messages that overtook others; flows with bytes keep their order.
    std::set<std::pair<int, int>> m_overtaking;
};

} // namespace legacy::fabric
