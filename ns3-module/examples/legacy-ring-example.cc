/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * This example runs a ring all-reduce over TCP on a data-centre fabric. It prints the simulated
 * time and the cost of the simulation.
 *
 *   legacy-ring-example --topology=fat-tree:k=4 --workers=16 --bytes=287kB --rate=1Gbps
 *   legacy-ring-example --attributes="ns3::TcpSocket::InitialCwnd=4;ns3::TcpSocketBase::MinRto=1ms"
 *
 * Attributes are set by --attributes, which takes precedence over the transport preset.
 */
#include "base/error.h"
#include "base/units.h"
#include "fabric/import/make.h"
#include "fabric/step/step.h"
#include "helper/packet-engine-helper.h"

#include "ns3/core-module.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

using namespace legacy::fabric;

namespace
{

/// Options of the command line.
struct Options
{
    std::string topology = "fat-tree:k=4";
    std::string placement = "packed";
    std::string transport = "datacenter";
    std::string collective = "ring-allreduce";
    std::string bytes = "287kB";
    std::string rate = "1Gbps";
    std::string delay = "10us";
    int workers = 16;
    bool warm = true;
    std::string attributes;
};

/// Reads "ns3::Type::Name=value;...".
std::map<std::string, std::string> ParseAttributes(const std::string& text)
{
    std::map<std::string, std::string> attributes;
    std::istringstream in(text);
    for (std::string item; std::getline(in, item, ';');)
    {
        const std::size_t equals = item.find('=');
        if (equals == std::string::npos)
        {
            throw legacy::Error("--attributes", item, "ns3::Type::Name=value");
        }
        attributes[item.substr(0, equals)] = item.substr(equals + 1);
    }
    return attributes;
}

StepTraffic MakeTraffic(const Options& options)
{
    CallTraffic call;
    call.collective.algorithm = ParseCollective(options.collective);
    call.collective.bytes.assign(options.workers, legacy::ParseBytes(options.bytes, "--bytes"));
    call.collective.pullBytes = call.collective.bytes.front();
    StepTraffic traffic;
    traffic.workers = options.workers;
    traffic.deviceFree.assign(options.workers, 0);
    BucketTraffic bucket;
    bucket.ready.assign(options.workers, 0);
    bucket.calls.push_back(call);
    bucket.decode.assign(options.workers, 0);
    traffic.buckets.push_back(bucket);
    return traffic;
}

void Run(const Options& options)
{
    TopologyRequest request;
    request.text = options.topology;
    request.rateBps = legacy::ParseRate(options.rate, "--rate");
    request.delay = legacy::ParseTime(options.delay, "--delay");
    const bool server = options.collective == "parameter-server";
    request.hostsNeeded = options.workers + (server ? 1 : 0);
    const Topology topology = MakeTopology(request);
    const Placement placement =
        MakePlacement({options.placement, options.workers, server}, topology);

    EngineRequest engine;
    engine.topology = &topology;
    engine.placement = &placement;
    engine.transport = MakeTransport(options.transport);
    engine.transport.connections = options.warm ? ConnectionKind::Warm : ConnectionKind::Cold;
    engine.transport.attributes = ParseAttributes(options.attributes);
    StepSimulator simulator(MakePacketEngine, engine);
    StepTraffic traffic = MakeTraffic(options);
    for (CallTraffic& call : traffic.buckets[0].calls)
    {
        call.collective.root = server ? options.workers : 0;
    }

    const auto begin = std::chrono::steady_clock::now();
    const StepTiming timing = simulator.Simulate(traffic, 0);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;

    const EngineCounters totals = simulator.Totals();
    LinkCounters links;
    for (const LinkCounters& link : timing.links)
    {
        links.drops += link.drops;
        links.marks += link.marks;
        links.maxQueueBytes = std::max(links.maxQueueBytes, link.maxQueueBytes);
    }
    std::cout << "step            " << legacy::FormatTime(timing.total) << "\n"
              << "flows           " << timing.counters.flows << "\n"
              << "time-outs       " << timing.counters.retransmitTimeouts << "\n"
              << "drops, marks    " << links.drops << ", " << links.marks << "\n"
              << "largest queue   " << legacy::FormatBytes(links.maxQueueBytes) << "\n"
              << "events          " << totals.events << " (warm-up included)\n"
              << "wall time       " << wall.count() << " s, " << totals.events / wall.count()
              << " events/s\n";
}

} // namespace

int main(int argc, char* argv[])
{
    Options options;
    ns3::CommandLine cmd(__FILE__);
    cmd.Usage("A collective over TCP on a simulated fabric.");
    cmd.AddValue("topology", "name:parameters, or a YAML file", options.topology);
    cmd.AddValue("placement", "packed, strided or random:SEED", options.placement);
    cmd.AddValue("transport", "datacenter or wan", options.transport);
    cmd.AddValue(
        "collective", "ring-allreduce, ring-allgather, broadcast, ...", options.collective);
    cmd.AddValue("bytes", "bytes of each worker", options.bytes);
    cmd.AddValue("rate", "rate of each link", options.rate);
    cmd.AddValue("delay", "delay of each link", options.delay);
    cmd.AddValue("workers", "number of workers", options.workers);
    cmd.AddValue("warm", "time the second of two steps on the same connections", options.warm);
    cmd.AddValue("attributes", "ns3::Type::Name=value, separated by ;", options.attributes);
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
