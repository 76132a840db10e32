#include "scenarios/federated/server_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "ns3-module/fabric/engine/lone-transfer.h"
#include "ns3-module/fabric/population/client-network.h"
#include "ns3-module/fabric/tasks/task-graph.h"
#include "scenarios/federated/plan_parts.h"

namespace legacy {
namespace {

using fabric::DirectedLink;

// Paths of clients to and from the server. They are made when they are first asked for: a round
// among a million clients uses only the paths of the few that take part.
class ClientPaths {
 public:
  struct Path {
    fabric::LonePath down;
    fabric::LonePath up;
  };

  ClientPaths(const fabric::ClientNetwork& network, const fabric::Transport& transport)
      : network_(network), transport_(transport), paths_(network.accessLinks.size()) {}

  const Path& Of(int client) {
    Path& path = paths_[client];
    if (path.down.slowest == 0) {
      const int server = network_.placement.NodeOf(network_.serverEndpoint);
      const int node = network_.placement.NodeOf(client);
      path.down = MakeLonePath(network_.topology, transport_, server, node);
      path.up = MakeLonePath(network_.topology, transport_, node, server);
    }
    return path;
  }

 private:
  const fabric::ClientNetwork& network_;
  const fabric::Transport& transport_;
  std::vector<Path> paths_;  // rates of 0: not yet made
};

// A PredictedTask is a task that shares no line, at mean rates.
struct PredictedTask {
  double seconds = 0;
  double opening = 0;  // part of it for handshakes and slow start
};

// The workload of a plan without training: every task has the request's bytes.
class PlannedWorkload : public Workload {
 public:
  explicit PlannedWorkload(const PlanRequest& request)
      : request_(request), seconds_(static_cast<size_t>(request.population.Clients()), -1) {}

  fabric::TaskWork WorkOf(const fabric::TaskStart& start) override {
    return Expected(start.client);
  }
  fabric::TaskWork Expected(int client) override {
    double& seconds = seconds_[client];
    if (seconds < 0) seconds = request_.WorkSeconds(client);
    return {.downBytes = request_.down_bytes,
            .upBytes = request_.up_bytes,
            .work = RoundedTime(seconds * 1e9),
            .lanes = request_.streams};
  }

 private:
  const PlanRequest& request_;
  std::vector<double> seconds_;  // of work, by client; -1: not yet computed
};

// A workload whose tasks work and send less or more, by a remedy's factors.
class RemediedWorkload : public Workload {
 public:
  RemediedWorkload(Workload& workload, const PlanRemedy& remedy)
      : workload_(workload), remedy_(remedy) {}

  fabric::TaskWork WorkOf(const fabric::TaskStart& start) override {
    return Scaled(workload_.WorkOf(start));
  }
  int64_t UpBytesOf(uint64_t task) override { return Bytes(workload_.UpBytesOf(task)); }
  fabric::TaskWork Expected(int client) override { return Scaled(workload_.Expected(client)); }
  std::optional<int64_t> SamplesOf(int client) override { return workload_.SamplesOf(client); }
  std::optional<TaskLoss> Ended(const fabric::TaskRow& row) override {
    return workload_.Ended(row);
  }
  void Round(const fabric::RoundRow& row) override { workload_.Round(row); }
  TaskFigures FiguresOf(const fabric::TaskRow& row) override { return workload_.FiguresOf(row); }

 private:
  int64_t Bytes(int64_t bytes) const {
    if (bytes < 0 || remedy_.bytes == 1) return bytes;  // the number is not yet known
    return static_cast<int64_t>(std::ceil(static_cast<double>(bytes) * remedy_.bytes));
  }
  fabric::TaskWork Scaled(fabric::TaskWork task) const {
    task.downBytes = Bytes(task.downBytes);
    task.upBytes = Bytes(task.upBytes);
    if (remedy_.work != 1) {
      task.work = RoundedTime(static_cast<double>(task.work) * remedy_.work);
    }
    return task;
  }

  Workload& workload_;
  const PlanRemedy& remedy_;
};

// The works of a server: those of a workload, on the clients' paths.
class PlanWorks : public fabric::TaskWorks {
 public:
  PlanWorks(Workload& workload, const PlanRequest& request, ClientPaths& paths)
      : workload_(workload),
        transport_(request.transport),
        opens_(request.fidelity == "packet" || request.fidelity == "flow"),
        paths_(paths) {}

