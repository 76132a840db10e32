#include "scenarios/network/jobs/job_graph.h"

#include "ns3-module/fabric/step/plan-parts.h"

namespace legacy {
namespace {

// A step's device may ask for a wake-up that it no longer needs when the step ends. Bits that no
// token uses say for which of the last steps it is.
constexpr int kRoundShift = 56;
constexpr uint64_t kRounds = 64;
constexpr uint64_t kRoundMask = (kRounds - 1) << kRoundShift;

fabric::Flow Moved(fabric::Flow flow, int endpoints) {
  flow.source += endpoints;
  flow.destination += endpoints;
  return flow;
}

// Returns the exposed time of a step by stream, as a mean over its workers.
std::vector<TimeNs> MeanExposed(const fabric::StepGraph& step) {
  std::vector<TimeNs> sums(step.Plan().streams.size(), 0);
  const std::vector<fabric::StepParts> all = fabric::PartsOf(step.Plan(), step.Times());
  for (const fabric::StepParts& parts : all) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += parts.exposed[i];
  }
  for (TimeNs& sum : sums) sum /= std::ssize(all);
  return sums;
}

}  // namespace

// A Sink translates flows between the job's own endpoints to flows between the endpoints of all
// jobs.
class JobGraph::Sink : public fabric::FlowSink {
 public:
  Sink(fabric::FlowSink& sink, int first, uint64_t round)
      : sink_(sink), first_(first), round_(round << kRoundShift) {}
  TimeNs Now() const override { return sink_.Now(); }
  void Send(const fabric::Flow& flow) override { sink_.Send(Moved(flow, first_)); }
  void Wake(TimeNs delay, uint64_t token) override { sink_.Wake(delay, token | round_); }
  int64_t Abort(const fabric::Flow& flow) override { return sink_.Abort(Moved(flow, first_)); }
  void Pause() override { sink_.Pause(); }

 private:
  fabric::FlowSink& sink_;
  const int first_;
  const uint64_t round_;
};

void JobGraph::OnStart(fabric::FlowSink& sink) {
  listener_.Started(job_);
  MakeStep(sink);
  Tell(sink, [](fabric::StepGraph& step, fabric::FlowSink& own) { step.OnStart(own); });
}

void JobGraph::OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) {
  Tell(sink, [&](fabric::StepGraph& step, fabric::FlowSink& own) {
    step.OnDelivered(Moved(flow, -first_endpoint_), own);
  });
}

void JobGraph::OnWake(uint64_t token, fabric::FlowSink& sink) {
  if ((token & kRoundMask) >> kRoundShift != round_) return;
  Tell(sink, [&](fabric::StepGraph& step, fabric::FlowSink& own) {
    step.OnWake(token & ~kRoundMask, own);
  });
}

void JobGraph::MakeStep(const fabric::FlowSink& sink) {
  round_ = (round_ + 1) % kRounds;
  began_ = sink.Now();
  step_ = std::make_unique<fabric::StepGraph>(steps_.traffic(done_));
}

template <class Call>
void JobGraph::Tell(fabric::FlowSink& sink, Call call) {
  {
    Sink own(sink, first_endpoint_, round_);
    call(*step_, own);
  }
  while (step_->Done()) {
    done_ = listener_.Ended(job_, sink.Now(), MeanExposed(*step_), sink);
    leaves_ = leaves_ || sink.Now() == began_;
    if (Done()) return;
    MakeStep(sink);
    Sink own(sink, first_endpoint_, round_);
    step_->OnStart(own);
  }
}

}  // namespace legacy
