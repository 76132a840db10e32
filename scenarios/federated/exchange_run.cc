#include "scenarios/federated/exchange_run.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "scenarios/federated/exchange_plan.h"
#include "trainer/clock/clock.h"

namespace legacy {
namespace {

using fabric::TimeNs;

// Prices a version, whose workers are ranks, by the clients' devices.
class RankClock : public StepClock {
 public:
  RankClock(ClientClock& clients, ExchangeLearner& learner, const std::vector<int>& order,
            const TransferOptions& transfers, const Remedy& remedy)
      : StepClock(transfers),
        clients_(clients),
        learner_(learner),
        order_(order),
        remedy_(remedy) {}

  // Takes the next version, which Price prices.
  void Take(const StepWork& work) {
    local_seconds_.clear();
    for (size_t rank = 0; rank < order_.size(); ++rank) {
      local_seconds_.push_back(LocalSeconds(work, rank));
    }
    if (remedy_.no_slow_tenth) CutSlowest(local_seconds_);
  }

  std::vector<TimeNs> ComputeTimes(int64_t, int64_t, int64_t,
                                   std::span<const double> factors) const override {
    return std::vector<TimeNs>(factors.size());  // known with the step alone
  }

 private:
  double LocalSeconds(const StepWork& work, size_t rank) const {
    const int client = order_[rank];
    const int64_t samples = learner_.SamplesOf(client).value_or(0);
    return clients_.UpdateSeconds(client, work.update.value_or(WorkList())) +
           clients_
               .SecondsOf(client, {.samples = samples,
                                   .batch = work.batch_size,
                                   .steps = work.local_steps.at(rank),
                                   .decode = {},
                                   .encode = {}})
               .local;
  }

  StepSeconds SecondsOf(const StepWork& work, int rank) const override {
    const int client = order_[static_cast<size_t>(rank)];
    const auto codec = [&](const WorkList& list) {
      return remedy_.work * clients_.CodecSeconds(client, list);
    };
    StepSeconds seconds;
    seconds.before = remedy_.work * local_seconds_[static_cast<size_t>(rank)];
    seconds.whole = codec(work.whole_gradient);
    for (const BucketWork& bucket : work.buckets) {
      StepSeconds::Bucket& priced = seconds.buckets.emplace_back();
      for (const SentCall& call : bucket.calls) {
        priced.encode.push_back(codec(call.encode));
        priced.decode.push_back(codec(call.decode));
      }
    }
    return seconds;
  }

  ClientClock& clients_;
  ExchangeLearner& learner_;
  const std::vector<int>& order_;
  const Remedy& remedy_;
  std::vector<double> local_seconds_;  // by rank
};

// Returns the work with the clients in the order of their ranks.
StepWork ByRank(StepWork work, const std::vector<int>& order) {
  const auto permute = [&](std::vector<int64_t>& values) {
    std::vector<int64_t> ranked;
    for (const int client : order) ranked.push_back(values.at(static_cast<size_t>(client)));
    values = std::move(ranked);
  };
  permute(work.local_steps);
  for (BucketWork& bucket : work.buckets) {
    for (SentCall& call : bucket.calls) {
      permute(call.bytes);
      call.root = static_cast<int>(std::ranges::find(order, call.root) - order.begin());
    }
  }
  return work;
}

class LearnerWorkload : public ExchangeWorkload {
 public:
  LearnerWorkload(ExchangeLearner& learner, const ExchangeNetwork& network, RankClock& clock,
                  PlanListener& listener, double bytes)
      : learner_(learner), network_(network), clock_(clock), listener_(listener), bytes_(bytes) {}

  const fabric::StepTraffic& Next() override {
    work_ = ByRank(learner_.Next(), network_.Order());
    for (BucketWork& bucket : work_.buckets) {
      for (SentCall& call : bucket.calls) Scale(call.bytes);
    }
    clock_.Take(work_);
    priced_ = clock_.Price(work_, {});
    return priced_.traffic;
  }

  void Timed(const PlannedRound& round, const fabric::StepTiming& timing) override {
    TellTasks(round, timing);
    const StepSplit split = SplitStep(priced_, timing).mean;
    PlannedRound told = round;
    told.split = {.compute = Seconds(split.compute),
                  .encode = Seconds(split.encode),
                  .decode = Seconds(split.decode),
                  .communication = Seconds(split.communication),
                  .wait = Seconds(split.wait)};
    for (const fabric::BucketTraffic& bucket : priced_.traffic.buckets) {
      for (const fabric::CallTraffic& call : bucket.calls) {
        told.split->nic_bytes += NicBytes(call.collective);
      }
    }
    listener_.OnRound(told);
  }

 private:
  void Scale(std::vector<int64_t>& bytes) const {
    if (bytes_ == 1) return;
    for (int64_t& count : bytes)
      count = static_cast<int64_t>(std::ceil(static_cast<double>(count) * bytes_));
  }

  // A task is a client's part in the version: it has what it needs from the start on, and ends when
  // it has decoded what all exchanged.
  void TellTasks(const PlannedRound& round, const fabric::StepTiming& timing) {
    const int ranks = network_.Ranks();
    std::vector<fabric::TaskRow> tasks(static_cast<size_t>(ranks));
    std::vector<int64_t> steps(tasks.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const int client = network_.Order()[static_cast<size_t>(rank)];
      fabric::TaskRow& task = tasks[static_cast<size_t>(client)];
      task.id = static_cast<uint64_t>((round.row.version - 1) * ranks + client);
      task.client = client;
      task.baseVersion = round.row.version - 1;
      task.fate = fabric::TaskFate::Counted;
      task.work.upBytes = work_.MessageBytes(rank);
      task.times.dispatched = task.times.downloaded = round.row.start;
      task.times.worked = fabric::Later(round.row.start, priced_.traffic.deviceFree[rank]);
      task.times.ended = fabric::Later(round.row.start, timing.finish[rank]);
      steps[static_cast<size_t>(client)] = work_.local_steps[static_cast<size_t>(rank)];
    }
    for (const fabric::TaskRow& task : tasks) {
      listener_.OnTask(task, {.local_steps = steps[static_cast<size_t>(task.client)],
                              .samples = learner_.SamplesOf(task.client).value_or(0)});
    }
  }

  ExchangeLearner& learner_;
  const ExchangeNetwork& network_;
  RankClock& clock_;
  PlanListener& listener_;
  double bytes_;   // factor on what is sent
  StepWork work_;  // by rank
  PricedStep priced_;
};

}  // namespace

Plan RunExchangeTraining(const ExchangeJob& job, ExchangeLearner& learner, PlanListener& listener,
                         const StopFlag* stop) {
  const PlanRequest& request = job.request;
  const ExchangeNetwork network(request, job.remedy);
  const Unit& last = job.layers.back();
  // What an algorithm adds to local steps does not depend on the model.
  const auto aggregator = MakeAggregator(job.method.algorithm, {.numel = 1});
  const LocalStepWork step_work =
      LocalStepWorkOf(job.scenario.optimizer->kind, job.scenario.clip_worker,
                      aggregator->Traits().client, last.offset + last.numel);
  ClientClock clients(job.scenario, request.population, {job.costs.begin(), job.costs.end()},
                      job.layers, step_work);
  RankClock clock(clients, learner, network.Order(), network.Transfers(), job.remedy);
  LearnerWorkload workload(learner, network, clock, listener, job.remedy.bytes);
  const int64_t versions = job.remedy.versions > 0 ? job.remedy.versions : request.Versions();
  return RunExchange(request, network, versions, workload, {}, stop);
}

}  // namespace legacy
