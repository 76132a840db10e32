// Steps whose collectives and messages take as long as they do alone on the network.
#pragma once

#include "alike-groups.h"
#include "build-sharded.h"
#include "step.h"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// AloneSteps simulate each collective of such steps once by itself, and then the steps without a
/// network. Where all workers of a stage compute equally long, one of each stage is simulated, and
/// a collective ends for all of its workers when it ends for the last one. Collectives that run
/// alike elsewhere in the network (alike-groups.h), such as those of other stages, are not
/// simulated again.
class AloneSteps
{
  public:
    /// A TimeStep simulates a step on the network, whose collectives share links.
    using TimeStep = std::function<StepTiming(const StepTraffic& traffic)>;

    /// Returns the timing of a step. `network` is what `time` reads of the network; null where it
    /// depends on more than the forms of collectives. `watch` is called with the step's plan.
    StepTiming Time(const StepTraffic& traffic,
                    const TimeStep& time,
                    const EngineRequest* network = nullptr,
                    const PlanWatch& watch = nullptr);
    /// Forgets what collectives take.
    void Forget();

  private:
    /// Timed has the times of all that travels in a step.
    struct Timed
    {
        AloneTimes times;
        std::map<const CollectiveGroups*, const StepTiming*> collectives;
        std::vector<std::array<const StepTiming*, 2>> messages; ///< null: there are none
    };

    /// An AlikeGroups is a list that was simulated.
    struct AlikeGroups
    {
        CollectiveGroups groups;
        std::optional<GroupsForm> form; ///< empty until there is another list with these calls
        const StepTiming* timing = nullptr;
    };

    Timed TimeAll(const StepTraffic& traffic, const TimeStep& time, const EngineRequest* network);
    const StepTiming& TimeAlone(const CollectiveGroups& groups,
                                int workers,
                                const TimeStep& time,
                                const EngineRequest* network);
    StepTiming TimeOrFind(const CollectiveGroups& groups,
                          int workers,
                          const TimeStep& time,
                          const EngineRequest* network,
                          const StepTiming* timing);

    std::map<std::string, StepTiming> m_alone;               ///< by canonical groups
    std::map<std::string, std::vector<AlikeGroups>> m_alike; ///< by CallsOf
};

/// Returns the times of a plan in which nothing needs the network. Throws Error on a plan that
/// sends something.
PlanTiming TimeWithoutNetwork(const StepPlan& plan);

} // namespace legacy::fabric
