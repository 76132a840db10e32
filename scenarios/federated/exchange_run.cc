#include "scenarios/federated/exchange_run.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "scenarios/federated/exchange_plan.h"
#include "trainer/clock/clock.h"

namespace legacy {
namespace {

// A RankClock computes the times of a version, whose workers are ranks, from the clients' devices.
class RankClock : public StepClock {
 public:
  // `overlap` is the number of local steps that clients make while an exchange is in progress.
  RankClock(ClientClock& clients, ExchangeLearner& learner, const std::vector<int>& order,
            const TransferOptions& transfers, const PlanRemedy& remedy, int64_t overlap)
      : StepClock(transfers),
        clients_(clients),
        learner_(learner),
        order_(order),
        remedy_(remedy),
        overlap_(overlap) {}

  // Begins a version.
  void Begin() { made_.assign(order_.size(), 0); }

  // Takes the next exchange of the version, whose times Price then computes.
  void Take(const StepWork& work) {
    before_.clear();
    meanwhile_.clear();
    for (size_t rank = 0; rank < order_.size(); ++rank) {
      const int64_t end = made_[rank] + work.local_steps.at(rank), sent = end - overlap_;
      before_.push_back(clients_.UpdateSeconds(order_[rank], work.update.value_or(WorkList())) +
                        (LocalSeconds(work, rank, sent) - LocalSeconds(work, rank, made_[rank])));
      meanwhile_.push_back(LocalSeconds(work, rank, end) - LocalSeconds(work, rank, sent));
      made_[rank] = end;
    }
    if (!remedy_.no_slow_tenth) return;
    CutSlowest(before_);
    CutSlowest(meanwhile_);
  }

  std::vector<TimeNs> ComputeTimes(int64_t, int64_t, int64_t,
                                   std::span<const double> factors) const override {
    return std::vector<TimeNs>(factors.size());  // known only with the step
  }

 private:
  // Returns the seconds of the first `steps` local steps of a version.
  double LocalSeconds(const StepWork& work, size_t rank, int64_t steps) const {
    const int client = order_[rank];
    const int64_t samples = learner_.SamplesOf(client).value_or(0);
    return clients_
        .SecondsOf(client, {.samples = samples,
                            .batch = work.batch_size,
                            .steps = steps,
                            .decode = {},
                            .encode = {}})
        .local;
  }

  std::vector<StepSeconds> SecondsOf(const StepWork& work) const override {
    std::vector<StepSeconds> all;
    for (int rank = 0; rank < work.workers; ++rank) all.push_back(SecondsAt(work, rank));
    return all;
  }

  StepSeconds SecondsAt(const StepWork& work, int rank) const {
    const int client = order_[static_cast<size_t>(rank)];
    const auto codec = [&](const WorkList& list) {
      return remedy_.work * clients_.CodecSeconds(client, list);
    };
    StepSeconds seconds;
    seconds.before = remedy_.work * before_[static_cast<size_t>(rank)];
    if (overlap_ == 0) seconds.whole = codec(work.whole_gradient);
    for (const BucketWork& bucket : work.buckets) {
      StepSeconds::Bucket& priced = seconds.buckets.emplace_back();
      for (const SentCall& call : bucket.calls) {
        priced.encode.push_back(codec(call.encode));
        priced.decode.push_back(codec(call.decode));
      }
    }
    if (overlap_ > 0) {
      // The device encodes, and then continues with local steps.
      seconds.buckets.front().encode.front() += codec(work.whole_gradient);
      seconds.after = remedy_.work * meanwhile_[static_cast<size_t>(rank)];
    }
    return seconds;
  }

  ClientClock& clients_;
  ExchangeLearner& learner_;
  const std::vector<int>& order_;
  const PlanRemedy& remedy_;
  const int64_t overlap_;
  // By rank: the number of local steps of the version so far, and the seconds of those of the
  // exchange's turn, up to the exchange's beginning and during it.
  std::vector<int64_t> made_;
  std::vector<double> before_, meanwhile_;
};

// Orders the bytes from each client to each by their ranks.
void PermutePairs(const std::vector<int>& order, std::vector<int64_t>& pairs) {
  if (pairs.empty()) return;
  const size_t clients = order.size();
  std::vector<int64_t> ranked;
  for (const int from : order) {
    for (const int to : order) {
      ranked.push_back(pairs.at(static_cast<size_t>(from) * clients + static_cast<size_t>(to)));
    }
  }
  pairs = std::move(ranked);
}

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
      PermutePairs(order, call.pair_bytes);
      call.root = static_cast<int>(std::ranges::find(order, call.root) - order.begin());
    }
  }
  return work;
}