  fabric::TaskWork WorkOf(const fabric::TaskStart& start) override {
    return workload_.WorkOf(start);
  }
  int64_t UpBytesOf(uint64_t task) override { return workload_.UpBytesOf(task); }
  TimeNs Predicted(int client) override { return RoundedTime(Predict(client).seconds * 1e9); }
  PredictedTask Predict(int client) {
    const fabric::TaskWork task = workload_.Expected(client);
    PredictedTask predicted = {.seconds = InSeconds(task.work)};
    const auto add = [&](const fabric::LonePath& path, int64_t bytes, fabric::Opening opening) {
      const fabric::LoneTransfer transfer = {.payload = bytes, .streams = task.lanes};
      predicted.seconds += LoneTransferTime(path, transport_, transfer) * 1e-9;
      if (opens_) predicted.opening += OpeningTime(path, transport_, transfer, opening) * 1e-9;
    };
    const fabric::ConnectionKind kind = transport_.connections;
    const ClientPaths::Path& path = paths_.Of(client);
    add(path.down, task.downBytes, fabric::DownloadOpening(kind));
    add(path.up, task.upBytes, fabric::UploadOpening(kind));
    predicted.seconds += predicted.opening;
    return predicted;
  }

 private:
  Workload& workload_;
  const fabric::Transport& transport_;
  const bool opens_;  // false at fidelities that leave out handshakes and slow start
  ClientPaths& paths_;
};

// Excludes the tenth of the clients with the longest predicted tasks from selection.
void ExcludeSlowTenth(const std::vector<float>& predicted, fabric::Candidates& candidates) {
  std::vector<int32_t> order(predicted.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return predicted[a] > predicted[b]; });
  for (size_t i = 0; i < order.size() / 10; ++i) candidates.SetBusy(order[i], true);
}

std::unique_ptr<fabric::ServerBase> ServerOf(const PlanRequest& request, const PlanRemedy& remedy,
                                             fabric::Candidates& candidates,
                                             fabric::Selection& selection, fabric::TaskWorks& works,
                                             fabric::TaskListener& listener) {
  const auto versions = [&](int64_t own) {
    return remedy.versions > 0 ? std::min(remedy.versions, own) : own;
  };
  if (request.Synchronous()) {
    fabric::SyncOptions options = std::get<fabric::SyncOptions>(request.server);
    options.versions = versions(options.versions);
    return fabric::MakeSyncServer(options, candidates, selection, works, listener);
  }
  fabric::AsyncOptions options = std::get<fabric::AsyncOptions>(request.server);
  options.versions = versions(options.versions);
  return fabric::MakeAsyncServer(options, candidates, selection, works, listener);
}

// The rounds of a synchronous server, or the versions of an asynchronous one.
class ServerRun : public PlanRun, fabric::TaskListener {
 public:
  ServerRun(PlanNetworks& networks, const PlanControl& control, Workload* workload)
      : request_(networks.Request()),
        population_(request_.population),
        remedy_(control.remedy),
        stop_(control.stop),
        keeps_tasks_(control.keeps_tasks),
        network_(networks.With(remedy_)),
        paths_(*network_, request_.transport),
        availability_(population_, request_.availability, request_.seed),
        planned_(request_),
        workload_(workload != nullptr ? *workload : planned_, remedy_),
        works_(workload_, request_, paths_),
        selection_(fabric::MakeSelection(
            request_.selection, request_.seed, "--selection",
            {population_.Clients(), [this](int client) { return works_.Predicted(client); }})),
        risks_(availability_, request_.dropout, request_.detection) {
    GatherCandidates();
    plan_.clients.resize(static_cast<size_t>(population_.Clients()));
    if (remedy_.AsItIs() || remedy_.no_slow_tenth) Predict();
    if (remedy_.no_slow_tenth) ExcludeSlowTenth(plan_.predicted, *candidates_);
    server_ = ServerOf(request_, remedy_, *candidates_, *selection_, works_, *this);
    graph_.emplace(*server_, &risks_, network_->serverEndpoint, request_.transport.connections);
    fabric::EngineRequest engine_request;
    engine_request.topology = &network_->topology;
    engine_request.placement = &network_->placement;
    engine_request.transport = request_.transport;
    engine_request.seed = request_.seed;
    engine_ = request_.engine(engine_request);
    if (control.on_transfer) {
      engine_->SetFlowTrace(
          [told = control.on_transfer](const fabric::Flow&, TimeNs, bool) { told(); });
    }
    engine_->Submit(*graph_, 0);
  }

