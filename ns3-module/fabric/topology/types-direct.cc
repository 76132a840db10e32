// Topologies without a tree of switches (torus, ring, dragonfly), and those whose nodes have
// several GPUs.
#include "base/error.h"
#include "types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr int kMaxHosts = TopologyBuild::kMaxHosts;
constexpr int kGpusPerNode = 8;

int PartsOf(int64_t a, int64_t b)
{
    return static_cast<int>(CeilDivide(a, b));
}

std::string AtLeast(const std::string& product, const TopologyBuild& build)
{
    return product + " of at least " + std::to_string(build.hostsNeeded);
}

using Grid = std::array<int, 3>;

int64_t Count(const Grid& grid)
{
    return static_cast<int64_t>(grid[0]) * grid[1] * grid[2];
}

/// True if `a` fits better: it has fewer routers, or else is closer to a cube.
bool Better(const Grid& a, const Grid& b)
{
    const auto rank = [](const Grid& grid)
    { return std::make_pair(Count(grid), grid[0] + grid[1] + grid[2]); };
    return rank(a) < rank(b);
}

/// Returns the grid with the fewest routers for `needed` hosts, with x >= y >= z and x at most
/// twice z. If `z` is above 0, it is fixed, and only x and y are chosen in this way.
Grid NearCube(int needed, int z)
{
    const int most = 2 * static_cast<int>(std::ceil(std::sqrt(needed)));
    Grid best{most, most, z ? z : most};
    for (int x = 1; x <= most; ++x)
    {
        const int least = (x + 1) / 2;
        for (int y = least; y <= x; ++y)
        {
            const int depth = z ? z : std::max(least, PartsOf(needed, static_cast<int64_t>(x) * y));
            const Grid grid{x, y, depth};
            if ((z || depth <= y) && Count(grid) >= needed && Better(grid, best))
            {
                best = grid;
            }
        }
    }
    return best;
}

/// Returns the number of nodes, and the number of GPUs in each.
std::pair<int, int> NodeSizes(TopologyBuild& build)
{
    const int needed = build.Needed();
    const int wished = build.settings.Int("nodes", 0, 1, kMaxHosts);
    // There are at least two nodes with two GPUs each. With fewer there would be no network, or no
    // rails to join.
    const int usual = std::clamp(PartsOf(needed, 2), 2, kGpusPerNode);
    const int gpus =
        build.settings.Int("gpus", wished ? PartsOf(needed, wished) : usual, 1, kMaxHosts);
    const int nodes = wished ? wished : std::max(2, PartsOf(needed, gpus));
    build.CheckHosts(static_cast<int64_t>(nodes) * gpus,
                     build.settings.Has("nodes") ? "nodes" : "gpus",
                     AtLeast("nodes x gpus", build));
    return {nodes, gpus};
}

} // namespace

Topology MakeTorus(TopologyBuild& build)
{
    Settings& settings = build.settings;
    Grid grid{settings.Int("x", 0, 1, kMaxHosts),
              settings.Int("y", 0, 1, kMaxHosts),
              settings.Int("z", 0, 1, kMaxHosts)};
    const int needed = std::clamp(build.Needed(), 2, kMaxHosts + 1);
    if (grid[2] == 0 && (grid[0] != 0 || grid[1] != 0))
    {
        grid[2] = 1; // only two dimensions remain
    }
    const std::string key = grid[0] ? "x" : grid[1] ? "y" : "z";
    if (grid[0] == 0 && grid[1] == 0)
    {
        grid = NearCube(needed, grid[2]);
    }
    else if (grid[0] == 0 || grid[1] == 0)
    {
        int& open = grid[0] ? grid[1] : grid[0];
        open = PartsOf(needed, static_cast<int64_t>(std::max(grid[0], grid[1])) * grid[2]);
    }
    build.CheckHosts(Count(grid), key, AtLeast("x y z", build));
    return BuildTorus(grid[0], grid[1], grid[2], build.TierOf("host"), build.TierOf("router"));
}

Topology MakeRing(TopologyBuild& build)
{
    const int hosts = build.settings.Int("hosts", std::max(2, build.Needed()), 1, kMaxHosts);
    build.CheckHosts(hosts, "hosts", std::to_string(build.hostsNeeded) + " hosts or more");
    return BuildRing(hosts, build.TierOf("host"), build.TierOf("router"));
}

/// Without given sizes it makes the balanced dragonfly of Kim et al.: with p hosts, 2 p routers in
/// a group and p global links at each router there are at most 2 p^2 + 1 groups. The smallest
/// sufficient p is used.
Topology MakeDragonfly(TopologyBuild& build)
{
    Settings& settings = build.settings;
    const int64_t needed = build.Needed();
    int p = 1;
    while (int64_t{2} * p * p * (2 * p * p + 1) < needed)
    {
        ++p;
    }
    DragonflySize size;
    size.hosts = settings.Int("hosts", p, 1, kMaxHosts);
    size.routers = settings.Int("routers", std::min(2 * size.hosts, kMaxHosts), 1, kMaxHosts);
    const int64_t groupHosts = static_cast<int64_t>(size.hosts) * size.routers;
    size.groups = settings.Int("groups", std::max(2, PartsOf(needed, groupHosts)), 1, kMaxHosts);
    const std::string key = settings.Has("groups") ? "groups" : "routers";
    build.CheckHosts(size.groups * groupHosts, key, AtLeast("groups x routers x hosts", build));
    const int64_t ports = groupHosts / std::max(1, size.groups - 1);
    const int fitting = static_cast<int>(std::clamp<int64_t>(ports, 1, size.routers));
    size.global = settings.Int("global", fitting, 1, size.routers);
    const int64_t pairs = static_cast<int64_t>(size.groups) * (size.groups - 1) / 2;
    const int64_t inGroup = static_cast<int64_t>(size.routers) * (size.routers - 1) / 2;
    build.CheckLinks(pairs * size.global + size.groups * (inGroup + groupHosts), key);
    const Tier host = build.TierOf("host");
    const Tier local = build.TierOf("local");
    return BuildDragonfly(size, host, local, build.TierOf("global"));
}

Topology MakeRailOptimised(TopologyBuild& build)
{
    const auto [nodes, gpus] = NodeSizes(build);
    const double ratio = build.settings.Real("oversubscription", 1, 0.01, 1000);
    const int fitting = std::clamp(static_cast<int>(nodes / ratio), 1, std::min(nodes, 1024));
    const int spines = build.settings.Int("spines", fitting, 1, 1024);
    build.CheckLinks(static_cast<int64_t>(gpus) * (2 * int64_t{nodes} + spines), "gpus");
    const Tier node = build.NodeTier();
    const Tier rail = build.TierOf("rail");
    Tier spine = build.TierOf("spine");
    build.Divide("oversubscription", "spine", nodes, rail.rateBps, spines, spine);
    return BuildRailOptimised(nodes, gpus, spines, node, rail, spine);
}

Topology MakeNodes(TopologyBuild& build)
{
    const auto [nodes, gpus] = NodeSizes(build);
    const int leaves = build.settings.Int("leaves", 1, 1, 1024);
    build.CheckLinks(static_cast<int64_t>(nodes) * (gpus + leaves), "leaves");
    return BuildNodes(nodes, gpus, leaves, build.NodeTier(), build.TierOf("network"));
}

} // namespace legacy::fabric
