#include "scenarios/network/jobs/jobs_run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/error.h"
#include "scenarios/network/fairness.h"
#include "scenarios/network/jobs/job_graph.h"

namespace legacy {
namespace {

// A ChosenJob takes part in a run.
struct ChosenJob {
  size_t job = 0;  // of PreparedJobs
  size_t method = 0;
  TimeNs start = 0;
};

// A JobsCount counts the steps of the jobs of a run. Once their state recurs, it takes whole
// periods as done: the times of later steps are shifted by them, and nothing else differs.
class JobsCount : public JobListener {
 public:
  // A Job is what is counted of a job.
  struct Job {
    int64_t measured = 0;  // steps
    bool leaves = true;    // after them
    int64_t steady_from = 0;
    JobTiming timing = {};  // with the steps after the measured ones
    bool started = false;
    int64_t since = 0;  // steps before the last change among the jobs

    int64_t Done() const { return std::ssize(timing.ends); }
    bool Left() const { return leaves && Done() >= measured; }
  };

  // `origin` is the start of the run, and `recurs` says whether steps may be taken as done.
  JobsCount(std::vector<Job> jobs, TimeNs origin, bool recurs)
      : jobs_(std::move(jobs)),
        origin_(origin),
        recurs_(recurs),
        endless_(std::ranges::any_of(jobs_, [](const Job& job) { return !job.leaves; })) {}

  void Started(size_t job) override {
    jobs_[job].started = true;
    Change();
  }

  int64_t Ended(size_t number, TimeNs now, std::vector<TimeNs> exposed,
                fabric::FlowSink& sink) override {
    Job& job = jobs_[number];
    job.timing.ends.push_back(now - origin_ + shift_);
    job.timing.exposed.push_back(std::move(exposed));
    if (job.Left()) Change();
    if (recurs_ && !Finished() && number == FirstThere()) Skip(now);
    if (endless_ && Finished()) sink.Pause();
    return job.Done();
  }

  // True where all jobs have done their measured steps.
  bool Finished() const {
    return std::ranges::all_of(jobs_, [](const Job& job) { return job.Done() >= job.measured; });
  }

  const std::vector<Job>& jobs() const { return jobs_; }
  const std::optional<FoundRecurrence>& found() const { return found_; }
  // Returns the time that was not simulated.
  TimeNs shift() const { return shift_; }

 private:
  // Notes that another set of jobs runs from now on.
  void Change() {
    for (Job& job : jobs_) job.since = job.Done();
  }

  size_t FirstThere() const {
    size_t job = 0;
    while (jobs_[job].Left()) ++job;
    return job;
  }

  // Looks for a recurrence among the jobs that are there.
  std::optional<Recurrence> Find() const {
    std::vector<std::span<const TimeNs>> ends;
    for (const Job& job : jobs_) {
      if (!job.started) return std::nullopt;
      if (job.Left()) continue;
      const int64_t from = std::max(job.since, job.steady_from);
      if (from >= job.Done()) return std::nullopt;
      ends.push_back(std::span(job.timing.ends).subspan(static_cast<size_t>(from)));
    }
    return FindRecurrence(ends);
  }

  void Skip(TimeNs now) {
    std::optional<Recurrence> found = Find();
    if (!found) return;
    std::vector<Job*> there;
    for (Job& job : jobs_) {
      if (!job.Left()) there.push_back(&job);
    }
    int64_t wanted = 0;           // periods, until all have done their steps
    int64_t allowed = INT64_MAX;  // before the last step of a job that leaves
    for (size_t i = 0; i < there.size(); ++i) {
      const int64_t left = there[i]->measured - there[i]->Done();
      const int64_t steps = found->steps[i];
      wanted = std::max(wanted, (left + steps - 1) / steps);
      if (there[i]->leaves) allowed = std::min(allowed, (left - 1) / steps);
    }
    const int64_t periods = std::min(wanted, allowed);
    if (periods <= 0) return;
    int64_t skipped = 0;
    for (size_t i = 0; i < there.size(); ++i) {
      Repeat(*there[i], found->steps[i], periods, found->period);
      skipped += periods * found->steps[i];
    }
    if (!found_) {
      found_ = FoundRecurrence{.recurrence = *found, .at = now - origin_ + shift_};
      found_->recurrence.steps = ByJob(found->steps);
    }
    found_->skipped += skipped;
    shift_ += periods * found->period;
    Change();
  }

