// The gathers of weights of one stage of a divided model. Internal to fabric/.
#pragma once

#include "stage-operations.h"

#include <vector>

namespace legacy::fabric
{

/// A Visit is a run of segments of one unit.
struct Visit
{
    int unit;
    int first;
    int last;
};

/// Returns the visits of the forward pass of each chunk.
std::vector<std::vector<Visit>> VisitsOf(const ShardedStage& stage);

/// StageGathers issue the gathers of a stage, so that its weights are there when they are used.
class StageGathers
{
  public:
    /// Lists what the visits of all steps need, in the order of use. What a pass does not keep is
    /// gathered for each of its visits, and the last unit of the forward pass for the backward
    /// pass. With several stages, several passes are on their way at once, and what is kept stays
    /// until the step ends.
    StageGathers(const ShardedTraffic& step,
                 int stage,
                 const std::vector<PipelineStep>& order,
                 StageOperations& operations);

    /// Makes the weights of the next visit be there.
    void Enter(const Visit& visit);
    /// Says that the visit that was entered last has been computed.
    void Leave();
    /// Gathers the weights of all units after the update.
    void GatherAll();

  private:
    /// A Gather is one that a visit needs, and what is known of it once it was issued.
    struct Gather
    {
        int unit;
        bool again; ///< for the backward pass
        int operation = kNoOperation;
        int unpacked = kNoOperation;
        int used = kNoOperation; ///< the last segment of its visit
    };

    void Need(const Visit& visit, bool again, std::vector<bool>& there);
    void Issue(size_t number);
    void Unpack(int unit, int gathered);

    const ShardedTraffic& m_step;
    const std::vector<ShardedUnit>& m_units;
    StageOperations& m_operations;
    std::vector<bool> m_needs; ///< of all visits of the step, whether a gather goes before it
    size_t m_visit = 0;        ///< number of the next visit
    std::vector<Gather> m_gathers;
    size_t m_next = 0;            ///< the gather that is issued next
    size_t m_entered = 0;         ///< the gather that is used next
    int m_current = kNoOperation; ///< the gather of the present visit
};

} // namespace legacy::fabric
