/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "animation.h"

#ifdef LEGACY_NETANIM
#include "model/packet-network.h"

#include "ns3/animation-interface.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

/// Returns the number of hops from each node to the nearest host.
std::vector<int> Levels(const fabric::Topology& topology)
{
    std::vector<int> levels(topology.NodeCount(), -1);
    std::deque<int> queue;
    for (int host : topology.Hosts())
    {
        levels[host] = 0;
        queue.push_back(host);
    }
    while (!queue.empty())
    {
        const int node = queue.front();
        queue.pop_front();
        for (fabric::DirectedLink link : topology.Out(node))
        {
            int& level = levels[topology.To(link)];
            if (level < 0)
            {
                level = levels[node] + 1;
                queue.push_back(topology.To(link));
            }
        }
    }
    return levels;
}

} // namespace

std::shared_ptr<void>
Animate(Ptr<PacketNetwork> network, const fabric::Topology& topology, const std::string& path)
{
    constexpr double kWidth = 100;
    constexpr double kHeight = 60;
    const std::vector<int> levels = Levels(topology);
    const int top = *std::max_element(levels.begin(), levels.end());
    std::vector<int> placed(top + 1);
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        // A switch without links is drawn among the hosts.
        const int level = std::max(levels[node], 0);
        const auto row = std::count(levels.begin(), levels.end(), level);
        const double x = kWidth * (placed[level]++ + 0.5) / static_cast<double>(row);
        const double y = top > 0 ? kHeight * (top - level) / top : 0;
        AnimationInterface::SetConstantPosition(network->GetNode(node), x, y);
    }
    const auto animation = std::make_shared<AnimationInterface>(path);
    // Without this limit ns-3 would end a long animation in the middle, and print a line on the
    // terminal.
    animation->SetMaxPktsPerTraceFile(UINT64_MAX);
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        animation->UpdateNodeDescription(network->GetNode(node), topology.NodeName(node));
    }
    return animation;
}

} // namespace packet
} // namespace legacy

#ifdef LEGACY_NETANIM_MODULE
/// FindAnimator looks this up by its name in the module.
extern "C" const legacy::packet::Animator legacy_animator = &legacy::packet::Animate;
#endif
#endif