  const PlannedRound* Next() override {
    ended_.clear();
    round_ended_ = false;
    try {
      while (!round_ended_ && !graph_->Done()) {
        engine_->RunUntil(until_);
        if (!round_ended_) until_ = Later(until_, kPart);
      }
    } catch (const fabric::DeadLink& dead) {
      ThrowWithClients(dead, *network_, population_);
    }
    if (!round_ended_) return nullptr;
    const PlannedRound& round = plan_.rounds.back();
    workload_.Round(round.row);
    if (round.row.made) {
      selection_->OnVersion(round.row.version);
      ++plan_.versions;
    }
    return &round;
  }

  std::span<const EndedTask> Tasks() const override { return ended_; }

  Plan Finish() override {
    plan_.stop = server_->StopReason();
    plan_.interrupted = stop_ != nullptr && *stop_ != 0;
    plan_.counters = engine_->Counters();
    plan_.most_live = graph_->MostLive();
    const std::vector<fabric::LinkCounters> links = engine_->Links();
    for (size_t link = 0; link < links.size(); ++link) {
      const double usd = network_->topology.PortOf(static_cast<DirectedLink>(link)).usdPerGb;
      plan_.link_usd += usd * static_cast<double>(links[link].bytes) * 1e-9;
    }
    if (remedy_.AsItIs()) {
      const double end = plan_.rounds.empty() ? 0 : InSeconds(plan_.rounds.back().row.end);
      plan_.links = LinksOf(request_, *network_, links, end);
    }
    plan_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    return std::move(plan_);
  }

 private:
  // The engine runs in parts, because its queue may hold events of long after the last round.
  static constexpr TimeNs kPart = fabric::kDay;

  // A client that has no samples takes no part.
  void GatherCandidates() {
    std::vector<int64_t> samples;
    for (int64_t client = 0; client < population_.Clients(); ++client) {
      const auto own = workload_.SamplesOf(static_cast<int>(client));
      samples.push_back(own.value_or(population_.SamplesOf(client)));
    }
    candidates_.emplace(population_.Clients(), availability_,
                        selection_->ReadsWeights() ? samples : std::vector<int64_t>());
    for (size_t client = 0; client < samples.size(); ++client) {
      if (samples[client] == 0) candidates_->SetBusy(static_cast<int64_t>(client), true);
    }
  }
  void Predict() {
    for (size_t client = 0; client < plan_.clients.size(); ++client) {
      const PredictedTask predicted = works_.Predict(static_cast<int>(client));
      plan_.predicted.push_back(static_cast<float>(predicted.seconds));
      plan_.opening.push_back(static_cast<float>(predicted.opening));
    }
  }

  void OnTask(const fabric::TaskRow& row) override {
    const double seconds = InSeconds(row.times.ended - row.times.dispatched);
    const TaskCost cost = CostOf(row, seconds);
    const int64_t wire_down = request_.transport.WireBytes(row.times.carriedDown);
    const int64_t wire_up = request_.transport.WireBytes(row.times.carriedUp);
    const bool counted = row.fate == fabric::TaskFate::Counted;
    round_.wire_down += wire_down;
    round_.wire_up += wire_up;
    round_.cost.usd_down += cost.usd_down;
    round_.cost.usd_up += cost.usd_up;
    round_.cost.usd_hours += cost.usd_hours;
    round_.client_seconds += seconds;
    if (counted) {
      round_.work_seconds += InSeconds(row.times.worked - row.times.downloaded);
      round_.counted_seconds += seconds;
    }
    ClientTotals& client = plan_.clients[row.client];
    ++client.tasks;
    client.counted += counted;
    client.busy_seconds += seconds;
    client.wire_down += wire_down;
    client.wire_up += wire_up;
    client.usd += cost.usd_down + cost.usd_up + cost.usd_hours;
    if (counted) client.last_staleness = row.staleness;
    plan_.short_tasks.push_back({row.client, row.fate, static_cast<float>(seconds)});
    if (plan_.tasks.size() < kMostTaskRows) plan_.tasks.push_back(row);
    const TaskFigures figures = workload_.FiguresOf(row);
    if (keeps_tasks_) ended_.push_back({row, figures});
    if (const std::optional<TaskLoss> loss = workload_.Ended(row)) {
      selection_->Observe({.client = row.client,
                           .loss = loss->mean,
                           .squaredLoss = loss->squares,
                           .samples = figures.samples,
                           .time = row.times.ended - row.times.dispatched});
    }
  }

