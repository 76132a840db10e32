/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * These tests compare results with numbers from elsewhere: closed forms, and another simulator's
 * published timings. The numbers hold for every ns-3 release with which the module is built.
 */
#include "fabric/collective/closed-form.h"
#include "fabric/import/make.h"
#include "fabric/step/step.h"
#include "helper/packet-engine-helper.h"
#include "helper/reference-cases.h"

#include "ns3/test.h"

#include <cmath>
#include <string>
#include <vector>

using namespace ns3;
namespace fabric = legacy::fabric;

namespace
{

constexpr int64_t kRate = 1'000'000'000;  //!< rate of every link
constexpr legacy::TimeNs kDelay = 10'000; //!< delay of every link

/// Returns a step of one collective among workers that are ready at once.
fabric::StepTraffic OneCollective(fabric::CollectiveAlgorithm algorithm, int workers, int64_t bytes)
{
    fabric::CallTraffic call;
    call.collective.algorithm = algorithm;
    call.collective.bytes.assign(workers, bytes);
    fabric::BucketTraffic bucket;
    bucket.ready.assign(workers, 0);
    bucket.calls.push_back(call);
    bucket.decode.assign(workers, 0);
    fabric::StepTraffic traffic;
    traffic.workers = workers;
    traffic.deviceFree.assign(workers, 0);
    traffic.buckets.push_back(bucket);
    return traffic;
}

fabric::StepTiming Simulate(const fabric::EngineFactory& factory,
                            const std::string& topologyText,
                            const fabric::StepTraffic& traffic)
{
    fabric::TopologyRequest request;
    request.text = topologyText;
    request.rateBps = kRate;
    request.delay = kDelay;
    request.hostsNeeded = traffic.workers;
    const fabric::Topology topology = fabric::MakeTopology(request);
    const fabric::Placement placement =
        fabric::MakePlacement({"packed", traffic.workers}, topology);
    fabric::EngineRequest engine;
    engine.topology = &topology;
    engine.placement = &placement;
    engine.transport = fabric::MakeTransport("datacenter");
    return fabric::StepSimulator(factory, engine).Simulate(traffic, 0);
}

} // namespace

/**
 * \ingroup legacy
 * Checks that rings on one switch take the times of their closed forms.
 */
class ClosedFormTestCase : public TestCase
{
  public:
    explicit ClosedFormTestCase(int workers)
        : TestCase("rings of " + std::to_string(workers) + " against closed forms"),
          m_workers(workers)
    {
    }

  private:
    void DoRun() override
    {
        const fabric::UniformPath path{2, kRate, kDelay};
        const fabric::Transport transport = fabric::MakeTransport("datacenter");
        Check(fabric::CollectiveAlgorithm::RingAllReduce,
              1'600'000,
              fabric::RingAllReduceTime(m_workers, 1'600'000, path, transport));
        const int64_t block = 2'000'000 / m_workers;
        Check(fabric::CollectiveAlgorithm::RingAllGather,
              block,
              fabric::RingAllGatherTime(m_workers, block, path, transport));
    }

    /**
     * \param algorithm a collective
     * \param bytes of each worker
     * \param form nanoseconds that it should take
     */
    void Check(fabric::CollectiveAlgorithm algorithm, int64_t bytes, legacy::TimeNs form)
    {
        const fabric::StepTiming timing =
            Simulate(fabric::MakePacketEngine, "star", OneCollective(algorithm, m_workers, bytes));
        const double ratio = static_cast<double>(timing.total) / static_cast<double>(form);
        NS_TEST_EXPECT_MSG_EQ_TOL(ratio, 1.0, 0.03, fabric::ToString(algorithm));
        NS_TEST_EXPECT_MSG_EQ(timing.counters.retransmitTimeouts, 0, fabric::ToString(algorithm));
    }

    int m_workers; //!< workers in the ring
};

/**
 * \ingroup legacy
 * Checks that fluid flows and packets agree where no link is oversubscribed.
 */
class FidelityTestCase : public TestCase
{
  public:
    FidelityTestCase() : TestCase("flow against packet fidelity on a fat-tree")
    {
    }

  private:
    void DoRun() override
    {
        const fabric::StepTraffic traffic =
            OneCollective(fabric::CollectiveAlgorithm::RingAllReduce, 16, 800'000);
        const fabric::StepTiming packet =
            Simulate(fabric::MakePacketEngine, "fat-tree:k=4", traffic);
        const fabric::StepTiming flow = Simulate(fabric::MakeFlowEngine, "fat-tree:k=4", traffic);
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(flow.total) /
                                      static_cast<double>(packet.total),
                                  1.0,
                                  0.05,
                                  "flow / packet");
        NS_TEST_EXPECT_MSG_EQ(packet.counters.flows, flow.counters.flows, "flows");
    }
};

/**
 * \ingroup legacy
 * Checks that transfers take the times that SimGrid publishes, to all six decimals.
 */
class SimGridTestCase : public TestCase
{
  public:
    SimGridTestCase() : TestCase("timings that SimGrid publishes for its use of ns-3")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<fabric::SimGridResult> results = fabric::RunSimGridCases();
        NS_TEST_ASSERT_MSG_EQ(results.size(), 3, "transfers");
        for (const fabric::SimGridResult& result : results)
        {
            NS_TEST_EXPECT_MSG_EQ(std::llround(result.measured * 1e6),
                                  std::llround(result.published * 1e6),
                                  result.name);
        }
    }
};

/**
 * \ingroup legacy
 * Tests against closed forms, other fidelities and published timings.
 */
class ValidationTestSuite : public TestSuite
{
  public:
    ValidationTestSuite() : TestSuite("legacy-validation", TestSuite::Type::SYSTEM)
    {
        AddTestCase(new ClosedFormTestCase(4));
        AddTestCase(new ClosedFormTestCase(8));
        AddTestCase(new FidelityTestCase);
        AddTestCase(new SimGridTestCase);
    }
};

static ValidationTestSuite g_validationTestSuite; //!< registers itself
