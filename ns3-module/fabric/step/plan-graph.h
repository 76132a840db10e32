// A PlanGraph runs a step plan on any engine, and says when each operation began and ended.
#pragma once

#include "fabric/engine/flow-graph.h"
#include "step-plan.h"

#include <functional>
#include <memory>
#include <vector>

namespace legacy::fabric
{

/// OperationTiming says when an operation began and ended, by rank of its role, in nanoseconds from
/// the step's start.
struct OperationTiming
{
    std::vector<TimeNs> begin;
    std::vector<TimeNs> end;
};

/// PlanTiming has the times of a plan.
struct PlanTiming
{
    std::vector<std::vector<OperationTiming>> roles; ///< [role][operation]
    std::vector<TimeNs> finish;                      ///< end of each rank
    TimeNs total = 0;                                ///< end of the step
};

/// A PlanWatch is called with a plan that has run, and its times.
using PlanWatch = std::function<void(const StepPlan& plan, const PlanTiming& times)>;

/// A PlanGraph is a step plan as a flow graph. Throws Error as CheckPlan does.
class PlanGraph : public FlowGraph
{
  public:
    explicit PlanGraph(StepPlan plan);
    ~PlanGraph() override;
    void OnStart(FlowSink& sink) override;
    void OnDelivered(const Flow& flow, FlowSink& sink) override;
    void OnWake(uint64_t token, FlowSink& sink) override;
    bool Done() const override;
    /// Returns the timing when the graph is done.
    const PlanTiming& Times() const;
    const StepPlan& Plan() const;

  protected:
    /// A Trust says whether a plan is checked: one that a builder made of a checked value is not.
    enum class Trust : uint8_t
    {
        Check,
        AsBuilt,
    };

    PlanGraph(StepPlan plan, Trust trust);

  private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace legacy::fabric
