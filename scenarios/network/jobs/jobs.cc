#include "scenarios/network/jobs/jobs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/network/input/host_names.h"

namespace legacy {
namespace {

constexpr size_t kMostCases = 64;

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

// Returns the first of the job's placements that the fabric allows.
fabric::Placement PlacementOf(const JobRequest& request, const fabric::PlacementRequest& places,
                              const fabric::Topology& topology) {
  std::vector<fabric::PlacementRequest> ways = request.work->Placements();
  for (fabric::PlacementRequest& way : ways) {
    way.hosts = places.hosts;
    way.taken = places.taken;
    way.server = places.server;
    if (&way == &ways.back()) break;
    try {
      return fabric::MakePlacement(way, topology);
    } catch (const Error&) {  // the next one is tried
    }
  }
  return LocatedAt(request.where, [&] { return fabric::MakePlacement(ways.back(), topology); });
}

void PlaceJob(PlacedJob& job, const Network& network, const HostNames& hosts, int server,
              std::vector<int>& taken, const NetworkRequest& shared) {
  job.network = std::make_unique<Network>();
  job.network->channels = network.channels;
  job.network->topology = network.topology;
  fabric::PlacementRequest places;
  places.hosts = HostsOf(job.request, hosts);
  places.taken = taken;
  places.server = server;
  job.network->placement = PlacementOf(job.request, places, job.network->topology);
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

// Throws Error where two trainings compute on one host, whose device is one's own.
void CheckHosts(const std::vector<PlacedJob>& jobs) {
  std::map<int, const PlacedJob*> training_on;
  for (const PlacedJob& job : jobs) {
    if (!job.request.trains) continue;
    for (const int host : job.network->placement.hosts) {
      const auto [other, added] = training_on.emplace(host, &job);
      if (added) continue;
      throw Error(job.request.where + "hosts", job.network->topology.NodeName(host),
                  "a host on which no other training computes; " + other->second->request.name +
                      " does on this one");
    }
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
    const fabric::PlacementRequest where = request.work->Placements().back();
    others += (request.hosts.empty() ? where.workers : 0) + (where.colocated ? 0 : where.servers);
  }
  return std::max(highest, static_cast<int>(named.size()) + others);
}

// Finds the steps of all jobs by all methods, and tries the first of each.
void FindSteps(PreparedJobs& prepared) {
  prepared.cases = {{}};
  for (PlacedJob& job : prepared.jobs) {
    job.methods = job.request.work->Methods();
    for (size_t method = 0; method < job.methods.size(); ++method) {
      LocatedAt(job.request.where, [&] {
        job.steps.push_back(job.request.work->StepsOn(*job.network, method, job.request.steps));
        const fabric::StepGraph first(job.steps.back().traffic(0));
        job.streams.clear();
        for (const fabric::StepStream& stream : first.Plan().streams) {
          job.streams.push_back(stream.name);
        }
      });
    }
    std::vector<std::vector<size_t>> longer;
    for (const std::vector<size_t>& before : prepared.cases) {
      for (size_t method = 0; method < job.methods.size(); ++method) {
        longer.push_back(before);
        longer.back().push_back(method);
      }
    }
    prepared.cases = std::move(longer);
    if (prepared.cases.size() <= kMostCases) continue;
    throw Error(job.request.where + "policies", std::to_string(job.methods.size()) + " methods",
                "at most " + std::to_string(kMostCases) + " combinations of all jobs' methods");
  }
}

// Returns the wall seconds of packets of a step of each job, by method.
std::vector<std::vector<double>> SecondsOfSteps(const PreparedJobs& prepared) {
  std::vector<std::vector<double>> seconds;
  for (const PlacedJob& job : prepared.jobs) {
    seconds.emplace_back();
    for (const JobSteps& steps : job.steps) {
      CostEstimate estimate(*job.network);
      estimate.Add(steps.traffic(0), job.request.steps);
      seconds.back().push_back(estimate.Seconds());
    }
  }
  return seconds;
}

double SecondsOfPackets(const PreparedJobs& prepared) {
  const std::vector<std::vector<double>> seconds = SecondsOfSteps(prepared);
  double sum = 0;
  for (const std::vector<double>& job : seconds) {
    for (const double method : job) sum += method;  // each job runs alone
  }
  const size_t others = prepared.pairs ? prepared.jobs.size() - 1 : 0;
  const double runs = static_cast<double>(std::max<size_t>(1, prepared.offsets.size()) + others);
  for (const std::vector<size_t>& methods : prepared.cases) {
    for (size_t job = 0; job < methods.size(); ++job) sum += runs * seconds[job][methods[job]];
  }
  return sum;
}

// Builds the fabric, with the places of all jobs.
void BuildFabric(PreparedJobs& prepared, std::vector<JobRequest> requests,
                 const Experiment& shared) {
  fabric::TopologyRequest topology = shared.network.topology;
  topology.hostsNeeded = HostsNeeded(requests);
  prepared.network = std::make_unique<Network>();
  Network& network = *prepared.network;
  fabric::ImportedTopology imported = fabric::ImportTopology(topology);
  network.topology = std::move(imported.topology);
  network.channels = imported.channels;
  network.numbers = std::move(imported.numbers);
  SayImported(topology.text, imported.report);

  for (JobRequest& request : requests) prepared.jobs.push_back({std::move(request), nullptr});
  const HostNames hosts(network.topology, network.numbers);
  std::vector<int> taken;
  for (const bool own_hosts : {true, false}) {
    for (PlacedJob& job : prepared.jobs) {
      if (job.request.hosts.empty() == own_hosts) continue;
      PlaceJob(job, network, hosts, imported.server, taken, shared.network);
    }
  }
  CheckHosts(prepared.jobs);
  network.placement.description = std::to_string(prepared.jobs.size()) + " jobs";
  for (PlacedJob& job : prepared.jobs) {
    const fabric::Placement& own = job.network->placement;
    job.first_endpoint = network.placement.Endpoints();
    for (int endpoint = 0; endpoint < own.Endpoints(); ++endpoint) {
      network.placement.hosts.push_back(own.NodeOf(endpoint));
    }
  }
  FindSteps(prepared);
  MakeReady(network, shared.network);
}

}  // namespace

PreparedJobs PrepareJobs(std::vector<JobRequest> requests, const ExperimentOptions& options,
                         const std::map<std::string, std::string>& ns3_attributes) {
  ExperimentOptions of_all;
  for (const Option<ExperimentOptions>& row : ExperimentRows()) {
    const bool shared = row.group != kCollectiveGroup && row.group != kJobsGroup;
    if (shared || row.Name() == "seed") row.set(of_all, row.flag, row.get(options));
  }
  const Experiment shared = ParseExperiment(of_all, ns3_attributes);
  PreparedJobs prepared;
  prepared.offsets = *options.offsets;
  prepared.pairs = options.pairs;
  if (prepared.pairs && !prepared.offsets.empty()) {
    throw Error("--pairs", "on", "off beside --offsets");
  }
  BuildFabric(prepared, std::move(requests), shared);
  prepared.fidelities = shared.fidelities;
  if (shared.automatic) {
    const FidelityChoice choice =
        ChooseFidelity(SecondsOfPackets(prepared), 1, shared.packet_budget);
    if (choice.fidelity == Fidelity::kPacket) prepared.fidelities.push_back(choice.fidelity);
    prepared.fidelity_reason =
        "auto: " + NamesOf(prepared.fidelities, " and ") + "; " + choice.reason;
  }
  for (const Fidelity fidelity : prepared.fidelities) {
    TryEngine(FactoryOf(fidelity, "--fidelity"), *prepared.network);
  }
  return prepared;
}

double PacketSeconds(const PreparedJobs& prepared) {
  const auto& all = prepared.fidelities;
  const bool packets = std::count(all.begin(), all.end(), Fidelity::kPacket) > 0;
  return packets ? SecondsOfPackets(prepared) : 0;
}

}  // namespace legacy
