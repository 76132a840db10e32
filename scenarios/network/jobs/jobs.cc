#include "scenarios/network/jobs/jobs.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/files/yaml.h"
#include "base/parse.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/network/input/host_names.h"
#include "scenarios/network/measure.h"

namespace legacy {
namespace {

constexpr size_t kMostJobs = 1024;

std::vector<std::string> JobKeys() {
  std::vector<std::string> keys = {"name", "hosts", "start", "placement"};
  for (const Option<ExperimentOptions>& row : ExperimentRows()) {
    if (row.group == kCollectiveGroup) keys.push_back(row.Name());
  }
  return keys;
}

// Returns what `call` returns. Errors get the location as a prefix, unless they already have it.
template <class Call>
auto At(const std::string& where, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    if (std::string(error.what()).starts_with(where)) throw;
    throw error.Within(where);
  }
}

JobRequest ReadJob(const YAML::Node& map, const std::string& path, size_t number,
                   ExperimentOptions options,
                   const std::map<std::string, std::string>& attributes) {
  JobRequest job;
  job.where = MarkText(path, map.Mark());
  job.name = "job" + std::to_string(number);
  const std::vector<std::string> keys = JobKeys();
  bool workers = false;
  ReadMap(map, "jobs", path, [&](const std::string& key, const YAML::Node& value) {
    ParseChoice(key, "a job's key", keys);
    const std::string text = ScalarText(value, key);
    workers = workers || key == "workers";
    if (key == "name") {
      job.name = text;
    } else if (key == "hosts") {
      job.hosts = SplitList(text);
      if (job.hosts.empty()) throw Error(key, text, "a list of hosts");
    } else if (key == "start") {
      job.start = ParseTime(text, key);
    } else {
      SetOption(options, key, text);
    }
  });
  if (!job.hosts.empty()) {
    const auto hosts = static_cast<int>(job.hosts.size());
    if (workers && options.workers != hosts) {
      throw Error(job.where + "workers", std::to_string(options.workers),
                  std::to_string(hosts) + ", one on each of its hosts, or nothing");
    }
    options.workers = hosts;
  }
  job.experiment = At(job.where, [&] { return ParseExperiment(options, attributes); });
  if (!job.experiment.algorithm) {
    throw Error(job.where + "collective", "auto", "the name of an algorithm, for a job");
  }
  return job;
}

// Returns the nodes of a job's hosts.
std::vector<int> HostsOf(const JobRequest& job, const HostNames& hosts) {
  std::vector<int> nodes;
  for (const std::string& text : job.hosts) {
    const int found = hosts.Find(text, job.where + "hosts");
    if (std::count(nodes.begin(), nodes.end(), found) > 0) {
      throw Error(job.where + "hosts", text, "each host once");
    }
    nodes.push_back(found);
  }
  return nodes;
}

void PlaceJob(PlacedJob& job, const Network& network, const HostNames& hosts, int server,
              std::vector<int>& taken, const NetworkRequest& shared) {
  const fabric::Topology& topology = network.topology;
  const JobRequest& request = job.request;
  fabric::PlacementRequest where =
      NetworkFor(request.experiment, *request.experiment.algorithm).placement;
  where.hosts = HostsOf(request, hosts);
  where.taken = taken;
  where.server = server;
  job.network = std::make_unique<Network>();
  job.network->channels = network.channels;
  job.network->topology = topology;
  job.network->placement =
      At(request.where, [&] { return fabric::MakePlacement(where, job.network->topology); });
  fabric::EngineRequest& alone = job.network->request;
  alone.topology = &job.network->topology;
  alone.placement = &job.network->placement;
  alone.transport = shared.transport;
  alone.seed = shared.seed;
  for (const std::vector<int>* nodes :
       {&job.network->placement.hosts, &job.network->placement.servers}) {
    taken.insert(taken.end(), nodes->begin(), nodes->end());
  }
}

// Returns the number of hosts that the jobs need if the topology has no size of its own: the hosts
// that they name, where "7" and "host7" are the same, and those that they request by number.
int HostsNeeded(const std::vector<JobRequest>& requests) {
  std::set<std::string> named;
  int highest = 0;
  int others = 0;
  for (const JobRequest& request : requests) {
    for (const std::string& text : request.hosts) {
      const std::string number = text.starts_with("host") ? text.substr(4) : text;
      named.insert(number);
      constexpr size_t kDigits = 6;  // no topology of a type has more hosts
      const bool digits = !number.empty() && number.size() <= kDigits &&
                          number.find_first_not_of("0123456789") == std::string::npos;
      highest = std::max(highest, digits ? std::stoi(number) + 1 : 0);
    }
    const fabric::PlacementRequest where =
        NetworkFor(request.experiment, *request.experiment.algorithm).placement;
    others += (request.hosts.empty() ? where.workers : 0) + (where.colocated ? 0 : where.servers);
  }
  return std::max(highest, static_cast<int>(named.size()) + others);
}

// A JobGraph runs the repetitions of a job one after the other, on the job's endpoints among those
// of all jobs.
class JobGraph : public fabric::FlowGraph {
 public:
  explicit JobGraph(const PlacedJob& job) : job_(job) {}

