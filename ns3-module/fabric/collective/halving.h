// Recursive halving and doubling (Thakur, Rabenseifner, Gropp, IJHPCA'05): reduce-scatter by vector
// halving and distance doubling, so that most bytes travel between near ranks, then all-gather in
// the reverse order. A reduce-scatter ends after the first half. Where N is not a power of two, let
// P be the largest power of two below it. The even workers among the first 2 (N - P) give their
// whole message to their right neighbour beforehand (the fold) and get the result, or their block
// of it, from it afterwards (the unfold).
//
// The other workers take no part in the fold. If they started at once, their messages would share
// the link of a neighbour that still receives a whole message, and all would wait longer. MPI
// libraries avoid this, because a long message waits until its receiver asks for it (rendezvous).
// Here these workers wait for a word, a message of one byte, from one of the N - P workers that
// received a whole message. Rank r of those sends words to the ranks r + N - P, r + 2 (N - P), ...
// below P. Internal to fabric/.
#pragma once

#include "base.h"

#include <algorithm>
#include <vector>

namespace legacy::fabric
{

/// A HalvingPlan says who sends what in each stage. With L = log2 P, stage 0 is the fold and stages
/// 1 to L are halving. In an all-reduce stages L + 1 to 2 L are doubling. The last stage is the
/// unfold. Words count as a stage after it.
class HalvingPlan
{
  public:
    /// Takes the bytes of each worker's message. A reduce-scatter leaves worker w block w of the
    /// `workers` balanced blocks of the sum, an all-reduce leaves everyone the sum.
    HalvingPlan(int workers, int64_t bytes, bool scatter)
        : m_bytes(bytes),
          m_workers(workers),
          m_scatter(scatter)
    {
        while (2 << m_levels <= workers)
        {
            ++m_levels;
        }
        m_extra = workers - (1 << m_levels);
        const int chunks = 1 << m_levels;
        m_before.reserve(chunks + 1);
        m_before.push_back(0);
        for (int chunk = 0; chunk < chunks; ++chunk)
        {
            m_before.push_back(m_before.back() + ChunkBytes(chunk));
        }
    }

    int Levels() const
    {
        return m_levels;
    }

    /// True where the worker takes part in the fold and the unfold only.
    bool Folded(int worker) const
    {
        return worker < 2 * m_extra && worker % 2 == 0;
    }

    /// True where the worker's left neighbour is folded.
    bool Folds(int worker) const
    {
        return worker < 2 * m_extra && worker % 2 == 1;
    }

    /// True where the worker waits for a word before it starts.
    bool Told(int worker) const
    {
        return m_extra > 0 && worker >= 2 * m_extra;
    }

    /// Returns the workers to which a worker that folds sends words. Its own next partner, where it
    /// is one of them, comes last, because the half message to it must not go before the others'
    /// words.
    std::vector<int> Listeners(int worker) const
    {
        std::vector<int> listeners;
        for (int rank = Rank(worker) + m_extra; rank < 1 << m_levels; rank += m_extra)
        {
            listeners.push_back(WorkerOf(rank));
        }
        std::reverse(listeners.begin(), listeners.end());
        return listeners;
    }

    /// Returns the number of the last stage, the unfold.
    int Unfold() const
    {
        return (m_scatter ? 1 : 2) * m_levels + 1;
    }

    /// Returns the bytes of the unfold from `worker` to its left neighbour.
    int64_t UnfoldBytes(int worker) const
    {
        return m_scatter ? Block(worker - 1) : m_bytes;
    }

    int64_t WordBytes() const
    {
        return std::min<int64_t>(m_bytes, 1);
    }

    int Partner(int worker, int stage) const
    {
        const int level = stage <= m_levels ? stage - 1 : 2 * m_levels - stage;
        return WorkerOf(Rank(worker) ^ (1 << level));
    }

    /// Returns the bytes that `worker` sends in a stage of halving or doubling.
    int64_t Bytes(int worker, int stage) const
    {
        // Halving sends the chunks that the partner keeps. Doubling sends all chunks that the
        // worker has.
        return stage <= m_levels ? Kept(Rank(Partner(worker, stage)), stage)
                                 : Kept(Rank(worker), 2 * m_levels + 1 - stage);
    }

    /// Returns the bytes of the largest message in a stage of halving.
    int64_t LargestHalf(int stage) const
    {
        const int64_t size = (int64_t{1} << m_levels) >> stage;
        int64_t largest = 0;
        for (int64_t first = 0; first < int64_t{1} << m_levels; first += size)
        {
            largest = std::max(largest, m_before[first + size] - m_before[first]);
        }
        return largest;
    }

    int64_t Whole() const
    {
        return m_bytes;
    }

  private:
    int Rank(int worker) const
    {
        return worker < 2 * m_extra ? worker / 2 : worker - m_extra;
    }

    int WorkerOf(int rank) const
    {
        return rank < m_extra ? 2 * rank + 1 : rank + m_extra;
    }

    /// Returns the bytes of the chunks that a rank keeps after `halvings` stages. Each bit of the
    /// rank, from the lowest on, chooses the lower or the upper half.
    int64_t Kept(int rank, int halvings) const
    {
        int64_t size = int64_t{1} << m_levels;
        int64_t first = 0;
        for (int i = 0; i < halvings; ++i)
        {
            size /= 2;
            first += (rank >> i & 1) * size;
        }
        return m_before[first + size] - m_before[first];
    }

    int64_t Block(int worker) const
    {
        return BalancedBlock(m_bytes, m_workers, worker);
    }

    /// Returns the bytes of a chunk. In a reduce-scatter it has the block of the worker that keeps
    /// it, whose rank is the chunk's number with its bits in the reverse order, and that of the
    /// left neighbour where this one is folded.
    int64_t ChunkBytes(int chunk) const
    {
        if (!m_scatter)
        {
            return BalancedBlock(m_bytes, int64_t{1} << m_levels, chunk);
        }
        int rank = 0;
        for (int level = 0; level < m_levels; ++level)
        {
            rank = 2 * rank + (chunk >> level & 1);
        }
        const int worker = WorkerOf(rank);
        return Block(worker) + (Folds(worker) ? Block(worker - 1) : 0);
    }

    int64_t m_bytes;
    int m_workers;
    bool m_scatter;
    int m_levels = 0;
    int m_extra = 0;
    std::vector<int64_t> m_before; ///< bytes of the first 0, 1, 2, ... chunks
};

} // namespace legacy::fabric
