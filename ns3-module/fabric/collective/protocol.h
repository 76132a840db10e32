// A protocol says how GPUs hand messages on to each other, as NCCL's LL, LL128 and Simple do, and
// what that costs.
//
// All figures are those of NCCL's own public source: bytes of a line and of its data, and of a
// buffer's step, from src/include/device.h and collectives.h; latencies from the defaults of the
// table by which NCCL chooses algorithms (src/graph/tuning.cc, in later versions
// src/tuning/cost_model.cc), in its rows "Ring", "Tree" and "NVLSTree". That table is NVIDIA's fit
// to its own machines with PCI and NVLink; nothing is fitted here.
#pragma once

#include "base/units.h"

#include <cstdint>
#include <optional>
#include <string>

namespace legacy::fabric
{

/// A Protocol is one of NCCL's, or none.
enum class Protocol : uint8_t
{
    None,   ///< messages travel whole, as they are, at no cost
    LL,     ///< lines of 4 bytes and a flag of 4: half of what is sent is data
    LL128,  ///< lines of 128 bytes with a flag of 8
    Simple, ///< data alone, in large chunks, with a signal when a chunk is complete
};

/// A ProtocolFamily is a row of the table of costs.
enum class ProtocolFamily : uint8_t
{
    Ring,      ///< inside one node
    NodesRing, ///< over several nodes
    Tree,
    Nvls, ///< sums in the switch of a node (nvls.cc); NCCL has Simple alone
};

/// A GpuGeneration is one of those for which NCCL has constants of its own.
enum class GpuGeneration : uint8_t
{
    Volta,  ///< V100
    Ampere, ///< A100
    Hopper, ///< H100, H200 and later ones
};

/// A ChannelPace says how slowly the threads of a channel handle messages, in nanoseconds for each
/// byte that is sent, where links are faster than they are.
struct ChannelPace
{
    double inside = 0; ///< of messages to a worker of the same node
    double across = 0; ///< of messages to another node
};

/// ProtocolCosts has what a protocol adds to an algorithm.
struct ProtocolCosts
{
    int64_t lineBytes;  ///< bytes sent for a line
    int64_t dataBytes;  ///< bytes of the message in a line
    int64_t chunkBytes; ///< most data of one message; longer ones are cut. 0: any
    TimeNs start;       ///< time from a worker's start until it takes part
    TimeNs inside;      ///< time until a worker passes a message on to one of its node
    TimeNs across;      ///< time until a worker passes a message on to one of another node

    /// Returns the bytes that are sent for `data` bytes: whole lines.
    int64_t Sent(int64_t data) const
    {
        return (data + dataBytes - 1) / dataBytes * lineBytes;
    }
};

const ProtocolCosts& CostsOf(ProtocolFamily family, Protocol protocol);
/// True where the family has that protocol.
bool HasProtocol(ProtocolFamily family, Protocol protocol);
/// Returns "none", "ll", "ll128" or "simple".
const char* ToString(Protocol protocol);
/// Returns the protocol of that name, or nothing for "auto", which stands for NCCL's own choice
/// (tuning.h). Throws Error naming `option` and the names for any other text.
std::optional<Protocol> ParseProtocol(const std::string& text, const std::string& option);

} // namespace legacy::fabric