  void OnStart(fabric::FlowSink& sink) override {
    origin_ = sink.Now();
    StartRepetition(sink);
  }

  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override {
    Tell(sink, [&](fabric::StepGraph& step, fabric::FlowSink& own) {
      step.OnDelivered(Moved(flow, -job_.first_endpoint), own);
    });
  }

  void OnWake(uint64_t token, fabric::FlowSink& sink) override {
    Tell(sink, [&](fabric::StepGraph& step, fabric::FlowSink& own) { step.OnWake(token, own); });
  }

  bool Done() const override {
    return ends_.size() == static_cast<size_t>(job_.request.experiment.options.repeat);
  }

  // Returns the timing, with the job's start at `start`.
  JobTiming Timing(TimeNs start) const {
    JobTiming timing{start, {}};
    for (const TimeNs end : ends_) timing.ends.push_back(start + end);
    return timing;
  }

 private:
  // A Sink translates flows between the job's own endpoints to flows between the endpoints of all
  // jobs.
  class Sink : public fabric::FlowSink {
   public:
    Sink(fabric::FlowSink& sink, const PlacedJob& job) : sink_(sink), job_(job) {}
    TimeNs Now() const override { return sink_.Now(); }
    void Send(const fabric::Flow& flow) override { sink_.Send(Moved(flow, job_.first_endpoint)); }
    void Wake(TimeNs delay, uint64_t token) override { sink_.Wake(delay, token); }
    int64_t Abort(const fabric::Flow& flow) override {
      return sink_.Abort(Moved(flow, job_.first_endpoint));
    }
    void Pause() override { sink_.Pause(); }

   private:
    fabric::FlowSink& sink_;
    const PlacedJob& job_;
  };

  static fabric::Flow Moved(fabric::Flow flow, int endpoints) {
    flow.source += endpoints;
    flow.destination += endpoints;
    return flow;
  }

  void StartRepetition(fabric::FlowSink& sink) {
    const Experiment& e = job_.request.experiment;
    step_ = std::make_unique<fabric::StepGraph>(
        TrafficOf(e, *e.algorithm, *job_.network, static_cast<uint64_t>(ends_.size())));
    Tell(sink, [](fabric::StepGraph& step, fabric::FlowSink& own) { step.OnStart(own); });
  }

  template <class Call>
  void Tell(fabric::FlowSink& sink, Call call) {
    Sink own(sink, job_);
    call(*step_, own);
    if (!step_->Done()) return;
    ends_.push_back(sink.Now() - origin_);
    if (!Done()) StartRepetition(sink);
  }

  const PlacedJob& job_;
  TimeNs origin_ = 0;
  std::unique_ptr<fabric::StepGraph> step_;
  std::vector<TimeNs> ends_;  // times since the job's start
};

// Runs the jobs of `chosen` on one engine. `timing` gets total, counters and links.
std::vector<JobTiming> Run(const PreparedJobs& prepared, Fidelity fidelity,
                           const std::vector<size_t>& chosen, fabric::StepTiming& timing) {
  const fabric::EngineRequest& request = prepared.network->request;
  const auto engine = FactoryOf(fidelity, "--fidelity")(request);
  const int runs = request.transport.WarmsUp() && !engine->StartsWarm() ? 2 : 1;
  const auto background = request.background ? request.background(0) : nullptr;
  std::vector<JobTiming> timings;
  for (int run = 0; run < runs; ++run) {
    const TimeNs now = engine->Now();
    const fabric::EngineCounters counters = engine->Counters();
    const std::vector<fabric::LinkCounters> links = engine->Links();
    engine->SetScheduleTime(0);
    if (run == 0 && background) engine->SubmitBackground(*background, now);
    std::vector<std::unique_ptr<JobGraph>> graphs;
    for (const size_t j : chosen) {
      graphs.push_back(std::make_unique<JobGraph>(prepared.jobs[j]));
      engine->Submit(*graphs.back(), Later(now, prepared.jobs[j].request.start));
    }
    if (!engine->RunUntil(kNever)) {
      throw Error(engine->Name() + " engine: stopped before all jobs were done");
    }
    timings.clear();
    timing.total = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
      timings.push_back(graphs[i]->Timing(prepared.jobs[chosen[i]].request.start));
      timing.total = std::max(timing.total, timings.back().ends.back());
    }
    timing.counters = fabric::Difference(engine->Counters(), counters);
    timing.links = fabric::Difference(engine->Links(), links);
  }
  return timings;
}

double SecondsOfPackets(const PreparedJobs& prepared) {
  double seconds = 0;
  for (const PlacedJob& job : prepared.jobs) {
    const Experiment& e = job.request.experiment;
    CostEstimate estimate(*job.network);
    estimate.Add(TrafficOf(e, *e.algorithm, *job.network, 0), e.options.repeat);
    seconds += 2 * estimate.Seconds();  // the jobs run alone, and then together
  }
  return seconds;
}

}  // namespace