  // Returns the steps of a period by all jobs of the run; 0: of one that has left.
  std::vector<int64_t> ByJob(const std::vector<int64_t>& steps) const {
    std::vector<int64_t> all;
    auto next = steps.begin();
    for (const Job& job : jobs_) all.push_back(job.Left() || next == steps.end() ? 0 : *next++);
    return all;
  }

  // Adds the last `steps` steps of a job again, `periods` times.
  static void Repeat(Job& job, int64_t steps, int64_t periods, TimeNs period) {
    for (int64_t i = 0; i < steps * periods; ++i) {
      const size_t before = job.timing.ends.size() - static_cast<size_t>(steps);
      job.timing.ends.push_back(job.timing.ends[before] + period);
      job.timing.exposed.push_back(job.timing.exposed[before]);
    }
  }

  std::vector<Job> jobs_;
  TimeNs origin_;
  bool recurs_;
  bool endless_;
  TimeNs shift_ = 0;
  std::optional<FoundRecurrence> found_;
};

// A JobsRunner runs jobs on engines of one fidelity.
class JobsRunner {
 public:
  JobsRunner(const PreparedJobs& prepared, Fidelity fidelity)
      : prepared_(prepared), factory_(FactoryOf(fidelity, "--fidelity")) {}

  // A Result is what a run of several jobs gives.
  struct Result {
    std::vector<JobTiming> jobs;
    std::optional<FoundRecurrence> recurrence;
    fabric::StepTiming timing;
  };

  Result Run(const std::vector<ChosenJob>& chosen) const {
    const fabric::EngineRequest& request = prepared_.network->request;
    const auto engine = factory_(request);
    const auto background = request.background ? request.background(0) : nullptr;
    engine->SetScheduleTime(0);
    if (background) engine->SubmitBackground(*background, 0);
    if (request.transport.WarmsUp() && !engine->StartsWarm()) {
      JobsCount unread = CountOf(chosen, 1, *engine);
      RunOnce(chosen, *engine, unread, 1);
      engine->SetScheduleTime(0);
    }
    const fabric::EngineCounters counters = engine->Counters();
    const std::vector<fabric::LinkCounters> links = engine->Links();
    JobsCount count = CountOf(chosen, 0, *engine);
    RunOnce(chosen, *engine, count, 0);
    Result result;
    result.recurrence = count.found();
    for (const JobsCount::Job& job : count.jobs()) {
      result.jobs.push_back(job.timing);
      result.jobs.back().ends.resize(static_cast<size_t>(job.measured));
      result.jobs.back().exposed.resize(static_cast<size_t>(job.measured));
      result.timing.total = std::max(result.timing.total, result.jobs.back().ends.back());
    }
    result.timing.total -= count.shift();
    result.timing.counters = fabric::Difference(engine->Counters(), counters);
    result.timing.links = fabric::Difference(engine->Links(), links);
    return result;
  }

 private:
  // `steps` is the number of steps of each job; 0: their own.
  JobsCount CountOf(const std::vector<ChosenJob>& chosen, int64_t steps,
                    const fabric::Engine& engine) const {
    std::vector<JobsCount::Job> jobs;
    for (const ChosenJob& one : chosen) {
      const PlacedJob& placed = prepared_.jobs[one.job];
      JobsCount::Job job;
      job.measured = steps > 0 ? steps : placed.request.steps;
      job.leaves = steps > 0 || placed.request.leaves;
      job.steady_from = placed.steps[one.method].steady_from;
      job.timing.start = one.start;
      jobs.push_back(std::move(job));
    }
    const bool recurs =
        !engine.Random() && !engine.DependsOnTime() && !prepared_.network->request.background;
    return {std::move(jobs), engine.Now(), recurs};
  }

  void RunOnce(const std::vector<ChosenJob>& chosen, fabric::Engine& engine, JobsCount& count,
               int64_t steps) const {
    const TimeNs now = engine.Now();
    std::vector<std::unique_ptr<JobGraph>> graphs;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const PlacedJob& job = prepared_.jobs[chosen[i].job];
      const int64_t least = steps > 0 ? steps : job.request.steps;
      graphs.push_back(std::make_unique<JobGraph>(i, job.steps[chosen[i].method],
                                                  job.first_endpoint, least,
                                                  steps > 0 || job.request.leaves, count));
      engine.Submit(*graphs.back(), Later(now, chosen[i].start));
    }
    if (!engine.RunUntil(kNever) && !count.Finished()) {
      throw Error(engine.Name() + " engine: stopped before all jobs were done");
    }
  }

