/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "carriers.h"

#include "base/error.h"
#include "model/roce/roce-carrier.h"
#include "model/steady-carrier.h"
#include "model/tcp-carrier.h"
#include "model/tcp/segment-carrier.h"

#include <set>

namespace legacy
{
namespace packet
{

namespace
{

/// Returns the function that makes the carrier that simulates all packets.
PacketEngine::CarrierFactory PacketsFor(const fabric::Topology* topology,
                                        const fabric::Placement* placement,
                                        const fabric::Transport& transport,
                                        uint64_t seed,
                                        uint64_t run)
{
    return [=](CarrierListener* listener) -> std::unique_ptr<Carrier>
    {
        if (transport.roce)
        {
            return std::make_unique<RoceCarrier>(topology, *transport.roce, seed, run, listener);
        }
        std::set<int> nodes;
        for (int endpoint = 0; endpoint < placement->Endpoints(); ++endpoint)
        {
            nodes.insert(placement->NodeOf(endpoint));
        }
        const std::vector<int> ends(nodes.begin(), nodes.end());
        if (transport.HasFrames())
        {
            return std::make_unique<SegmentCarrier>(topology, ends, transport, seed, run, listener);
        }
        return std::make_unique<TcpCarrier>(topology, ends, transport, listener);
    };
}

} // namespace

PacketEngine::CarrierFactory CarrierFor(const fabric::Topology* topology,
                                        const fabric::Placement* placement,
                                        const fabric::Transport& transport,
                                        uint64_t seed,
                                        uint64_t run)
{
    PacketEngine::CarrierFactory packets = PacketsFor(topology, placement, transport, seed, run);
    if (transport.skip == fabric::Skip::None)
    {
        return packets;
    }
    if (transport.sockets)
    {
        throw Error("skip", "steady", "none with packets of ns-3's sockets");
    }
    return [=](CarrierListener* listener)
    { return std::make_unique<SteadyCarrier>(topology, transport, listener, packets); };
}

} // namespace packet
} // namespace legacy
