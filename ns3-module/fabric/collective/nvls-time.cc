#include "closed-form-parts.h"

#include "base.h"
#include "double-tree.h"
#include "nvls-plan.h"
#include "pieces.h"

#include <algorithm>

namespace legacy::fabric
{

WideTime WireTimeOfSwitch(const UniformPath& path, int64_t payload, const Transport& transport)
{
    const int64_t wire = transport.WireBytes(payload, path.hops - 1);
    const int64_t first = std::min(wire, transport.FirstFrameBytes(path.hops - 1));
    return SerialisationTime(first + transport.StreamedBytes(wire - first), path.rateBps);
}

NvlsShape::NvlsShape(const CollectiveSpec& spec, const NodePaths& paths, const Transport& transport)
{
    const NvlsPlan plan(spec);
    const Pieces pieces = plan.PiecesOf(0);
    const auto port = [&](const UniformPath& path, int64_t bytes)
    { return WireTime(path, bytes, transport) + AckTime(path, bytes, transport); };
    const int64_t own = plan.Streams() / plan.Heads() * pieces.count; // pieces of one head
    if (plan.SizeOf(0) > 1)
    {
        UniformPath half = paths.inside;
        half.hops /= 2;
        const WideTime down = WireTimeOfSwitch(half, pieces.Sent(0), transport);
        const WideTime more = down - WireTime(half, pieces.Sent(0), transport);
        // A piece travels from a worker to the switch, from there to a head, and back.
        latency = 4 * WideTime{FlowTime(half, pieces.Sent(0), transport)} + 2 * more;
        // The last pieces of all streams are copied to a worker one after the other.
        inside = CeilDivide((plan.Heads() + 1) * own - 2 + plan.Streams() - 1, plan.Planes()) *
                 (down + AckTime(half, pieces.Sent(0), transport));
    }
    latency += plan.Costs().start;
    if (plan.Nodes() == 1)
    {
        return;
    }
    int depth = 0;
    std::vector<int64_t> neighbours(plan.Nodes(), 0);
    for (int tree : {0, 1})
    {
        for (int node = 0; node < plan.Nodes(); ++node)
        {
            int above = 0;
            for (int at = node; at != BinaryTree::kNone; at = plan.TreeOf(tree).Parent(at))
            {
                ++above;
            }
            depth = std::max(depth, above - 1);
            neighbours[node] += plan.NeighboursOf(tree, node);
        }
    }
    const int64_t piece = pieces.Bytes(0);
    latency += 2 * depth *
               (WideTime{FlowTime(paths.across, piece, transport)} + plan.Costs().across +
                (plan.Nodes() > 2 ? WireTime(paths.across, piece, transport) : WideTime{0}));
    const int64_t busiest = *std::max_element(neighbours.begin(), neighbours.end());
    across = (pieces.count - 1) * std::max(busiest * port(paths.across, piece),
                                           WideTime{PaceTime(spec.pace.across, piece)});
}

} // namespace legacy::fabric