  const PreparedJobs& prepared_;
  fabric::EngineFactory factory_;
};

// Returns all jobs by one combination of methods, at their own starts.
std::vector<ChosenJob> AllJobs(const PreparedJobs& prepared, const std::vector<size_t>& methods) {
  std::vector<ChosenJob> all;
  for (size_t j = 0; j < methods.size(); ++j) {
    all.push_back({j, methods[j], prepared.jobs[j].request.start});
  }
  return all;
}

// Returns the timings of all jobs without each of them, by the one that is left out. That of the
// job itself is empty.
std::vector<std::vector<JobTiming>> WithoutEach(const JobsRunner& runner,
                                                const std::vector<ChosenJob>& all,
                                                const std::vector<JobTiming>& alone) {
  std::vector<std::vector<JobTiming>> without;
  for (size_t left_out = 0; left_out < all.size(); ++left_out) {
    std::vector<ChosenJob> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    std::vector<JobTiming> timings =
        others.size() == 1 ? std::vector{alone[others.front().job]} : runner.Run(others).jobs;
    timings.emplace(timings.begin() + static_cast<std::ptrdiff_t>(left_out));
    without.push_back(std::move(timings));
  }
  return without;
}

}  // namespace

std::vector<double> JobTiming::MeanExposed() const {
  std::vector<double> means(exposed.front().size(), 0);
  for (const std::vector<TimeNs>& step : exposed) {
    for (size_t i = 0; i < means.size(); ++i) {
      means[i] += static_cast<double>(step[i]) / static_cast<double>(exposed.size());
    }
  }
  return means;
}

double JobsMeasurement::Slowdown(size_t job) const {
  const TimeNs time = alone[job].Time();
  return time > 0 ? static_cast<double>(together[job].Time()) / static_cast<double>(time) : 1;
}

double JobsMeasurement::SlowdownBy(size_t job, size_t other) const {
  const TimeNs time = without[other][job].Time();
  return time > 0 ? static_cast<double>(together[job].Time()) / static_cast<double>(time) : 1;
}

double JobsMeasurement::Fairness() const {
  std::vector<double> speeds;
  for (size_t job = 0; job < alone.size(); ++job) speeds.push_back(1 / Slowdown(job));
  return JainIndex(speeds);
}

std::vector<JobsMeasurement> MeasureJobs(const PreparedJobs& prepared) {
  std::vector<JobsMeasurement> measurements;
  std::vector<std::optional<double>> offsets(prepared.offsets.begin(), prepared.offsets.end());
  if (offsets.empty()) offsets.emplace_back();
  const bool pairs = prepared.pairs && prepared.jobs.size() > 1;
  for (const Fidelity fidelity : prepared.fidelities) {
    const JobsRunner runner(prepared, fidelity);
    std::map<std::pair<size_t, size_t>, JobTiming> alone;  // by job and method
    for (const std::vector<size_t>& methods : prepared.cases) {
      const std::vector<ChosenJob> all = AllJobs(prepared, methods);
      for (const std::optional<double>& offset : offsets) {
        const auto wall = std::chrono::steady_clock::now();
        JobsMeasurement m{.fidelity = fidelity, .methods = methods, .offset = offset};
        for (const ChosenJob& job : all) {
          const auto [known, added] = alone.try_emplace({job.job, job.method});
          if (added) known->second = runner.Run({job}).jobs.front();
          m.alone.push_back(known->second);
        }
        std::vector<ChosenJob> started = all;
        for (size_t j = 0; j < all.size() && offset; ++j) {
          started[j].start += RoundedTime(static_cast<double>(j) * *offset * m.alone[0].Mean());
        }
        JobsRunner::Result result = runner.Run(started);
        m.together = std::move(result.jobs);
        m.recurrence = std::move(result.recurrence);
        m.timing = std::move(result.timing);
        if (pairs) m.without = WithoutEach(runner, all, m.alone);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - wall;
        m.wall_seconds = elapsed.count();
        measurements.push_back(std::move(m));
      }
    }
  }
  return measurements;
}

}  // namespace legacy
