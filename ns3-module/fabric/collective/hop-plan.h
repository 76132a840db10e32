// A sum by hops is an all-reduce whose workers decode what they receive, add their own values and
// encode the sum for the next hop (compress/schemes/hops/hop_sum.h). A worker therefore computes
// between its messages, and the next one waits for that. The second half forwards what the first
// half has encoded. A reduce-scatter has the first half alone: piece w goes round the ring from
// worker w + 1 to worker w, and nobody encodes it afterwards.
//
// In a ring of N workers, worker w sends piece w - r in round r. N - 1 rounds reduce, and N - 1
// gather. In a butterfly, let P be the largest power of two that is not above N. Workers P .. N - 1
// give their whole message to worker w - P beforehand, and get the result from it afterwards. The
// others halve their range of P pieces at distances P/2 .. 1 and then double it. Internal to
// fabric/.
#pragma once

#include "base.h"

#include <algorithm>
#include <numeric>

namespace legacy::fabric
{

/// A HopStep is what a worker does in one step: it sends if `to` is a worker, and then waits for a
/// message if `from` is one.
struct HopStep
{
    static constexpr int kNobody = -1;

    int to = kNobody;
    int from = kNobody;
    int first = 0; ///< pieces that it sends, from `first` to before `last`
    int last = 0;
    int added = 0;     ///< pieces that it receives, adds to and encodes: 0 where it keeps them
    int addedFrom = 0; ///< the first of them
    int number = 0;    ///< number of the message that it sends, and of the one that it receives
};

/// A HopPlan says who sends what in each step.
class HopPlan
{
  public:
    explicit HopPlan(const CollectiveSpec& spec)
        : m_ring(IsRing(spec.algorithm)),
          m_scatters(CanCarry(spec.algorithm, Payload::HopScatter)),
          m_workers(static_cast<int>(spec.bytes.size())),
          m_pieces(PiecesOf(spec.algorithm, m_workers)),
          m_slices(spec.slices)
    {
        while (1 << m_levels < m_pieces && !m_ring)
        {
            ++m_levels;
        }
        if (m_slices.empty())
        {
            m_slices.push_back(
                {Balanced(spec.bytes[0], m_pieces), std::vector<int64_t>(m_pieces, 0)});
        }
    }

    /// Returns the number of pieces of each slice.
    static int PiecesOf(CollectiveAlgorithm algorithm, int workers)
    {
        int pieces = 1;
        while (2 * pieces <= workers)
        {
            pieces *= 2;
        }
        return IsRing(algorithm) ? workers : pieces;
    }

    static bool IsRing(CollectiveAlgorithm algorithm)
    {
        return algorithm == CollectiveAlgorithm::HopRingAllReduce ||
               algorithm == CollectiveAlgorithm::HopRingReduceScatter;
    }

    /// True where a worker sends to the same one in all steps.
    bool IsRing() const
    {
        return m_ring;
    }

    int Workers() const
    {
        return m_workers;
    }

    int Slices() const
    {
        return static_cast<int>(m_slices.size());
    }

    int Levels() const
    {
        return m_levels;
    }

    bool Folds() const
    {
        return m_pieces < m_workers;
    }

    /// Returns the number of steps of any worker; a step in which it does nothing ends at once.
    int Steps() const
    {
        if (m_scatters)
        {
            return m_ring ? m_workers - 1 : m_levels + 1;
        }
        return m_ring ? 2 * (m_workers - 1) : 2 * m_levels + 2;
    }

    /// True where the sum stays with the workers that end with a piece of it.
    bool Scatters() const
    {
        return m_scatters;
    }

    HopStep StepOf(int worker, int step) const
    {
        return m_ring ? RingStep(worker, step) : ButterflyStep(worker, step);
    }

    /// Returns the payload of pieces first .. last - 1 of a slice.
    int64_t Payload(int slice, int first, int last) const
    {
        const std::vector<int64_t>& payload = m_slices[slice].payload;
        return std::accumulate(payload.begin() + first, payload.begin() + last, int64_t{0});
    }

    /// Returns the bytes of their message; pieces without values are not sent.
    int64_t Bytes(int slice, int first, int last) const
    {
        const int64_t payload = Payload(slice, first, last);
        return payload == 0 ? 0 : payload + m_slices[slice].headers[first];
    }

    /// Returns the time that a worker computes with that many bytes of payload.
    static TimeNs TimeOf(const HopTimes& times, int worker, int64_t payload)
    {
        if (payload == 0)
        {
            return 0;
        }
        const double factor = times.factors.empty() ? 1 : times.factors[worker];
        return RoundedTime(factor * (static_cast<double>(times.launch) +
                                     times.pace * static_cast<double>(payload)));
    }

  private:
    HopStep RingStep(int worker, int round) const
    {
        const auto piece = [&](int number)
        { return ((number % m_workers) + m_workers) % m_workers; };
        HopStep step;
        step.to = (worker + 1) % m_workers;
        step.from = (worker + m_workers - 1) % m_workers;
        const int start = worker - (m_scatters ? 1 : 0); // the piece that the worker sends first
        step.first = piece(start - round);
        step.last = step.first + 1;
        step.added = round < m_workers - (m_scatters ? 2 : 1) ? 1 : 0;
        step.addedFrom = piece(start - 1 - round);
        step.number = round;
        return step;
    }

    HopStep ButterflyStep(int worker, int stage) const
    {
        HopStep step;
        step.number = stage;
        const bool folded = worker >= m_pieces;
        const bool host = worker + m_pieces < m_workers;
        if (stage == 0 || stage == 2 * m_levels + 1)
        {
            const bool before = stage == 0;
            const int other = folded ? worker - m_pieces : worker + m_pieces;
            if (!folded && !host)
            {
                return step;
            }
            (folded == before ? step.to : step.from) = other;
            step.last = step.to == HopStep::kNobody ? 0 : m_pieces;
            step.added = before && host ? m_pieces : 0;
            return step;
        }
        if (folded)
        {
            return step;
        }
        const bool halving = stage <= m_levels;
        // The range before a halving, or after a doubling, has `size` pieces.
        const int size = m_pieces >> (halving ? stage - 1 : 2 * m_levels - stage);
        const int begin = worker / size * size;
        const int middle = begin + size / 2;
        const bool lower = worker < middle;
        step.to = step.from = lower ? worker + size / 2 : worker - size / 2;
        const bool sendsUpper = halving == lower;
        step.first = sendsUpper ? middle : begin;
        step.last = step.first + size / 2;
        step.added = halving && !(m_scatters && stage == m_levels) ? size / 2 : 0;
        step.addedFrom = lower ? begin : middle;
        return step;
    }

    bool m_ring;
    bool m_scatters;
    int m_workers;
    int m_pieces;
    int m_levels = 0; ///< halvings of a butterfly
    std::vector<HopSlice> m_slices;
};

} // namespace legacy::fabric
