// Hierarchical all-reduce and all-gather of K groups of G consecutive workers, in three stages of
// rings: within the group, across the groups, within the group.
//
//   all-reduce   reduce-scatter of G chunks, all-reduce of each chunk across the groups, all-gather
//   all-gather   of the group's blocks; the group's block is cut into G slices and each is gathered
//                across the groups; all-gather of what the members got from other groups
//
// Member c of each group owns chunk or slice c. If the last group has fewer members, g, member j
// owns c = j, j + g, j + 2 g, ..., and all of these travel together within the group.
#include "algorithms.h"
#include "base.h"
#include "ring.h"

#include <algorithm>
#include <numeric>

namespace legacy::fabric
{

namespace
{

/// A HierarchicalPlan has the rings of the three stages.
class HierarchicalPlan
{
  public:
    explicit HierarchicalPlan(const CollectiveSpec& spec)
        : m_workers(static_cast<int>(spec.bytes.size())),
          m_group(std::min(spec.group, m_workers)),
          m_groups((m_workers + m_group - 1) / m_group)
    {
        if (spec.algorithm == CollectiveAlgorithm::HierarchicalAllReduce)
        {
            MakeAllReduce(spec.bytes[0]);
        }
        else
        {
            MakeAllGather(spec.bytes);
        }
    }

    int GroupOf(int worker) const
    {
        return worker / m_group;
    }

    int MemberOf(int worker) const
    {
        return worker % m_group;
    }

    int GroupSize(int group) const
    {
        return std::min(m_group, m_workers - group * m_group);
    }

    int Groups() const
    {
        return m_groups;
    }

    int Parts() const
    {
        return m_group;
    }

    int Worker(int group, int member) const
    {
        return group * m_group + member;
    }

    /// Returns the worker of a group that owns a part.
    int Keeper(int group, int part) const
    {
        return Worker(group, part % GroupSize(group));
    }

    std::vector<Ring> first;  ///< rings within groups, by group
    std::vector<Ring> across; ///< rings across groups, by part
    std::vector<Ring> last;   ///< rings within groups, by group

  private:
    void MakeAllReduce(int64_t bytes)
    {
        const std::vector<int64_t> chunks = Balanced(bytes, m_group);
        for (int64_t chunk : chunks)
        {
            across.emplace_back(Balanced(chunk, m_groups), 2 * (m_groups - 1));
        }
        for (int group = 0; group < m_groups; ++group)
        {
            const int size = GroupSize(group);
            std::vector<int64_t> kept = Kept(chunks, size);
            last.emplace_back(kept, size - 1);
            // A ring's reduce-scatter leaves block i + 1 at member i.
            std::rotate(kept.begin(), kept.end() - 1, kept.end());
            first.emplace_back(kept, size - 1);
        }
    }

    void MakeAllGather(const std::vector<int64_t>& bytes)
    {
        std::vector<std::vector<int64_t>> slices(m_group); // [part][group]
        for (int group = 0; group < m_groups; ++group)
        {
            const auto begin = bytes.begin() + Worker(group, 0);
            std::vector<int64_t> blocks(begin, begin + GroupSize(group));
            const int64_t total = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
            for (int part = 0; part < m_group; ++part)
            {
                slices[part].push_back(BalancedBlock(total, m_group, part));
            }
            first.emplace_back(std::move(blocks), GroupSize(group) - 1);
        }
        std::vector<int64_t> totals; // bytes of each part, summed over all groups
        for (const std::vector<int64_t>& slice : slices)
        {
            across.emplace_back(slice, m_groups - 1);
            totals.push_back(std::accumulate(slice.begin(), slice.end(), int64_t{0}));
        }
        for (int group = 0; group < m_groups; ++group)
        {
            std::vector<int64_t> foreign;
            for (int part = 0; part < m_group; ++part)
            {
                foreign.push_back(totals[part] - slices[part][group]);
            }
            const int rounds = m_groups == 1 ? 0 : GroupSize(group) - 1;
            last.emplace_back(Kept(foreign, GroupSize(group)), rounds);
        }
    }

    /// Returns the bytes that each of `members` members owns.
    static std::vector<int64_t> Kept(const std::vector<int64_t>& parts, int members)
    {
        std::vector<int64_t> kept(members, 0);
        for (size_t part = 0; part < parts.size(); ++part)
        {
            kept[part % members] += parts[part];
        }
        return kept;
    }

