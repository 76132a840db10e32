// The operations of one stage of a divided model, as its host issues them. Internal to fabric/.
#pragma once

#include "build-sharded.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace legacy::fabric
{

inline constexpr int kNoOperation = -1;

/// A MessageDirection says to which stage a message goes; indices of AloneTimes::messages.
enum MessageDirection : int
{
    kToNext = 0,
    kToPrevious = 1,
};

/// An OperationName is "AG(7)", or "update" without a unit. Its text is made for operations that
/// are not only counted.
struct OperationName
{
    OperationName(const char* itsWhat, int itsUnit = kNoUnit) : what(itsWhat), unit(itsUnit)
    {
    }

    std::string Text() const
    {
        return unit == kNoUnit ? what : std::string(what) + "(" + std::to_string(unit) + ")";
    }

    static constexpr int kNoUnit = -1;
    const char* what;
    int unit;
};

/// Returns the operations that are any.
std::vector<int> After(std::initializer_list<int> operations);

/// StageOperations append to the role of a stage. Segments wait for what the device awaits.
class StageOperations
{
  public:
    /// `first` has the lists of collectives that are in the plan once for all stages.
    StageOperations(const StepTraffic& traffic,
                    int stage,
                    const AloneTimes* alone,
                    ShardedPlan& result,
                    std::map<const CollectiveGroups*, int>& first);

    /// Adds a segment after others, and returns its number.
    int AddSegment(const OperationName& name,
                   SegmentLabel label,
                   const std::vector<TimeNs>& duration,
                   std::vector<int> after = {});

    /// Adds collectives, one of which each worker of the stage takes part in. `times` of them run
    /// one after the other in a folded plan.
    int AddCollective(ShardedStream stream,
                      const OperationName& name,
                      const CollectiveGroups& groups,
                      std::vector<int> after,
                      int times = 1);

    /// Adds collectives that the update waits for, if workers of the stage take part; else it
    /// returns `after`.
    int AddLast(const char* what, const CollectiveGroups& groups, int after);

    /// Lets the next segment wait for an operation.
    void Await(int operation);
    /// Lets the next segment wait for the message that a step of the pipeline needs, if any.
    void Receive(const PipelineStep& step, MessageDirection direction);
    /// Sends the message of a step of the pipeline, if any, when it has been computed.
    void Send(const PipelineStep& step, MessageDirection direction);

    /// Returns the last segment; kNoOperation where there is none.
    int Computed() const
    {
        return m_computed;
    }

    /// Returns the times of those ranks that the plan has: in a folded one, of one for all.
    std::vector<TimeNs> OfRanks(const std::vector<TimeNs>& times) const
    {
        const size_t ranks = m_folded ? std::min<size_t>(1, times.size()) : times.size();
        return {times.begin(), times.begin() + static_cast<std::ptrdiff_t>(ranks)};
    }

    bool Folded() const
    {
        return m_folded;
    }

  private:
    int Add(StepOperation operation);
    /// Returns the number of the next operation, which is only counted.
    int Count()
    {
        return m_counted++;
    }

    StepOperation Carried(ShardedStream stream, const OperationName& name, std::vector<int> after);
    std::vector<int>
    InGroups(const CollectiveGroups& groups, int first, const std::string& name) const;
    bool TakesPart(int stage, const CollectiveGroups& groups) const;
    const std::vector<TimeNs>& TimesOf(const CollectiveGroups& groups) const;
    TimeNs LongestOf(const CollectiveGroups& groups, const std::vector<int>& workers) const;
    TimeNs LongestHere(const CollectiveGroups& groups);
    int AppendToPlan(const CollectiveGroups& groups);
    int AppendAmongStages(const CollectiveGroups& groups);
    int PartOf(const PipelineStep& step) const;
    bool IsPart(int part) const;
    StepOperation Message(OperationKind kind, int other, int sender, int direction) const;

    const StepTraffic& m_traffic;
    const int m_stage;
    const AloneTimes* m_alone;
    const bool m_counts; ///< operations are counted, and not made
    const bool m_folded;
    const std::vector<int> m_workers;
    ShardedPlan& m_result;
    std::map<const CollectiveGroups*, int>& m_first;
    std::map<const CollectiveGroups*, TimeNs> m_longest; ///< LongestOf the stage's workers
    int m_counted = 0;
    int m_computed = kNoOperation;
    std::vector<int> m_awaited;  ///< what the next segment waits for
    std::map<int, int> m_issued; ///< by communicator
};

} // namespace legacy::fabric