std::vector<JobRequest> ReadJobs(const std::string& path, const ExperimentOptions& options,
                                 const std::map<std::string, std::string>& ns3_attributes) {
  const YAML::Node root = ParseYaml(ReadWholeFile(path), path);
  ExperimentOptions defaults = options;
  defaults.jobs = "";
  std::vector<JobRequest> requests;
  std::set<std::string> names;
  ReadMap(root, "", path, [&](const std::string& key, const YAML::Node& jobs) {
    ParseChoice(key, "key", {"jobs"});
    if (!jobs.IsSequence()) throw Error::Refusal("jobs: expected a list of jobs");
    for (const YAML::Node& job : jobs) {
      requests.push_back(ReadJob(job, path, requests.size(), defaults, ns3_attributes));
      if (names.insert(requests.back().name).second) continue;
      throw Error(requests.back().where + "name", requests.back().name, "each name once");
    }
  });
  if (requests.empty() || requests.size() > kMostJobs) {
    throw Error(path + ": jobs", std::to_string(requests.size()),
                "1 to " + std::to_string(kMostJobs) + " jobs");
  }
  return requests;
}

PreparedJobs PrepareJobs(std::vector<JobRequest> requests, const ExperimentOptions& options,
                         const std::map<std::string, std::string>& ns3_attributes) {
  ExperimentOptions of_all;
  for (const Option<ExperimentOptions>& row : ExperimentRows()) {
    const bool shared = row.group != kCollectiveGroup && row.Name() != "jobs";
    if (shared || row.Name() == "seed") row.set(of_all, row.flag, row.get(options));
  }
  const Experiment shared = ParseExperiment(of_all, ns3_attributes);
  fabric::TopologyRequest topology = shared.network.topology;
  topology.hostsNeeded = HostsNeeded(requests);
  PreparedJobs prepared;
  prepared.network = std::make_unique<Network>();
  Network& network = *prepared.network;
  fabric::ImportedTopology imported = fabric::ImportTopology(topology);
  network.topology = std::move(imported.topology);
  network.channels = imported.channels;
  network.numbers = std::move(imported.numbers);
  SayImported(topology.text, imported.report);

  for (JobRequest& request : requests) prepared.jobs.push_back({std::move(request), nullptr, 0});
  const HostNames hosts(network.topology, network.numbers);
  std::vector<int> taken;
  for (const bool own_hosts : {true, false}) {
    for (PlacedJob& job : prepared.jobs) {
      if (job.request.hosts.empty() == own_hosts) continue;
      PlaceJob(job, network, hosts, imported.server, taken, shared.network);
    }
  }
  network.placement.description = std::to_string(prepared.jobs.size()) + " jobs";
  for (PlacedJob& job : prepared.jobs) {
    const fabric::Placement& own = job.network->placement;
    job.first_endpoint = network.placement.Endpoints();
    for (int endpoint = 0; endpoint < own.Endpoints(); ++endpoint) {
      network.placement.hosts.push_back(own.NodeOf(endpoint));
    }
    const Experiment& e = job.request.experiment;
    At(job.request.where,
       [&] { return fabric::StepGraph(TrafficOf(e, *e.algorithm, *job.network, 0)).Done(); });
  }
  MakeReady(network, shared.network);

  prepared.fidelities = shared.fidelities;
  if (shared.automatic) {
    const FidelityChoice choice =
        ChooseFidelity(SecondsOfPackets(prepared), 1, shared.packet_budget);
    if (choice.fidelity == Fidelity::kPacket) prepared.fidelities.push_back(choice.fidelity);
    prepared.fidelity_reason =
        "auto: " + NamesOf(prepared.fidelities, " and ") + "; " + choice.reason;
  }
  for (const Fidelity fidelity : prepared.fidelities) {
    TryEngine(FactoryOf(fidelity, "--fidelity"), network);
  }
  return prepared;
}

double JobsMeasurement::Slowdown(size_t job) const {
  const TimeNs time = alone[job].Time();
  return time > 0 ? static_cast<double>(together[job].Time()) / static_cast<double>(time) : 1;
}

std::vector<JobsMeasurement> MeasureJobs(const PreparedJobs& prepared) {
  std::vector<JobsMeasurement> measurements;
  std::vector<size_t> all;
  for (size_t j = 0; j < prepared.jobs.size(); ++j) all.push_back(j);
  for (const Fidelity fidelity : prepared.fidelities) {
    const auto wall = std::chrono::steady_clock::now();
    JobsMeasurement m;
    m.fidelity = fidelity;
    for (const size_t j : all) {
      fabric::StepTiming unread;
      m.alone.push_back(Run(prepared, fidelity, {j}, unread).front());
    }
    m.together = Run(prepared, fidelity, all, m.timing);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - wall;
    m.wall_seconds = elapsed.count();
    measurements.push_back(std::move(m));
  }
  return measurements;
}

double PacketSeconds(const PreparedJobs& prepared) {
  const auto& all = prepared.fidelities;
  const bool packets = std::count(all.begin(), all.end(), Fidelity::kPacket) > 0;
  return packets ? SecondsOfPackets(prepared) : 0;
}

}  // namespace legacy
