// What NCCL's model knows of GPUs: the bandwidths that a channel of a protocol reaches at most, and
// the costs of their hosts, by the tables of its src/graph/tuning.cc (2.30). A channel is one of
// those that NCCL's search finds, which it runs twice. Rates are in GB/s (10^9 bytes a second) of
// the message, without flags.
#pragma once

#include "base/units.h"
#include "protocol.h"

#include <array>

namespace legacy::fabric
{

/// A ByNodes has a value for 1 node, 2 nodes, and more.
using ByNodes = std::array<double, 3>;

/// GpuLimits has the limits of a generation of GPUs.
struct GpuLimits
{
    ByNodes llMost;           ///< LL, all channels together; several nodes: by their hosts
    ByNodes ringLl128Channel; ///< rings by LL128
    ByNodes treeLl128Channel; ///< double trees by LL128
    ByNodes treeChannel;      ///< double trees
    ByNodes nvlsTreeChannel;  ///< NVLS over several nodes, a channel for each head; 0: none
    TimeNs networkOverhead;   ///< least time of a hop of a ring over nodes, thrice that by Simple
    double plateau;           ///< factor on the latency of rings over nodes by Simple
};

/// The hosts are those of NVIDIA's own machines: AMD's for Ampere, Intel's for the others.
const GpuLimits& LimitsOf(GpuGeneration gpus);

/// Returns the generation whose NVLink is nearest to `inside`, the rate in GB/s at which a GPU
/// sends to others of its node: 6 links of 20 GB/s (Volta), 12 of them (Ampere), 18 of 20.6
/// (Hopper). Hopper for 0, where a node is one GPU.
GpuGeneration GenerationOf(double inside);

/// True for generations whose switches sum.
bool HasNvls(GpuGeneration gpus);

} // namespace legacy::fabric
