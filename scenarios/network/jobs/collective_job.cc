#include "scenarios/network/jobs/collective_job.h"

#include <algorithm>
#include <cstdint>

#include "ns3-module/fabric/step/straggler.h"

namespace legacy {

std::string CollectiveJob::Name() const { return fabric::ToString(*experiment_.algorithm); }

std::vector<fabric::PlacementRequest> CollectiveJob::Placements() const {
  return {NetworkFor(experiment_, *experiment_.algorithm).placement};
}

JobSteps CollectiveJob::StepsOn(const Network& network, size_t, int64_t) const {
  const bool varies = fabric::MakeStragglers(experiment_.options.stragglers)->Transient();
  return {.traffic =
              [this, &network](int64_t step) {
                return TrafficOf(experiment_, *experiment_.algorithm, network,
                                 static_cast<uint64_t>(step));
              },
          .steady_from = varies ? INT64_MAX : 0,
          .bytes = static_cast<double>(*std::ranges::max_element(experiment_.bytes))};
}

}  // namespace legacy