  // The server pauses after this call.
  void OnRound(const fabric::RoundRow& row) override {
    round_.row = row;
    round_.first_task = next_task_;
    next_task_ = static_cast<int64_t>(plan_.short_tasks.size());
    round_.tasks = next_task_ - round_.first_task;
    if (request_.Synchronous()) {
      round_.counted_seconds = static_cast<double>(row.fates[0]) * InSeconds(row.end - row.start);
    }
    plan_.rounds.push_back(std::exchange(round_, PlannedRound()));
    round_ended_ = true;
  }

  bool Stop() const override { return stop_ != nullptr && *stop_ != 0; }

  TaskCost CostOf(const fabric::TaskRow& row, double seconds) {
    const ClientPaths::Path& path = paths_.Of(row.client);
    const auto usd = [&](int64_t payload, double there, double back) {
      return (static_cast<double>(request_.transport.WireBytes(payload)) * there +
              static_cast<double>(request_.transport.AckWireBytes(payload)) * back) *
             1e-9;
    };
    return {.usd_down = usd(row.times.carriedDown, path.down.usdPerGb, path.up.usdPerGb),
            .usd_up = usd(row.times.carriedUp, path.up.usdPerGb, path.down.usdPerGb),
            .usd_hours = seconds / 3600 * population_.UsdPerHourOf(row.client)};
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const PlanRequest& request_;
  const fabric::Population& population_;
  const PlanRemedy remedy_;
  const StopFlag* const stop_;
  const bool keeps_tasks_;
  const std::shared_ptr<const fabric::ClientNetwork> network_;
  ClientPaths paths_;
  const fabric::ClientAvailability availability_;
  PlannedWorkload planned_;
  RemediedWorkload workload_;
  PlanWorks works_;
  const std::unique_ptr<fabric::Selection> selection_;
  const fabric::ClientRisks risks_;
  std::optional<fabric::Candidates> candidates_;
  std::unique_ptr<fabric::ServerBase> server_;
  std::optional<fabric::TaskGraph> graph_;
  std::unique_ptr<fabric::Engine> engine_;
  TimeNs until_ = kPart;
  Plan plan_;
  PlannedRound round_;  // round in progress
  int64_t next_task_ = 0;
  bool round_ended_ = false;      // true if a round ended in the last call of Next()
  std::vector<EndedTask> ended_;  // tasks that ended in the last call of Next()
};

// A listener that does nothing.
class NoListener : public fabric::TaskListener {
  void OnTask(const fabric::TaskRow&) override {}
  void OnRound(const fabric::RoundRow&) override {}
};

}  // namespace

void CheckServerPlan(PlanNetworks& networks) {
  const PlanRequest& request = networks.Request();
  const auto network = networks.With({});
  const fabric::ClientAvailability availability(request.population, request.availability,
                                                request.seed);
  fabric::Candidates candidates(request.population.Clients(), availability);
  PlannedWorkload planned(request);
  ClientPaths paths(*network, request.transport);
  PlanWorks works(planned, request, paths);
  const auto selection =
      fabric::MakeSelection(request.selection, request.seed, "--selection",
                            {request.population.Clients(), [](int) { return TimeNs{0}; }});
  NoListener listener;
  ServerOf(request, {}, candidates, *selection, works, listener);
}

std::unique_ptr<PlanRun> StartServerPlan(PlanNetworks& networks, const PlanControl& control,
                                         Workload* workload) {
  return std::make_unique<ServerRun>(networks, control, workload);
}

}  // namespace legacy