    int m_workers;
    int m_group;
    int m_groups;
};

class Hierarchical : public CollectiveBase
{
    enum Stage : uint64_t
    {
        kFirst,
        kAcross,
        kLast
    };

    /// A mark has the stage, 19 bits with the ring's number, and 19 bits with the round.
    static constexpr int kRingShift = 19;
    static constexpr int kRoundShift = 19;

    /// Returns the function that sends to the right neighbour in ring `ring` of a stage.
    auto Sender(Stage stage, int ring, FlowSink& sink) const
    {
        return [this, stage, ring, &sink](int member, int round, int64_t bytes, bool more)
        {
            int from = 0;
            int to = 0;
            if (stage == kAcross)
            {
                from = m_plan.Keeper(member, ring);
                to = m_plan.Keeper((member + 1) % m_plan.Groups(), ring);
            }
            else
            {
                from = m_plan.Worker(ring, member);
                to = m_plan.Worker(ring, (member + 1) % m_plan.GroupSize(ring));
            }
            const uint64_t mark = (stage << kRingShift | static_cast<uint64_t>(ring))
                                  << kRoundShift;
            Send(from, to, bytes, mark | static_cast<uint64_t>(round), sink, more);
        };
    }

  public:
    Hierarchical(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_plan(spec),
          m_pending(m_workers, 0)
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const uint64_t mark = MarkOf(flow);
        const int round = static_cast<int>(mark & ((1 << kRoundShift) - 1));
        const int ring = static_cast<int>(mark >> kRoundShift & ((1 << kRingShift) - 1));
        const int worker = flow.destination;
        const int member = m_plan.MemberOf(worker);
        switch (mark >> (kRoundShift + kRingShift))
        {
        case kFirst:
            if (m_plan.first[ring].Arrived(member, round, Sender(kFirst, ring, sink)))
            {
                GoAcross(worker, sink);
            }
            break;
        case kAcross:
            if (m_plan.across[ring].Arrived(
                    m_plan.GroupOf(worker), round, Sender(kAcross, ring, sink)))
            {
                CrossedOne(worker, sink);
            }
            break;
        default:
            if (m_plan.last[ring].Arrived(member, round, Sender(kLast, ring, sink)))
            {
                Finish(worker, sink);
            }
        }
    }

  private:
    void OnStarted(int worker, FlowSink& sink) override
    {
        const int group = m_plan.GroupOf(worker);
        if (m_plan.first[group].Start(m_plan.MemberOf(worker), Sender(kFirst, group, sink)))
        {
            GoAcross(worker, sink);
        }
    }

    void GoAcross(int worker, FlowSink& sink)
    {
        const int group = m_plan.GroupOf(worker);
        const int size = m_plan.GroupSize(group);
        const int member = m_plan.MemberOf(worker);
        m_pending[worker] = (m_plan.Parts() - member + size - 1) / size;
        for (int part = member; part < m_plan.Parts(); part += size)
        {
            if (m_plan.across[part].Start(group, Sender(kAcross, part, sink)))
            {
                CrossedOne(worker, sink);
            }
        }
    }

    void CrossedOne(int worker, FlowSink& sink)
    {
        if (--m_pending[worker] > 0)
        {
            return;
        }
        const int group = m_plan.GroupOf(worker);
        if (m_plan.last[group].Start(m_plan.MemberOf(worker), Sender(kLast, group, sink)))
        {
            Finish(worker, sink);
        }
    }

    HierarchicalPlan m_plan;
    std::vector<int> m_pending; ///< number of rings across groups that each worker has not ended
};

} // namespace

std::unique_ptr<Collective>
MakeHierarchical(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<Hierarchical>(spec, tagBase, std::move(done));
}

void MeterHierarchical(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const HierarchicalPlan plan(spec);
    const auto add = [&](int from, int to, int64_t bytes)
    {
        traffic.sent[from] += bytes;
        traffic.received[to] += bytes;
    };
    for (int group = 0; group < plan.Groups(); ++group)
    {
        const int size = plan.GroupSize(group);
        for (int member = 0; member < size; ++member)
        {
            add(plan.Worker(group, member),
                plan.Worker(group, (member + 1) % size),
                plan.first[group].Sent(member) + plan.last[group].Sent(member));
        }
        for (int part = 0; part < plan.Parts(); ++part)
        {
            add(plan.Keeper(group, part),
                plan.Keeper((group + 1) % plan.Groups(), part),
                plan.across[part].Sent(group));
        }
    }
}

} // namespace legacy::fabric
