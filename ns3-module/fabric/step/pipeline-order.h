// The order in which a stage of a pipeline computes the passes of its microbatches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A PipelineSchedule says in what order stages compute.
enum class PipelineSchedule : uint8_t
{
    /// One forward, one backward pass in turn once the pipeline is full (PipeDream-Flush,
    /// Narayanan et al. 2021). With several chunks it is interleaved: stages take microbatches in
    /// groups of as many as there are stages, chunk by chunk (Narayanan et al., SC'21, 2.2).
    OneForwardOneBackward,
    GPipe, ///< all forward passes, then all backward passes (Huang et al. 2019)
           /// Stages take one forward, one backward pass in turn, and compute gradients of weights
           /// later, where they would wait (zero bubble, ZB-H1, Qi et al. 2023): stage s is s
           /// microbatches late.
    ZeroBubbleH1,
};

/// A PipelineStep is what a stage does with one microbatch in one of its chunks.
struct PipelineStep
{
    enum class Kind : uint8_t
    {
        Forward,
        Backward, ///< gradients of inputs, and those of weights where these do not come later
        Weights,  ///< gradients of weights
    };

    Kind kind = Kind::Forward;
    int pass = 0; ///< number of the microbatch
    int chunk = 0;

    bool operator==(const PipelineStep& other) const
    {
        return kind == other.kind && pass == other.pass && chunk == other.chunk;
    }
};

/// Returns the steps of stage `stage` of `stages`, each of which has `chunks` chunks, for `passes`
/// microbatches. Throws Error where several chunks have another schedule than one forward, one
/// backward, and where their last group of microbatches has fewer than there are stages.
std::vector<PipelineStep>
PipelineOrder(PipelineSchedule schedule, int stages, int chunks, int passes, int stage);

} // namespace legacy::fabric
