#include "gpus.h"

namespace legacy::fabric
{

namespace
{

/// The rows are in the order of GpuGeneration.
constexpr std::array<GpuLimits, 3> kLimits = {{
    {{39.0, 39.0, 20.4}, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10}, {0, 0, 0}, 1'000, 1.9},
    {{87.7, 22.5, 19.0}, {20, 20, 20}, {20, 20, 20}, {24, 23.6, 17.8}, {0, 0, 0}, 2'000, 1.4},
    {{141.0, 39.0, 20.4},
     {36.7, 36.7, 36.7},
     {36.7, 36.7, 29.0},
     {38.7, 41.4, 36.0},
     {0, 57.7, 45.5},
     1'000,
     1.4},
}};

constexpr double kVoltaNvLink = 6 * 20;
constexpr double kAmpereNvLink = 12 * 20;
constexpr double kHopperNvLink = 18 * 20.6;

} // namespace

const GpuLimits& LimitsOf(GpuGeneration gpus)
{
    return kLimits[static_cast<size_t>(gpus)];
}

GpuGeneration GenerationOf(double inside)
{
    if (inside <= 0 || inside > (kAmpereNvLink + kHopperNvLink) / 2)
    {
        return GpuGeneration::Hopper;
    }
    return inside > (kVoltaNvLink + kAmpereNvLink) / 2 ? GpuGeneration::Ampere
                                                       : GpuGeneration::Volta;
}

bool HasNvls(GpuGeneration gpus)
{
    return gpus == GpuGeneration::Hopper;
}

} // namespace legacy::fabric
