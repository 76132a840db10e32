// These are the families of collectives that MakeCollective and BytesSent choose from. All take a
// spec that was checked. Internal to fabric/.
#pragma once

#include "collective.h"

namespace legacy::fabric
{

/// CollectiveTraffic is the payload of each worker's NIC over the whole collective.
struct CollectiveTraffic
{
    std::vector<int64_t> sent;
    std::vector<int64_t> received;
};

/// A CollectiveMaker makes the flow graph of one algorithm.
using CollectiveMaker = std::unique_ptr<Collective>(const CollectiveSpec& spec,
                                                    uint32_t tagBase,
                                                    Collective::DoneCallback done);
/// A CollectiveMeter adds an algorithm's bytes to `traffic`; there are two workers or more.
using CollectiveMeter = void(const CollectiveSpec& spec, CollectiveTraffic& traffic);

CollectiveMaker MakeRing; ///< ring.cc: also reduce-scatter
CollectiveMeter MeterRing;
CollectiveMaker MakeHalvingDoubling; ///< halving.cc: also reduce-scatter
CollectiveMeter MeterHalvingDoubling;
CollectiveMaker MakeDoublingAllGather; ///< doubling.cc: recursive doubling, Bruck
CollectiveMeter MeterDoublingAllGather;
CollectiveMaker MakeDoubleTree; ///< double-tree.cc
CollectiveMeter MeterDoubleTree;
CollectiveMaker MakeDirect; ///< direct.cc: also all-to-all(v), scatter-reduce all-gather
CollectiveMeter MeterDirect;
CollectiveMaker MakeHierarchical; ///< hierarchical.cc
CollectiveMeter MeterHierarchical;
CollectiveMaker MakeInNetwork; ///< in-network.cc
CollectiveMeter MeterInNetwork;
CollectiveMaker MakeNvls; ///< nvls.cc
CollectiveMeter MeterNvls;
CollectiveMaker MakeBroadcast; ///< tree.cc
CollectiveMeter MeterBroadcast;
CollectiveMaker MakeSparseTree;
CollectiveMeter MeterSparseTree;
CollectiveMaker MakeHops; ///< hops.cc: ring and butterfly, also reduce-scatter
CollectiveMeter MeterHops;
CollectiveMaker MakeServer; ///< server.cc: one server or shards
CollectiveMeter MeterServer;
CollectiveMaker MakeBlockSparse; ///< block-sparse.cc
CollectiveMeter MeterBlockSparse;

} // namespace legacy::fabric
