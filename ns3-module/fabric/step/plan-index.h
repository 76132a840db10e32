// A plan index knows which operations of a step plan follow which. Internal to fabric/.
#pragma once

#include "step-plan.h"

#include <tuple>
#include <utility>

namespace legacy::fabric
{

/// An Instance is an operation at one rank, by number: those of a role are consecutive, and those
/// of one of its operations are in the order of the role's ranks.
using Instance = int64_t;
inline constexpr Instance kNoInstance = -1;

/// A PlanPlace is an instance in the plan's words.
struct PlanPlace
{
    int role = 0;
    int operation = 0;
    int position = 0; ///< of the rank in the role
};

/// PlanNumbers are numbers in ascending order, which a PlanIndex keeps.
class PlanNumbers
{
  public:
    PlanNumbers(const int* first, const int* last) : m_first(first), m_last(last)
    {
    }

    const int* begin() const
    {
        return m_first;
    }

    const int* end() const
    {
        return m_last;
    }

    bool empty() const
    {
        return m_first == m_last;
    }

    int size() const
    {
        return static_cast<int>(m_last - m_first);
    }

  private:
    const int* m_first;
    const int* m_last;
};

/// A PlanIndex answers questions about a plan whose values were checked, which outlives it.
class PlanIndex
{
  public:
    explicit PlanIndex(const StepPlan& plan);

    const StepPlan& Plan() const
    {
        return m_plan;
    }

    Instance Count() const
    {
        return m_first.back();
    }

    Instance Number(const PlanPlace& place) const
    {
        const auto ranks = static_cast<Instance>(m_plan.roles[place.role].ranks.size());
        return m_first[place.role] + place.operation * ranks + place.position;
    }

    PlanPlace PlaceOf(Instance instance) const;

    /// Calls `call(place, ranks)` with the first place of each operation, and the number of its
    /// ranks, in the order of roles and operations.
    template <typename Call>
    void ForEachOperation(const Call& call) const
    {
        for (size_t r = 0; r < m_plan.roles.size(); ++r)
        {
            for (size_t number = 0; number < m_plan.roles[r].operations.size(); ++number)
            {
                call(PlanPlace{static_cast<int>(r), static_cast<int>(number), 0},
                     static_cast<int>(m_plan.roles[r].ranks.size()));
            }
        }
    }

    const StepOperation& OperationAt(const PlanPlace& place) const
    {
        return m_plan.roles[place.role].operations[place.operation];
    }

    int RankAt(const PlanPlace& place) const
    {
        return m_plan.roles[place.role].ranks[place.position];
    }

    /// Returns the place of a rank's operation.
    PlanPlace At(int rank, int operation) const
    {
        return {m_ranks[rank].role, operation, m_ranks[rank].position};
    }

    int RoleOf(int rank) const
    {
        return m_ranks[rank].role;
    }

    /// Returns the operations of its role that an operation waits for by rule 1: `after`, and the
    /// last ones before it in its stream and communicator. Ascending, each once.
    PlanNumbers Before(const PlanPlace& place) const
    {
        return m_roles[place.role].before.At(place.operation);
    }

    /// Returns the operations of its role that wait for an operation. Ascending.
    PlanNumbers Following(const PlanPlace& place) const
    {
        return m_roles[place.role].following.At(place.operation);
    }

    /// Returns how many things an instance waits for before it starts: operations, its earliest
    /// time, and being issued where there is a host limit.
    int Needs(const PlanPlace& place) const
    {
        return Before(place).size() + (OperationAt(place).earliest.empty() ? 0 : 1) +
               (m_plan.hostLimit > 0 ? 1 : 0);
    }

    /// Returns the operation by which the ranks of a role take part in a collective; -1: none does.
    int OperationIn(int collective, int role) const;

    /// Returns the members of a collective.
    const std::vector<int>& MembersOf(int collective) const
    {
        const std::vector<int>& members = m_plan.collectives[collective].members;
        return members.empty() ? m_all : members;
    }

    /// Return the receive of a send, and the send of a receive; kNoInstance: there is none.
    Instance ReceiveOf(Instance send) const
    {
        return OtherEnd(m_bySend, send);
    }

    Instance SendOf(Instance receive) const
    {
        return OtherEnd(m_byReceive, receive);
    }

    /// Returns the sends without a receive and the receives without a send.
    std::vector<Instance> LoneEnds() const;

  private:
    struct RankPlace
    {
        int role = 0;
        int position = 0;
    };

    /// Lists of numbers, one after the other.
    struct Lists
    {
        PlanNumbers At(int list) const
        {
            return {all.data() + first[list], all.data() + first[list + 1]};
        }

        std::vector<size_t> first; ///< place of each list in `all`, and the end of the last
        std::vector<int> all;
    };

    /// RoleLinks have the operations before and after each operation of a role.
    struct RoleLinks
    {
        Lists before;
        Lists following;
    };

    /// A Part says by which operation the ranks of a role take part in a collective.
    struct Part
    {
        int collective = 0;
        int role = 0;
        int operation = 0;

        bool operator<(const Part& other) const
        {
            return std::tie(collective, role, operation) <
                   std::tie(other.collective, other.role, other.operation);
        }
    };

    using Ends = std::vector<std::pair<Instance, Instance>>;

    void Link(const StepRole& role, RoleLinks& links) const;
    std::vector<int> IssuedBefore(const StepRole& role) const;
    void IndexCollectives();
    void MatchMessages();
    static Instance OtherEnd(const Ends& ends, Instance end);

    const StepPlan& m_plan;
    std::vector<int> m_all; ///< all ranks
    std::vector<RankPlace> m_ranks;
    std::vector<Instance> m_first; ///< first instance of each role, and the number of all
    std::vector<RoleLinks> m_roles;
    std::vector<Part> m_parts;       ///< ascending, each once
    std::vector<size_t> m_firstPart; ///< first of each collective, and the number of all
    Ends m_bySend;                   ///< sends and their receives, ascending
    Ends m_byReceive;                ///< receives and their sends, ascending
};

/// Together these are CheckPlan: CheckValues without an index, and CheckLinks with that of a plan
/// whose values were checked. CheckEnds is the part of CheckLinks that finds deadlocks, and takes
/// collectives and messages that have all their ends.
void CheckValues(const StepPlan& plan);
void CheckLinks(const PlanIndex& index);
void CheckEnds(const PlanIndex& index);

/// Returns "AG(7)", or "operation 7" where it has no name.
std::string NameOf(const StepRole& role, int operation);

} // namespace legacy::fabric
