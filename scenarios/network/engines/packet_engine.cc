#include "scenarios/network/engines/packet_engine.h"

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "scenarios/network/engines/packet_process.h"

namespace legacy {
namespace {

using wire::Frame;
using wire::Kind;

// A CallSink collects what a graph asks for in a callback. Withdrawals are asked for at once.
class CallSink : public fabric::FlowSink {
 public:
  CallSink(PacketProcess& process, TimeNs now) : process_(process), now_(now) {}

  TimeNs Now() const override { return now_; }
  void Send(const fabric::Flow& flow) override {
    answer_.commands.push_back({wire::Command::What::Send, flow, 0, 0});
  }
  void Wake(TimeNs delay, uint64_t token) override {
    answer_.commands.push_back({wire::Command::What::Wake, {}, delay, token});
  }
  void Pause() override { answer_.commands.push_back({wire::Command::What::Pause, {}, 0, 0}); }
  int64_t Abort(const fabric::Flow& flow) override {
    return process_.Ask<int64_t>(Kind::Abort, Kind::Aborted,
                                 wire::Abort{std::exchange(answer_.commands, {}), flow});
  }

  // Answers the callback.
  void Answer(bool done) {
    answer_.done = done;
    process_.Say(Kind::Answer, answer_);
  }

 private:
  PacketProcess& process_;
  const TimeNs now_;
  wire::Answer answer_;
};

// A PacketProgramEngine is an engine of legacy-packet. Steps run there as a whole; of other graphs
// every callback comes here.
class PacketProgramEngine : public fabric::Engine {
 public:
  PacketProgramEngine(const fabric::EngineRequest& request, const wire::Files& files, int number,
                      std::shared_ptr<std::string> lost)
      : lost_(std::move(lost)), process_(TakePacketProcess()) {
    const OnFailure spoils(*process_);
    process_->SetNetwork(*request.topology, *request.placement);
    wire::EngineOrder order;
    order.transport = request.transport;
    if (order.transport.roce) order.roce = *order.transport.roce;
    order.seed = request.seed;
    order.run = request.run;
    order.files = files;
    order.number = number;
    process_->OnNews([this](const wire::FlowNews& news) { Tell(news); });
    facts_ = process_->Ask<wire::EngineFacts>(Kind::EngineOrder, Kind::EngineFacts, order);
  }

  ~PacketProgramEngine() override {
    if (!process_->Sound()) return;
    try {
      const auto cut = process_->Ask<std::string>(Kind::End, Kind::End);
      if (lost_->empty()) *lost_ = cut;
    } catch (const std::exception&) {
      process_->Spoil();
    }
    process_->OnNews({});
    GiveBack(std::move(process_));
  }

  std::string Name() const override { return "packet"; }
  bool Random() const override { return facts_.random; }
  bool DependsOnTime() const override { return facts_.dependsOnTime || background_; }
  bool StartsWarm() const override { return facts_.startsWarm; }
  std::string Fingerprint() const override { return facts_.fingerprint; }
  void Submit(fabric::FlowGraph& graph, TimeNs start) override { Add(graph, start, false); }
  void SubmitBackground(fabric::FlowGraph& graph, TimeNs start) override {
    background_ = true;
    Add(graph, start, true);
  }
  void SetScheduleTime(TimeNs time) override { process_->Order(Kind::ScheduleTime, time); }
  bool RunUntil(TimeNs until) override;
  TimeNs Now() const override { return now_; }
  fabric::EngineCounters Counters() const override {
    return process_->Ask<fabric::EngineCounters>(Kind::Counters, Kind::Counters);
  }
  std::vector<fabric::LinkCounters> Links() const override {
    return process_->Ask<std::vector<fabric::LinkCounters>>(Kind::Links, Kind::Links);
  }
  std::vector<fabric::LinkActivity> Activity() const override {
    return process_->Ask<std::vector<fabric::LinkActivity>>(Kind::Activity, Kind::Activity);
  }
  fabric::RoceActivity Roce() const override {
    return process_->Ask<fabric::RoceActivity>(Kind::Roce, Kind::Roce);
  }
  void SetFlowTrace(fabric::FlowTrace trace) override {
    if (!trace_ && trace) process_->Order(Kind::TraceFlows);
    trace_ = std::move(trace);
  }
  const fabric::RoceFlow* Delivered() const override { return delivered_ ? &*delivered_ : nullptr; }
  std::string Save() const override { return process_->Ask<std::string>(Kind::Save, Kind::Save); }
  void Restore(const std::string& state) override {
    now_ = process_->Ask<TimeNs>(Kind::Restore, Kind::Restore, state);
  }

