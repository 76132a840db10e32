#include "protocol.h"

#include "fabric/base/error.h"

#include <array>

namespace legacy::fabric
{

namespace
{

struct ProtocolEntry
{
    const char* name;
    ProtocolCosts costs;
};

/// Entries in the order of Protocol. A chunk of LL is 8 lines for each of 512 threads, one of LL128
/// 120 words of 8 bytes, flags included, for each of 640 threads, and one of Simple 4 of the 8
/// steps of a buffer of 4 MiB.
constexpr std::array<ProtocolEntry, 4> kProtocols = {{
    {"none", {1, 1, 0, 0, 0, 0}},
    {"ll", {8, 4, 512 * 8 * 8, 6'600, 600, 2'700}},
    {"ll128", {128, 120, 640 * 120 * 8 / 128 * 120, 14'000, 1'900, 4'000}},
    {"simple", {1, 1, 2 << 20, 8'400, 3'400, 14'000}},
}};

} // namespace

const ProtocolCosts& CostsOf(Protocol protocol)
{
    return kProtocols[static_cast<size_t>(protocol)].costs;
}

const char* ToString(Protocol protocol)
{
    return kProtocols[static_cast<size_t>(protocol)].name;
}

Protocol ParseProtocol(const std::string& text, const std::string& option)
{
    std::string names;
    for (size_t i = 0; i < kProtocols.size(); ++i)
    {
        if (text == kProtocols[i].name)
        {
            return static_cast<Protocol>(i);
        }
        names += std::string(names.empty() ? "" : ", ") + kProtocols[i].name;
    }
    throw Error(option, text, names);
}

} // namespace legacy::fabric
