#include "chunks.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

constexpr int64_t kKiB = 1024;

int FloorLog2(int value)
{
    int log = 0;
    for (; value > 1; value /= 2)
    {
        ++log;
    }
    return log;
}

} // namespace

int64_t TreeChunk(const CollectiveSpec& spec)
{
    int64_t chunk = CostsOf(ProtocolFamily::Tree, spec.protocol).chunkBytes;
    if (spec.protocol != Protocol::LL128)
    {
        return chunk;
    }
    // A chunk is halved until there are enough of them for the levels that they pass.
    const auto workers = static_cast<int>(spec.bytes.size());
    const int group = std::clamp(spec.group, 1, workers);
    const int nodes = (workers + group - 1) / group;
    const double inNode = static_cast<double>(workers) / nodes;
    const double levels = 1 + FloorLog2(nodes) + 0.1 * inNode;
    const int64_t part = spec.bytes[0] / (int64_t{kBlocksOfChannel} * spec.channels);
    const auto few = [&](double wanted)
    { return static_cast<double>(part / chunk) < levels * wanted / inNode; };
    while (few(64) && chunk > 128 * kKiB)
    {
        chunk /= 2;
    }
    while (few(16) && chunk > 32 * kKiB)
    {
        chunk /= 2;
    }
    return chunk;
}

int64_t NvlsChunk(const CollectiveSpec& spec, int nodes, int heads)
{
    if (spec.protocol == Protocol::None)
    {
        return 0;
    }
    const int64_t parts = int64_t{kBlocksOfNvls} * heads;
    int64_t chunk = (nodes >= 4 ? 64 : 128) * kKiB;
    // Messages of less than `rounds` rounds of chunks have chunks of `most`.
    const auto limit = [&](int64_t rounds, int64_t most)
    {
        if (spec.bytes[0] < rounds * parts * chunk)
        {
            chunk = std::min(chunk, most);
        }
    };
    if (nodes == 1)
    {
        limit(64, 64 * kKiB);
        limit(8, 32 * kKiB);
        limit(2, 16 * kKiB);
    }
    else
    {
        limit(4, 64 * kKiB);
        limit(1, 32 * kKiB);
    }
    return kBlocksOfNvls * chunk;
}

} // namespace legacy::fabric
