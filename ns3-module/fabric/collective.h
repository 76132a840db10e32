// Collectives as lazily generated flow graphs. Each worker takes part from its own start, and is
// done at its own time.
#pragma once

#include "flow-graph.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

enum class CollectiveKind : uint8_t
{
    RingAllReduce,   ///< 2 (N-1) rounds of 1/N; all workers send the same number of bytes
    RingAllGather,   ///< N-1 rounds; worker w's block has bytes[w]
    Broadcast,       ///< bytes[root] from root to all, binomial tree
    ParameterServer, ///< push bytes[w] to the server, pull `pullBytes` back when all are in
};

/// "ring-allreduce", "ring-allgather", "broadcast", "parameter-server".
const char* ToString(CollectiveKind kind);
CollectiveKind ParseCollective(const std::string& text);

struct CollectiveSpec
{
    CollectiveKind kind = CollectiveKind::RingAllReduce;
    int root = 0;
    std::vector<int64_t> bytes; ///< of each worker
    int64_t pullBytes = 0;      ///< parameter server: to each worker
};

/// Payload bytes that leave each worker's network card over the whole collective, forwarding
/// included (the traffic ratio).
std::vector<int64_t> BytesSent(const CollectiveSpec& spec);

/// One collective. Its owner (a graph of several, or a test) forwards events: tags of its flows
/// carry `tagBase` in the upper 16 bits, so several can be in flight at once.
class Collective
{
  public:
    using DoneCallback = std::function<void(int worker, FlowSink& sink)>;

    virtual ~Collective() = default;
    virtual void Start(int worker, FlowSink& sink) = 0; ///< worker is ready, once each
    virtual void OnDelivered(const Flow& flow, FlowSink& sink) = 0;
    virtual bool Done() const = 0; ///< every worker is done
};

/// `done` is called once for each worker, when everything it waits for has arrived. Throws Error on
/// sizes that the kind cannot carry (unequal bytes in an all-reduce, root out of range, negative
/// bytes).
std::unique_ptr<Collective>
MakeCollective(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done);

} // namespace legacy::fabric
