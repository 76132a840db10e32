// Validation sections that compare our engines with the published figures of others.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

// Returns the ring's time in our own model: hosts in a circle, links with the given rate and
// latency, no headers, no ACKs, and one frame for each message.
TimeNs OwnRingAllReduceNs(const AstraRing& ring, int64_t bytes) {
  fabric::Topology topology;
  fabric::Placement placement;
  for (int i = 0; i < ring.workers; ++i) {
    placement.hosts.push_back(topology.AddHost(std::to_string(i)));
  }
  const auto rate = static_cast<int64_t>(ring.link_gib_per_second * 8 * 0x1p30);
  for (int i = 0; i < ring.workers; ++i) {
    fabric::Port both;
    both.rateBps = rate;
    topology.AddLink(fabric::Link(i, (i + 1) % ring.workers, ring.latency_ns, both));
  }
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport.headerBytes = 0;
  request.transport.ackBytes = 0;
  fabric::StepTraffic traffic;
  traffic.workers = ring.workers;
  traffic.deviceFree.assign(ring.workers, 0);
  fabric::CallTraffic call;
  call.collective.algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
  call.collective.bytes.assign(ring.workers, bytes);
  fabric::BucketTraffic bucket;
  bucket.ready.assign(ring.workers, 0);
  bucket.calls.push_back(call);
  traffic.buckets.push_back(bucket);
  return fabric::StepSimulator(fabric::MakeAnalyticEngine, request).Simulate(traffic, 0).total;
}

// Returns the part of AstraRingAllReduceNs that is not spent in the network.
int64_t AstraBesidesNetworkNs(const AstraRing& ring) {
  const int64_t chunk = ring.bytes / ring.splits / ring.workers;
  const auto memory = static_cast<int64_t>(static_cast<double>(chunk) / ring.memory_gb_per_second);
  constexpr int64_t kStreamNs = 10;
  constexpr int64_t kMemoryPasses = 3;
  const int64_t others = ring.workers - 1;
  return ring.splits *
         (2 * others * ring.endpoint_delay_ns + kStreamNs + others * kMemoryPasses * memory);
}

}  // namespace

int64_t AstraRingAllReduceNs(const AstraRing& ring) {
  const auto chunk = static_cast<double>(ring.bytes / ring.splits / ring.workers);
  const double bytes_per_ns = ring.link_gib_per_second * 0x1p30 * 1e-9;
  const auto step =
      static_cast<int64_t>(static_cast<double>(ring.latency_ns) + chunk / bytes_per_ns);
  return ring.splits * 2 * (ring.workers - 1) * step + AstraBesidesNetworkNs(ring);
}

SectionResult ValidateAstraSim(const SectionRun&) {
  // The constant in tests/rt_template of astra-sim, at each rank.
  constexpr int64_t kCommitted = 117'780;
  const AstraRing ring;
  const int64_t formula = AstraRingAllReduceNs(ring);
  const int64_t own = ring.splits * OwnRingAllReduceNs(ring, ring.bytes / ring.splits) +
                      AstraBesidesNetworkNs(ring);
  SectionResult result;
  result.csv = {"astra-sim",
                {"figure", "ns"},
                {{"ASTRA-sim's regression constant", std::to_string(kCommitted)},
                 {"its model as a closed form", std::to_string(formula)},
                 {"the same with the network of our analytic engine", std::to_string(own)}}};
  result.document = {result.csv};
  result.Expect(formula == kCommitted,
                "astra-sim: the closed form gives " + std::to_string(formula));
  // Our engine rounds each message's time up, and theirs rounds it down.
  result.Expect(formula <= own && own <= formula + ring.splits * 2 * (ring.workers - 1),
                "astra-sim: our engine gives " + std::to_string(own));
  return result;
}

}  // namespace legacy
