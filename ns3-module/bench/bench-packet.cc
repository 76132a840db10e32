/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * This benchmark measures the processor time of packet simulations. One run makes, in turn,
 * transfers between neighbours with ns-3's own applications, and the same transfers with the packet
 * engine on the same topology: over ns-3's sockets, which have the same TCP, and over segments of
 * our own. Another run makes one ring all-reduce.
 */
#include "fabric/import/make.h"
#include "fabric/step/step.h"
#include "helper/packet-engine-helper.h"
#include "plain-transfers.h"

#include <benchmark/benchmark.h>
#include <ctime>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{
namespace
{

constexpr int kWorkers = 16;
constexpr int64_t kRate = 10'000'000'000;

/// A Fabric owns the topology and the placement that its request points to.
struct Fabric
{
    Fabric(const char* name, int64_t segment, const char* preset)
    {
        fabric::TopologyRequest wanted;
        wanted.text = name;
        wanted.rateBps = kRate;
        wanted.delay = 1'000;
        wanted.hostsNeeded = kWorkers;
        topology = fabric::MakeTopology(wanted);
        fabric::PlacementRequest workers;
        workers.workers = kWorkers;
        placement = fabric::MakePlacement(workers, topology);
        request.topology = &topology;
        request.placement = &placement;
        request.transport = fabric::MakeTransport(preset);
        request.transport.segmentBytes = static_cast<int>(segment);
    }

    fabric::Topology topology;
    fabric::Placement placement;
    fabric::EngineRequest request;
};

/// A graph in which every worker sends to the next one.
class Neighbours : public fabric::FlowGraph
{
  public:
    explicit Neighbours(int64_t bytes) : m_bytes(bytes)
    {
    }

    void OnStart(fabric::FlowSink& sink) override
    {
        for (int worker = 0; worker < kWorkers; ++worker)
        {
            sink.Send(fabric::Flow{worker, (worker + 1) % kWorkers, m_bytes, 0});
        }
    }

    void OnDelivered(const fabric::Flow&, fabric::FlowSink&) override
    {
        ++m_delivered;
    }

    void OnWake(uint64_t, fabric::FlowSink&) override
    {
    }

    bool Done() const override
    {
        return m_delivered == kWorkers;
    }

  private:
    int64_t m_bytes;     ///< bytes of each flow
    int m_delivered = 0; ///< number of flows delivered
};

double ProcessorSeconds()
{
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Returns the number of packets sent on all links.
double LinkPackets(const fabric::Engine& engine)
{
    double packets = 0;
    for (const fabric::LinkCounters& link : engine.Links())
    {
        packets += static_cast<double>(link.packets);
    }
    return packets;
}

/// Sends `bytes` from each worker to the next one. Returns the processor time.
double TransferSeconds(const fabric::EngineRequest& request, int64_t bytes)
{
    const double begin = ProcessorSeconds();
    {
        const auto engine = fabric::MakePacketEngine(request);
        Neighbours graph(bytes);
        engine->Submit(graph, 0);
        engine->RunUntil(kNever);
    }
    return ProcessorSeconds() - begin;
}

void Transfers(benchmark::State& state, const char* topology)
{
    const Fabric fabric(topology, state.range(0), "datacenter");
    const Fabric over(topology, state.range(0), "ns3:datacenter");
    const int64_t bytes = 1000 * state.range(0);
    std::vector<std::pair<int, int>> pairs;
    for (int worker = 0; worker < kWorkers; ++worker)
    {
        pairs.emplace_back(fabric.placement.hosts[worker],
                           fabric.placement.hosts[(worker + 1) % kWorkers]);
    }
    double own = 0;
    double sockets = 0;
    double plain = 0;
    for (auto _ : state)
    {
        const double begin = ProcessorSeconds();
        RunPlainTransfers(over.topology, over.request.transport, pairs, bytes);
        plain += ProcessorSeconds() - begin;
        own += TransferSeconds(fabric.request, bytes);
        const double taken = TransferSeconds(over.request, bytes);
        sockets += taken;
        state.SetIterationTime(taken); // our own are too short to say how often to repeat
    }
    const double payload = static_cast<double>(state.iterations() * kWorkers * bytes);
    state.counters["payload/s"] = payload / own;
    state.counters["sockets payload/s"] = payload / sockets;
    state.counters["plain payload/s"] = payload / plain;
    state.counters["ratio"] = plain / own;
    state.counters["sockets ratio"] = plain / sockets;
}

void RingAllReduce(benchmark::State& state, const char* topology, const char* preset)
{
    const Fabric fabric(topology, state.range(0), preset);
    fabric::CallTraffic call;
    call.collective.algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
    call.collective.bytes.assign(kWorkers, 44'700'000); // ResNet-18's gradients in fp32
    fabric::StepTraffic traffic;
    traffic.workers = kWorkers;
    traffic.deviceFree.assign(kWorkers, 0);
    fabric::BucketTraffic bucket;
    bucket.ready.assign(kWorkers, 0);
    bucket.calls.push_back(call);
    traffic.buckets.push_back(bucket);
    double seconds = 0;
    for (auto _ : state)
    {
        const double begin = ProcessorSeconds();
        const auto engine = fabric::MakePacketEngine(fabric.request);
        fabric::StepGraph graph(traffic);
        engine->Submit(graph, 0);
        engine->RunUntil(kNever);
        const double taken = ProcessorSeconds() - begin;
        seconds += taken;
        state.SetIterationTime(taken);
        const auto events = static_cast<double>(engine->Counters().events);
        state.counters["events"] = events;
        const double packets = LinkPackets(*engine);
        state.counters["events/packet"] = events / packets;
        state.counters["packets x links/s"] = packets / taken;
        state.counters["simulated ms"] = static_cast<double>(engine->Now()) / 1e6;
    }
    state.counters["events/s"] =
        state.counters["events"] * static_cast<double>(state.iterations()) / seconds;
}

BENCHMARK_CAPTURE(Transfers, star, "star")->Arg(1448)->Arg(8900)->UseManualTime();
BENCHMARK_CAPTURE(Transfers, fat_tree, "fat-tree:k=4")->Arg(1448)->Arg(8900)->UseManualTime();
BENCHMARK_CAPTURE(RingAllReduce, fat_tree, "fat-tree:k=4", "datacenter")
    ->Arg(1448)
    ->Arg(8900)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(RingAllReduce, fat_tree_trains, "fat-tree:k=4", "datacenter:train=8")
    ->Arg(1448)
    ->Arg(8900)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(RingAllReduce, fat_tree_sockets, "fat-tree:k=4", "ns3:datacenter")
    ->Arg(1448)
    ->Arg(8900)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

} // namespace
} // namespace packet
} // namespace legacy