 private:
  // Spoils a process where an exception ends what is asked of it.
  class OnFailure {
   public:
    explicit OnFailure(PacketProcess& process)
        : process_(process), exceptions_(std::uncaught_exceptions()) {}
    OnFailure(const OnFailure&) = delete;
    OnFailure& operator=(const OnFailure&) = delete;
    ~OnFailure() {
      if (std::uncaught_exceptions() > exceptions_) process_.Spoil();
    }

   private:
    PacketProcess& process_;
    const int exceptions_;
  };

  void Add(fabric::FlowGraph& graph, TimeNs start, bool background) {
    wire::Submission submission;
    submission.graph = next_++;
    submission.start = start;
    submission.background = background;
    auto* const step = dynamic_cast<fabric::StepGraph*>(&graph);
    if (step != nullptr) submission.step = step->Traffic();
    process_->Order(Kind::Submission, submission);
    step != nullptr ? void(steps_[submission.graph] = step)
                    : void(graphs_[submission.graph] = &graph);
  }
  void Answer(const wire::Call& call);
  void Tell(const wire::FlowNews& news) {
    if (!trace_) return;
    delivered_ = news.roce;
    trace_(news.flow, news.when, news.delivered);
    delivered_.reset();
  }

  std::shared_ptr<std::string> lost_;
  std::unique_ptr<PacketProcess> process_;
  wire::EngineFacts facts_;
  bool background_ = false;
  uint64_t next_ = 0;                              // number of the next graph
  std::map<uint64_t, fabric::StepGraph*> steps_;   // not done yet
  std::map<uint64_t, fabric::FlowGraph*> graphs_;  // others
  TimeNs now_ = 0;
  fabric::FlowTrace trace_;
  std::optional<fabric::RoceFlow> delivered_;
};

bool PacketProgramEngine::RunUntil(TimeNs until) {
  const OnFailure spoils(*process_);
  process_->Say(Kind::Run, until);
  while (true) {
    const Frame frame = process_->Hear();
    if (frame.kind == Kind::Call) {
      Answer(frame.As<wire::Call>());
    } else {
      const auto ran = frame.As<wire::Ran>();
      now_ = ran.now;
      for (const uint64_t number : ran.ended) {
        const auto step = steps_.extract(number);
        if (step.empty()) continue;
        step.mapped()->Adopt(process_->Ask<fabric::StepTiming>(Kind::Timing, Kind::Timing, number));
      }
      return ran.done;
    }
  }
}

void PacketProgramEngine::Answer(const wire::Call& call) {
  const auto found = graphs_.find(call.graph);
  if (found == graphs_.end()) {
    throw Error("callback of graph", std::to_string(call.graph), "graphs that were submitted");
  }
  fabric::FlowGraph& graph = *found->second;
  now_ = call.now;
  CallSink sink(*process_, call.now);
  switch (call.what) {
    case wire::Callback::Start:
      graph.OnStart(sink);
      break;
    case wire::Callback::Delivered:
      graph.OnDelivered(call.flow, sink);
      break;
    case wire::Callback::Wake:
      graph.OnWake(call.token, sink);
      break;
    case wire::Callback::Failed:
      graph.OnFailed(call.flow, sink);
      break;
    case wire::Callback::Continue:
      graph.OnContinue(sink);
      break;
  }
  sink.Answer(graph.Done());
}

}  // namespace

fabric::EngineFactory PacketProgramEngines(const wire::Files& files,
                                           const std::shared_ptr<std::string>& lost) {
  std::unique_ptr<PacketProcess> process = TakePacketProcess();
  process->Order(Kind::CheckFiles, files);
  GiveBack(std::move(process));
  return [files, lost, engines = std::make_shared<int>(0)](const fabric::EngineRequest& request) {
    return std::make_unique<PacketProgramEngine>(request, files, ++*engines, lost);
  };
}

}  // namespace legacy