// The rounds of a training: what its learner sends in each version.
class TrainedRounds : public ExchangeRun {
 public:
  TrainedRounds(PlanNetworks& networks, const PlanControl& control, const ExchangeJob& job,
                ExchangeLearner& learner, int64_t overlap, const LocalStepWork& step_work)
      : ExchangeRun(
            networks, control,
            control.remedy.versions > 0 ? control.remedy.versions : networks.Request().Versions(),
            learner.Fragments()),
        learner_(learner),
        remedy_(control.remedy),
        clients_(job.scenario, request().population, {job.costs.begin(), job.costs.end()},
                 job.layers, step_work),
        clock_(clients_, learner, network().Order(), network().Transfers(), remedy_, overlap) {}

  const PlannedRound* Next() override {
    const PlannedRound* const round = ExchangeRun::Next();
    if (round == nullptr) tasks_.clear();  // none has ended in this call
    return round;
  }
  std::span<const EndedTask> Tasks() const override { return tasks_; }

 private:
  const fabric::StepTraffic& NextTraffic() override {
    if (left_.empty()) Begin();
    work_ = ByRank(left_.front(), network().Order());
    left_ = left_.subspan(1);
    for (BucketWork& bucket : work_.buckets) {
      for (SentCall& call : bucket.calls) {
        Scale(call.bytes);
        Scale(call.pair_bytes);
      }
    }
    clock_.Take(work_);
    priced_ = clock_.Price(work_, {});
    return priced_.traffic;
  }

  void Timed(const fabric::StepTiming& timing, TimeNs start) override {
    for (int rank = 0; rank < network().Ranks(); ++rank) {
      EndedTask& task = tasks_[static_cast<size_t>(network().Order()[static_cast<size_t>(rank)])];
      task.row.work.upBytes += work_.MessageBytes(rank);
      task.row.times.worked = Later(start, priced_.traffic.deviceFree[rank]);
      task.row.times.ended = Later(start, timing.finish[rank]);
      task.figures.local_steps += work_.local_steps[static_cast<size_t>(rank)];
    }
    const StepSplit split = SplitStep(priced_, timing).mean;
    split_.compute += InSeconds(split.compute);
    split_.encode += InSeconds(split.encode);
    split_.decode += InSeconds(split.decode);
    split_.communication += InSeconds(split.communication);
    split_.wait += InSeconds(split.wait);
    for (const fabric::BucketTraffic& bucket : priced_.traffic.buckets) {
      for (const fabric::CallTraffic& call : bucket.calls) {
        split_.nic_bytes += NicBytes(call.collective);
      }
    }
  }

  // A task is a client's part in the version: it has all it needs from the start, and ends when it
  // has decoded what all clients exchanged.
  void Complete(PlannedRound& round) override {
    round.split = split_;
    for (size_t client = 0; client < tasks_.size(); ++client) {
      auto& [row, figures] = tasks_[client];
      row.id = static_cast<uint64_t>(round.row.version - 1) * tasks_.size() + client;
      row.client = static_cast<int>(client);
      row.baseVersion = round.row.version - 1;
      row.fate = fabric::TaskFate::Counted;
      row.times.dispatched = row.times.downloaded = round.row.start;
      figures.samples = learner_.SamplesOf(row.client).value_or(0);
    }
  }

  void Begin() {
    left_ = learner_.Next();
    clock_.Begin();
    tasks_.assign(static_cast<size_t>(network().Ranks()), {});
    split_ = {};
  }
  void Scale(std::vector<int64_t>& bytes) const {
    if (remedy_.bytes == 1) return;
    for (int64_t& count : bytes) {
      count = static_cast<int64_t>(std::ceil(static_cast<double>(count) * remedy_.bytes));
    }
  }

  ExchangeLearner& learner_;
  const PlanRemedy remedy_;
  ClientClock clients_;
  RankClock clock_;
  // For the version in progress: the exchanges that are left, and the sums over the others.
  std::span<const StepWork> left_;
  std::vector<EndedTask> tasks_;  // by client
  ExchangeSplit split_;
  StepWork work_;  // of the exchange in progress, by rank
  PricedStep priced_;
};

}  // namespace

std::unique_ptr<PlanRun> StartExchangeTraining(PlanNetworks& networks, const PlanControl& control,
                                               const ExchangeJob& job, ExchangeLearner& learner) {
  const Unit& last = job.layers.back();
  // What an algorithm adds to local steps does not depend on the model.
  const auto aggregator = MakeAggregator(job.method.algorithm, {.numel = 1});
  const LocalStepWork step_work =
      LocalStepWorkOf(job.scenario.optimizer->kind, job.scenario.clip_worker,
                      aggregator->Traits().client, last.offset + last.numel);
  return std::make_unique<TrainedRounds>(networks, control, job, learner,
                                         aggregator->Traits().overlap, step_work);
}

}  // namespace legacy
