/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * This benchmark measures the packet engine over RoCEv2: processor time, frames and events of ring
 * all-reduces, compared with TCP in the same run; large fabrics; and memory.
 */
#include "test/live-memory.h"

#include "fabric/import/make.h"
#include "fabric/step/step.h"
#include "helper/packet-engine-helper.h"
#include "helper/roce-trial.h"
#include "model/frames/frame.h"
#include "model/roce/queue-pair.h"
#include "model/tcp/tcp-connection.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace legacy
{
namespace packet
{
namespace
{

constexpr int64_t kRate = 100'000'000'000;
constexpr int64_t kBytes = 44'700'000; ///< ResNet-18's gradients in fp32

double ProcessorSeconds()
{
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// A Fabric owns the topology and the placement that its request points to.
struct Fabric
{
    Fabric(const std::string& name, int workers, const fabric::Transport& transport)
    {
        fabric::TopologyRequest wanted;
        wanted.text = name;
        wanted.rateBps = kRate;
        wanted.delay = 1'000;
        wanted.hostsNeeded = workers;
        topology = fabric::MakeTopology(wanted);
        fabric::PlacementRequest placed;
        placed.workers = workers;
        placement = fabric::MakePlacement(placed, topology);
        request.topology = &topology;
        request.placement = &placement;
        request.transport = transport;
    }

    fabric::Topology topology;
    fabric::Placement placement;
    fabric::EngineRequest request;
};

/// The cost of a ring all-reduce.
struct Ring
{
    double seconds = 0; ///< processor time, which includes building the network
    double events = 0;
    double frames = 0; ///< number of frames, times the links that each crosses
    double simulated = 0;
};

Ring RunRing(const Fabric& fabric, int64_t bytes = kBytes)
{
    const int workers = fabric.placement.Workers();
    fabric::CallTraffic call;
    call.collective.algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
    call.collective.bytes.assign(workers, bytes);
    fabric::BucketTraffic bucket;
    bucket.ready.assign(workers, 0);
    bucket.calls.push_back(call);
    fabric::StepTraffic traffic;
    traffic.workers = workers;
    traffic.deviceFree.assign(workers, 0);
    traffic.buckets.push_back(bucket);
    const double begin = ProcessorSeconds();
    const auto engine = fabric::MakePacketEngine(fabric.request);
    fabric::StepGraph graph(traffic);
    engine->Submit(graph, 0);
    engine->RunUntil(kNever);
    Ring ring;
    ring.seconds = ProcessorSeconds() - begin;
    ring.events = static_cast<double>(engine->Counters().events);
    for (const fabric::LinkCounters& link : engine->Links())
    {
        ring.frames += static_cast<double>(link.packets);
    }
    ring.simulated = static_cast<double>(engine->Now()) / 1e6;
    return ring;
}

void Print(const std::string& name, const Ring& ring, const std::string& aim)
{
    std::printf("| %s | %.2f s | %s | %.2f ms | %.2f M | %.2f M/s | %.2f | %.2f M/s |\n",
                name.c_str(),
                ring.seconds,
                aim.c_str(),
                ring.simulated,
                ring.frames / 1e6,
                ring.frames / ring.seconds / 1e6,
                ring.events / ring.frames,
                ring.events / ring.seconds / 1e6);
    std::fflush(stdout);
}

fabric::Transport Tcp(int segment, const std::string& preset = "datacenter")
{
    fabric::Transport transport = fabric::MakeTransport(preset);
    transport.segmentBytes = segment;
    return transport;
}

void Rings()
{
    std::printf("| ring all-reduce of 44.7 MB, 100 Gbit/s, 1 us a link | processor time | aim | "
                "simulated | frames x links | | events a frame and link | events |\n"
                "|---|---:|---:|---:|---:|---:|---:|---:|\n");
    double fastest = 0; // frames x links per second, of the first row
    for (const auto& [mtu, aim] : {std::pair{"4096", "1.2 s"}, std::pair{"1024", "4 s"}})
    {
        const std::string text = std::string("roce:mtu=") + mtu;
        const Ring ring = RunRing(Fabric("fat-tree:k=4", 16, fabric::MakeTransport(text)));
        Print("16 workers, k=4 fat-tree, `" + text + "`", ring, aim);
        fastest = std::max(fastest, ring.frames / ring.seconds);
    }
    for (const char* options : {"cc=none", "cc=hpcc", "cc=swift", "train=8", "cc=none,train=8"})
    {
        const std::string text = std::string("roce:") + options;
        Print("the same, `" + text + "`",
              RunRing(Fabric("fat-tree:k=4", 16, fabric::MakeTransport(text))),
              "");
    }
    double slowest = 0;
    for (const int segment : {4096, 1024})
    {
        const Ring ring = RunRing(Fabric("fat-tree:k=4", 16, Tcp(segment)));
        Print("the same, TCP, segments of " + std::to_string(segment), ring, "");
        slowest = std::max(slowest, ring.frames / ring.seconds);
    }
    Print("the same, TCP, segments of 4096, `datacenter:train=8`",
          RunRing(Fabric("fat-tree:k=4", 16, Tcp(4096, "datacenter:train=8"))),
          "");
    std::printf("| 128 workers, k=8 fat-tree, `roce`: 7 M frames x links, so about %.1f s | ",
                7e6 / fastest);
    std::fflush(stdout);
    const Ring large = RunRing(Fabric("fat-tree:k=8", 128, fabric::MakeTransport("roce")));
    std::printf("%.2f s | | %.2f ms | %.2f M | %.2f M/s | %.2f | %.2f M/s |\n",
                large.seconds,
                large.simulated,
                large.frames / 1e6,
                large.frames / large.seconds / 1e6,
                large.events / large.frames,
                large.events / large.seconds / 1e6);
    std::printf("\nFrames x links a second: %.1f times TCP's.\n", fastest / slowest);
}

void Building()
{
    const Fabric fabric("fat-tree:k=16", 1024, fabric::MakeTransport("roce"));
    const double begin = ProcessorSeconds();
    const auto engine = fabric::MakePacketEngine(fabric.request);
    std::printf("1,024 hosts, k=16 fat-tree: built in %.3f s (aim 1 s).\n",
                ProcessorSeconds() - begin);
}

/// Hosts send a message each to all others: all of them, or the first alone.
class Messages : public fabric::FlowGraph
{
  public:
    Messages(int hosts, bool all) : m_hosts(hosts), m_senders(all ? hosts : 1)
    {
    }

    void OnStart(fabric::FlowSink& sink) override
    {
        for (int from = 0; from < m_senders; ++from)
        {
            for (int hop = 1; hop < m_hosts; ++hop)
            {
                sink.Send({from, (from + hop) % m_hosts, 8192});
            }
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
        return m_delivered == m_senders * (m_hosts - 1);
    }

  private:
    int m_hosts;
    int m_senders;
    int m_delivered = 0;
};

/// Returns the live memory of an engine whose hosts have sent these.
int64_t LiveAfter(int hosts, bool all, const std::string& transport)
{
    const Fabric fabric("star", hosts, fabric::MakeTransport(transport));
    const int64_t before = LiveBytes();
    const auto engine = fabric::MakePacketEngine(fabric.request);
    Messages graph(hosts, all);
    engine->Submit(graph, 0);
    engine->RunUntil(kNever);
    return LiveBytes() - before;
}

/// Prints the live memory of a frame in flight, of a queue pair and of a connection. It is measured
/// as the growth of all live memory: with 20,000 more frames on a long line, and with 10,000 more
/// queue pairs or connections, after each has sent a message.
void Memory()
{
    constexpr int kHosts = 101;
    constexpr TimeNs kLong = 10'000'000;
    const auto live = [](int64_t bytes)
    {
        // All frames of one flow are on a line of 10 ms when the last one leaves.
        fabric::RoceTrial trial(fabric::RoceStar(2, kRate, kLong), "roce:cc=none");
        trial.Send({0, 1, bytes});
        trial.RunUntil(kLong - 1);
        return LiveBytes();
    };
    constexpr int64_t kFrames = 20'000;
    const int64_t few = live(4096 * 1'024);
    const int64_t many = live(4096 * (kFrames + 1'024));
    std::printf("A frame of %zu bytes: %.0f bytes of live memory in flight, with its event in "
                "ns-3's list (aim 64 without).\n",
                sizeof(Frame),
                static_cast<double>(many - few) / kFrames);
    const auto pairs = [](bool all)
    {
        fabric::RoceTrial trial(fabric::RoceStar(kHosts, kRate, 1'000), "roce:cc=none");
        for (int from = 0; from < (all ? kHosts : 1); ++from)
        {
            for (int hop = 1; hop < kHosts; ++hop)
            {
                trial.Send({from, (from + hop) % kHosts, 8192});
            }
        }
        const int64_t before = LiveBytes(); // this includes the flows' own records
        trial.RunUntil();
        trial.Drain();
        return LiveBytes() - before;
    };
    constexpr double kPairs = (kHosts - 1) * (kHosts - 1);
    std::printf(
        "A queue pair of %zu bytes: %.0f bytes of live memory with its links, its control's "
        "state, its entry in the table of pairs and its time-out's event (aim 300).\n",
        sizeof(QueuePair),
        static_cast<double>(pairs(true) - pairs(false)) / kPairs);
    const int64_t connections =
        LiveAfter(kHosts, true, "datacenter") - LiveAfter(kHosts, false, "datacenter");
    std::printf(
        "A connection of %zu bytes, %zu at rest: %.0f bytes of live memory with its links, its "
        "control's state, its entries in tables and its timer's event (aim 300).\n",
        sizeof(TcpConnection),
        sizeof(TcpIdleConnection),
        static_cast<double>(connections) / kPairs);
}

} // namespace
} // namespace packet
} // namespace legacy

int main()
{
    legacy::packet::Rings();
    legacy::packet::Building();
    legacy::packet::Memory();
    return 0;
}
