// This benchmark measures the speed of the flow engine on ring all-reduces of 16 to 8,192 hosts and
// on asymmetric traffic, and, if SimGrid is installed, the speed of SimGrid on the same fabric and
// routes. It also measures direct all-gathers and a memoised step.
//
// Every simulation runs in its own process (this program again), so that peak memory is its own,
// and so that SimGrid, which can be set up only once in a process, can be measured often. Times are
// processor times of the simulation only, without those of building the fabric and routes.
#include "processor-time.h"
#include "traffic.h"

#include "base/error.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/step/step.h"
#ifdef LEGACY_WITH_SIMGRID
#include "simgrid-peer.h"
#endif

#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

namespace legacy::fabric::bench
{

namespace
{

/// The result of one simulation, which a child process prints.
struct Result
{
    double seconds = 0;
    double simulated = 0;
    double peakMiB = 0;
};

constexpr const char* kChildFlag = "--one-simulation";

class Burst : public FlowGraph
{
  public:
    explicit Burst(std::vector<Flow> flows) : m_flows(std::move(flows))
    {
    }

    void OnStart(FlowSink& sink) override
    {
        for (const Flow& flow : m_flows)
        {
            sink.Send(flow);
        }
    }

    void OnDelivered(const Flow&, FlowSink&) override
    {
        ++m_delivered;
    }

    void OnWake(uint64_t, FlowSink&) override
    {
    }

    bool Done() const override
    {
        return m_delivered == m_flows.size();
    }

