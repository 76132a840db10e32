/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * This example runs one collective on a given topology at every fidelity: packets over ns-3's TCP,
 * fluid flows, and alpha-beta. It places the workers in the order of the racks, so that a ring
 * crosses between racks only twice, and then spreads them over the racks.
 *
 *   legacy-fidelity-example --bytes=4MB
 *   legacy-fidelity-example --topology=my-fabric.yaml --collective=parameter-server
 */
#include "base/error.h"
#include "base/units.h"
#include "fabric/import/make.h"
#include "fabric/step/step.h"
#include "helper/packet-engine-helper.h"

#include "ns3/core-module.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>

using namespace legacy::fabric;

namespace
{

/// Options of the command line.
struct Options
{
    std::string topology = LEGACY_EXAMPLE_TOPOLOGY;
    std::string transport = "datacenter";
    std::string collective = "ring-allreduce";
    std::string bytes = "1MB";
    int workers = 0;
};

/// Returns a step of one collective, for which all workers are ready at once with `bytes` each.
StepTraffic MakeTraffic(CollectiveAlgorithm algorithm, int workers, int64_t bytes)
{
    CallTraffic call;
    call.collective.algorithm = algorithm;
    call.collective.bytes.assign(workers, bytes);
    call.collective.pullBytes = bytes;
    call.collective.root = algorithm == CollectiveAlgorithm::ParameterServer ? workers : 0;
    BucketTraffic bucket;
    bucket.ready.assign(workers, 0);
    bucket.calls.push_back(call);
    bucket.decode.assign(workers, 0);
    StepTraffic traffic;
    traffic.workers = workers;
    traffic.deviceFree.assign(workers, 0);
    traffic.buckets.push_back(bucket);
    return traffic;
}

/// Returns the link that was busy for the longest time, as "leaf0 > spine0 (87 %)".
std::string BusiestLink(const Topology& topology, const StepTiming& timing)
{
    DirectedLink busiest = 0;
    for (std::size_t link = 1; link < timing.links.size(); ++link)
    {
        if (timing.links[link].busy > timing.links[busiest].busy)
        {
            busiest = static_cast<DirectedLink>(link);
        }
    }
    const auto percent =
        100 * timing.links[busiest].busy / std::max<legacy::TimeNs>(timing.total, 1);
    return topology.NodeName(topology.From(busiest)) + " > " +
           topology.NodeName(topology.To(busiest)) + " (" + std::to_string(percent) + " %)";
}

/// Prints one line for each fidelity.
void Compare(const Topology& topology, const Placement& placement, const Options& options)
{
    EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = MakeTransport(options.transport);
    const StepTraffic traffic = MakeTraffic(ParseCollective(options.collective),
                                            placement.Workers(),
                                            legacy::ParseBytes(options.bytes, "--bytes"));
    const std::pair<const char*, EngineFactory> fidelities[] = {
        {"packet", MakePacketEngine}, {"flow", MakeFlowEngine}, {"analytic", MakeAnalyticEngine}};
    double packet = 0;
    for (const auto& [name, factory] : fidelities)
    {
        StepSimulator simulator(factory, request);
        const auto begin = std::chrono::steady_clock::now();
        const StepTiming timing = simulator.Simulate(traffic, 0);
        const std::chrono::duration<double, std::milli> wall =
            std::chrono::steady_clock::now() - begin;
        const auto step = static_cast<double>(timing.total);
        packet = packet > 0 ? packet : step;
        std::cout << std::left << std::setw(9) << placement.description << " " << std::setw(8)
                  << name << " " << std::setw(10) << legacy::FormatTime(timing.total) << std::right
                  << std::fixed << std::showpos << std::setprecision(1) << std::setw(7)
                  << 100 * (step / packet - 1) << " %" << std::noshowpos << std::setw(9)
                  << wall.count() << " ms  " << BusiestLink(topology, timing) << "\n";
    }
}

void Run(const Options& options)
{
    TopologyRequest request;
    request.text = options.topology;
    const Topology topology = MakeTopology(request);
    const int servers = options.collective == "parameter-server" ? 1 : 0;
    const int hosts = static_cast<int>(topology.Hosts().size());
    const int workers = options.workers > 0 ? options.workers : hosts - servers;
    std::cout << options.collective << " of " << options.bytes << " among " << workers
              << " workers, " << topology.Name() << ", " << options.transport << "\n"
              << "placement fidelity step      to packet  wall time  busiest link\n";
    for (const char* text : {"packed", "strided"})
    {
        PlacementRequest place;
        place.text = text;
        place.workers = workers;
        place.servers = servers;
        Compare(topology, MakePlacement(place, topology), options);
    }
}

} // namespace

int main(int argc, char* argv[])
{
    Options options;
    ns3::CommandLine cmd(__FILE__);
    cmd.Usage("A collective on a topology file, at packet, flow and analytic fidelity.");
    cmd.AddValue("topology", "a YAML file, or name:parameters", options.topology);
    cmd.AddValue("transport", "datacenter or wan", options.transport);
    cmd.AddValue("collective",
                 "an algorithm that needs only bytes and one server: ring-allreduce, "
                 "double-tree-allreduce, all-to-all, broadcast, parameter-server, ...",
                 options.collective);
    cmd.AddValue("bytes", "bytes of each worker", options.bytes);
    cmd.AddValue("workers", "number of workers; 0: one on each host", options.workers);
    cmd.Parse(argc, argv);
    try
    {
        Run(options);
    }
    catch (const legacy::Error& error)
    {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
