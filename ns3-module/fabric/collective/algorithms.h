// The families of collectives that MakeCollective and BytesSent choose from; all take a spec that
// was checked. Internal to fabric/.
#pragma once

#include "collective.h"

namespace legacy::fabric
{

/// Payload of each worker's NIC over the whole collective.
struct CollectiveTraffic
{
    std::vector<int64_t> sent;
    std::vector<int64_t> received;
};

using CollectiveMaker = std::unique_ptr<Collective>(const CollectiveSpec& spec,
                                                    uint16_t tagBase,
                                                    Collective::DoneCallback done);
/// Adds to what is there; of two workers or more.
using CollectiveMeter = void(const CollectiveSpec& spec, CollectiveTraffic& traffic);

CollectiveMaker MakeRing; ///< collective-ring.cc
CollectiveMeter MeterRing;
CollectiveMaker MakeHalvingDoubling; ///< collective-halving.cc
CollectiveMeter MeterHalvingDoubling;
CollectiveMaker MakeDoubleTree; ///< collective-double-tree.cc
CollectiveMeter MeterDoubleTree;
CollectiveMaker MakeDirect; ///< collective-direct.cc: also all-to-all, scatter-reduce all-gather
CollectiveMeter MeterDirect;
CollectiveMaker MakeHierarchical; ///< collective-hierarchical.cc
CollectiveMeter MeterHierarchical;
CollectiveMaker MakeInNetwork; ///< collective-in-network.cc
CollectiveMeter MeterInNetwork;
CollectiveMaker MakeBroadcast; ///< collective-tree.cc
CollectiveMeter MeterBroadcast;
CollectiveMaker MakeSparseTree;
CollectiveMeter MeterSparseTree;
CollectiveMaker MakeServer; ///< collective-server.cc: one server or shards
CollectiveMeter MeterServer;

} // namespace legacy::fabric