  private:
    const std::vector<Flow> m_flows;
    size_t m_delivered = 0;
};

StepTraffic CollectiveStep(CollectiveAlgorithm algorithm, int workers, int buckets, int64_t bytes)
{
    StepTraffic traffic;
    traffic.workers = workers;
    traffic.deviceFree.assign(workers, 0);
    CallTraffic call;
    call.collective.algorithm = algorithm;
    call.collective.bytes.assign(workers, bytes);
    BucketTraffic bucket;
    bucket.ready.assign(workers, 0);
    bucket.calls.push_back(call);
    traffic.buckets.assign(buckets, bucket);
    return traffic;
}

Result RunOurs(const Case& what, const Transport& transport)
{
    const Fabric fabric = MakeFabric(what);
    EngineRequest request;
    request.topology = &fabric.topology;
    request.placement = &fabric.placement;
    request.transport = transport;
    std::unique_ptr<FlowGraph> graph;
    if (what.traffic == "ring")
    {
        graph = std::make_unique<StepGraph>(
            CollectiveStep(CollectiveAlgorithm::RingAllReduce, what.workers, 1, kRingBytes));
    }
    else if (what.traffic == "direct")
    {
        graph = std::make_unique<StepGraph>(
            CollectiveStep(CollectiveAlgorithm::DirectAllGather, what.workers, 1, kDirectBytes));
    }
    else
    {
        graph = std::make_unique<Burst>(MixedFlows(what.workers));
    }
    const double start = ProcessorSeconds();
    const std::unique_ptr<Engine> engine = MakeFlowEngine(request);
    engine->Submit(*graph, 0);
    engine->RunUntil(kNever);
    return {ProcessorSeconds() - start, static_cast<double>(engine->Now()) * 1e-9, 0};
}

/// Runs the simulation that `words` name: ENGINE TRAFFIC WORKERS ORDER DELAYS, where ENGINE is
/// "simgrid", "flow-bare" (BareTransport), "flow" or "flow-roce".
int RunChild(char** words)
{
    const std::string engine = words[0];
    const Case what{words[1], std::atoi(words[2]), words[3], std::strcmp(words[4], "equal") == 0};
    Result result;
    if (engine == "simgrid")
    {
#ifdef LEGACY_WITH_SIMGRID
        const Measured measured = RunSimGrid(what);
        result = {measured.seconds, measured.simulated, 0};
#else
        return EXIT_FAILURE;
#endif
    }
    else
    {
        const std::string transport = engine == "flow-roce" ? "roce" : "datacenter";
        result = RunOurs(what, engine == "flow-bare" ? BareTransport() : MakeTransport(transport));
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%.9g %.9g %.9g\n",
                result.seconds,
                result.simulated,
                static_cast<double>(usage.ru_maxrss) / 1024);
    std::fflush(stdout);
    // The process ends here, so SimGrid's state need not be destroyed.
    std::_Exit(EXIT_SUCCESS);
}

/// Runs this program on one simulation. Returns false if it failed.
bool Measure(const std::string& program,
             const std::string& engine,
             const Case& what,
             Result* result)
{
    const std::string command = "'" + program + "' " + kChildFlag + " " + engine + " " +
                                what.traffic + " " + std::to_string(what.workers) + " " +
                                what.order + " " + (what.equalDelays ? "equal" : "each-link");
    FILE* output = popen(command.c_str(), "r");
    if (!output)
    {
        return false;
    }
    const int read =
        std::fscanf(output, "%lf %lf %lf", &result->seconds, &result->simulated, &result->peakMiB);
    return pclose(output) == 0 && read == 3;
}

/// The seconds that SimGrid took, by case, for the ratios. The benchmarks fill this as they run,
/// and SimGrid's run first.
using PeerSeconds = std::map<std::string, double>;

std::string NameOf(const Case& what)
{
    std::string name = what.traffic + "/" + std::to_string(what.workers) + "/";
    name += what.order == "packed" ? "in-order" : "random";
    return name + (what.equalDelays ? "" : "/delay-on-each-link");
}

void Register(const std::string& program,
              const std::string& engine,
              const Case& what,
              const std::shared_ptr<PeerSeconds>& peer)
{
    const auto run = [=](benchmark::State& state)
    {
        Result result;
        for (auto _ : state)
        {
            if (!Measure(program, engine, what, &result))
            {
                state.SkipWithError("the simulation failed");
                return;
            }
            state.SetIterationTime(result.seconds);
        }
        state.counters["flows/s"] = static_cast<double>(FlowCount(what)) / result.seconds;
        state.counters["simulated_ms"] = 1e3 * result.simulated;
        state.counters["peak_MiB"] = result.peakMiB;
        if (engine == "simgrid")
        {
            (*peer)[NameOf(what)] = result.seconds;
        }
        else if (const auto found = peer->find(NameOf(what)); found != peer->end())
        {
            state.counters["x_simgrid"] = found->second / result.seconds;
        }
    };
    benchmark::RegisterBenchmark((engine + "/" + NameOf(what)).c_str(), run)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
}

void RegisterSimulations(const std::string& program)
{
    const auto peer = std::make_shared<PeerSeconds>();
    const std::vector<Case> compared{{"ring", 128, "packed", true},
                                     {"ring", 128, "random:1", true},
                                     {"ring", 1024, "packed", true},
                                     {"ring", 1024, "random:1", true},
                                     {"ring", 1024, "packed", false},
                                     {"ring", 1024, "random:1", false},
                                     {"mixed", 1024, "packed", true}};
    for (const Case& what : compared)
    {
#ifdef LEGACY_WITH_SIMGRID
        Register(program, "simgrid", what, peer);
#endif
        Register(program, "flow-bare", what, peer);
    }
    for (const std::string order : {"packed", "random:1"})
    {
        for (int workers : {16, 64, 256, 1024, 4096, 8192})
        {
            Register(program, "flow", {"ring", workers, order, false}, peer);
        }
    }
    // The aim is under 5 s for 256 workers.
    for (int workers : {64, 128, 256})
    {
        Register(program, "flow-roce", {"direct", workers, "packed", false}, peer);
    }
}

/// Measures Simulate() of a memoised step with 16 workers and range(0) buckets.
void BM_MemoisedStep(benchmark::State& state)
{
    constexpr int kWorkers = 16;
    const Fabric fabric = MakeFabric({"ring", kWorkers, "packed", false});
    EngineRequest request;
    request.topology = &fabric.topology;
    request.placement = &fabric.placement;
    StepSimulator simulator(MakeFlowEngine, request);
    const StepTraffic traffic = CollectiveStep(CollectiveAlgorithm::RingAllReduce,
                                               kWorkers,
                                               static_cast<int>(state.range(0)),
                                               kRingBytes / state.range(0));
    simulator.Simulate(traffic, 0);
    for (auto _ : state)
    {
        benchmark::DoNotOptimize(simulator.Simulate(traffic, 0).total);
    }
}

BENCHMARK(BM_MemoisedStep)->Arg(1)->Arg(161)->Unit(benchmark::kMicrosecond);

} // namespace

} // namespace legacy::fabric::bench

int main(int argc, char** argv)
{
    namespace bench = legacy::fabric::bench;
    try
    {
        if (argc == 7 && std::strcmp(argv[1], bench::kChildFlag) == 0)
        {
            return bench::RunChild(argv + 2);
        }
        benchmark::Initialize(&argc, argv);
        if (benchmark::ReportUnrecognizedArguments(argc, argv))
        {
            return EXIT_FAILURE;
        }
        bench::RegisterSimulations(argv[0]);
        benchmark::RunSpecifiedBenchmarks();
        benchmark::Shutdown();
        return EXIT_SUCCESS;
    }
    catch (const legacy::Error& error)
    {
        std::fprintf(stderr, "legacy-bench-network: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
