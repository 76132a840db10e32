#include "protocol.h"

#include "base/error.h"

#include <array>

namespace legacy::fabric
{

namespace
{

constexpr std::array<const char*, 4> kProtocolNames = {"none", "ll", "ll128", "simple"};

using ProtocolRow = std::array<ProtocolCosts, 4>;

constexpr ProtocolCosts kNoCosts = {1, 1, 0, 0, 0, 0};

constexpr int64_t kLlChunk = 512 * 8 * 8;                    ///< 8 lines for each thread
constexpr int64_t kLl128Chunk = 640LL * 120 * 8 / 128 * 120; ///< 120 words with their flags
constexpr int64_t kSimpleStep = (4 << 20) / 8;               ///< a step of a buffer of 4 MiB
constexpr int64_t kNvlsChunk = int64_t{16} * (128 << 10);    ///< chunks of 16 channels in parallel

/// The rows are in the order of ProtocolFamily, and their entries in that of Protocol.
///
/// A ring's Simple chunk is 4 steps, and a tree's is one. In rings over several nodes, a hop inside
/// a node takes at least 1 us, the overhead of a network send on Intel's hosts. With NVLS a GPU's
/// links reach 85 % of their rate on Hopper (nvlsEfficiency), which is charged as 20 bytes for 17;
/// its 25 us inside the node are the time before a worker takes part.
constexpr std::array<ProtocolRow, 4> kProtocolRows = {{
    {{kNoCosts,
      {8, 4, kLlChunk, 6'600, 600, 2'700},
      {128, 120, kLl128Chunk, 14'000, 1'900, 4'000},
      {1, 1, 4 * kSimpleStep, 8'400, 3'400, 14'000}}},
    {{kNoCosts,
      {8, 4, kLlChunk, 6'600, 1'000, 2'700},
      {128, 120, kLl128Chunk, 14'000, 1'900, 4'000},
      {1, 1, 4 * kSimpleStep, 8'400, 3'400, 14'000}}},
    {{kNoCosts,
      {8, 4, kLlChunk, 6'800, 600, 5'000},
      {128, 120, kLl128Chunk, 14'000, 1'250, 8'500},
      {1, 1, kSimpleStep, 8'400, 4'000, 14'000}}},
    {{kNoCosts, kNoCosts, kNoCosts, {20, 17, kNvlsChunk, 25'000, 0, 20'900}}},
}};

} // namespace

const ProtocolCosts& CostsOf(ProtocolFamily family, Protocol protocol)
{
    return kProtocolRows[static_cast<size_t>(family)][static_cast<size_t>(protocol)];
}

bool HasProtocol(ProtocolFamily family, Protocol protocol)
{
    return family != ProtocolFamily::Nvls || protocol == Protocol::None ||
           protocol == Protocol::Simple;
}

const char* ToString(Protocol protocol)
{
    return kProtocolNames[static_cast<size_t>(protocol)];
}

std::optional<Protocol> ParseProtocol(const std::string& text, const std::string& option)
{
    if (text == "auto")
    {
        return std::nullopt;
    }
    std::string names = "auto";
    for (size_t i = 0; i < kProtocolNames.size(); ++i)
    {
        if (text == kProtocolNames[i])
        {
            return static_cast<Protocol>(i);
        }
        names += std::string(", ") + kProtocolNames[i];
    }
    throw Error(option, text, names);
}

} // namespace legacy::fabric
