// A client clock prices what a client computes in a task, by the profile of its device: decoding of
// the model, local steps, and encoding of its update (docs/clock.md). Servers compute in no time.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "compress/unit.h"
#include "compress/work.h"
#include "ns3-module/fabric/population/population.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/client_work.h"
#include "trainer/clock/clock.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/federated/aggregator.h"
#include "trainer/optimizer.h"

namespace legacy {

// A LocalBatches says how often a task steps: whole batches of `size` samples, and short ones of
// `rest`, with which an epoch ends.
struct LocalBatches {
  int64_t size = 0;
  int64_t whole = 0;
  int64_t rest = 0;
  int64_t shorts = 0;
};
// Returns the batches of `steps` steps over `samples` > 0 samples, epoch by epoch.
LocalBatches BatchesOf(int64_t samples, int64_t batch_size, int64_t steps);

// Returns what local steps do with that optimizer, norm to which gradients are clipped (0: they are
// not) and rule of an algorithm, for a model of that many elements.
LocalStepWork LocalStepWorkOf(OptimizerKind optimizer, double clip, const ClientRule& rule,
                              int64_t elements);

// ClientSeconds are the parts of a task's work.
struct ClientSeconds {
  double decode = 0;
  double local = 0;
  double encode = 0;

  TimeNs Total() const { return RoundedTime((decode + local + encode) * 1e9); }
};

// A TaskComputing is what a task computes.
struct TaskComputing {
  int64_t samples = 0;  // of the client
  int64_t batch = 1;    // most samples of a step
  int64_t steps = 0;
  const WorkList& decode;  // of one message of the downlink
  int64_t messages = 0;    // of the downlink
  const WorkList& encode;
};

// A ClientClock is of one model.
class ClientClock {
 public:
  // Throws Error on profiles that do not exist, or do not price an operation.
  ClientClock(const Scenario& scenario, const fabric::Population& population,
              std::vector<OperationCost> costs, std::span<const Unit> layers,
              LocalStepWork step_work);

  // Returns the seconds of a task of a client.
  ClientSeconds SecondsOf(int64_t client, const TaskComputing& task);
  // Return the seconds of work of codecs, and of updates of weights.
  double CodecSeconds(int64_t client, const WorkList& work);
  double UpdateSeconds(int64_t client, const WorkList& work);

 private:
  struct Device {
    explicit Device(Clock priced) : clock(std::move(priced)) {}
    Clock clock;
    std::map<int64_t, double> step_seconds;  // by samples of the step
  };

  Device& DeviceOf(int64_t client);
  double StepSeconds(Device& device, int64_t samples) const;

  const fabric::Population& population_;
  std::string common_;  // profile of clients without one
  LocalStepWork step_work_;
  std::map<std::string, Device> devices_;
};

}  // namespace legacy
